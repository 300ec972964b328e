"""Takes the name of a pod that is there off its budget's list of pods that are going. I/O."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from shiplift.drain.steps import ForgetEviction
from shiplift.engine.pointer import ABSENT, get, pointer
from shiplift.engine.step import Outcome
from shiplift.facts.kinds import POD, POD_DISRUPTION_BUDGET
from shiplift.kube.changing import Edit, Subject, change
from shiplift.kube.client import Client
from shiplift.kube.outcomes import Json

CUT_OFF = timedelta(seconds=10)
"""The API server notes an evicted pod and deletes it right after. One that is still there so long after its
note was not deleted: whoever asked for it was cut off in between."""
_AGAIN = timedelta(seconds=2)
"""Until it is looked at again whether a pod goes."""


def forget(client: Client, step: ForgetEviction) -> Outcome:
    subject = Subject(POD_DISRUPTION_BUDGET, step.budget, step.namespace, step.uid, "budget", "status")
    return change(client, step, subject, lambda live: _forgotten(client, step, live))


def _forgotten(client: Client, step: ForgetEviction, live: Json) -> Edit | Outcome:
    path = pointer("status", "disruptedPods", step.pod)
    noted = get(live, path)
    if noted is ABSENT:
        return Edit([], "it is forgotten already")
    if not _stays(client, step, datetime.fromisoformat(noted)):
        return Outcome.refused(step, f"pod {step.pod} may be about to go", _AGAIN)
    return Edit([{"op": "test", "path": path, "value": noted}, {"op": "remove", "path": path}])


def _stays(client: Client, step: ForgetEviction, evicted: datetime) -> bool:
    """Whether the pod was made after that eviction, or the eviction was never carried out; read after the
    budget, so nothing is missed."""
    about = client.get(POD, step.pod, step.namespace)["metadata"]
    if about["uid"] != step.pod_uid or about.get("deletionTimestamp"):
        return False
    return (
        datetime.fromisoformat(about["creationTimestamp"]) > evicted or datetime.now(UTC) > evicted + CUT_OFF
    )
