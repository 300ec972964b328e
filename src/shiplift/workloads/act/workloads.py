"""Steps on Deployments, StatefulSets and their autoscalers: tolerations and replicas."""

from __future__ import annotations

from shiplift.engine.pointer import ABSENT, get
from shiplift.engine.step import Outcome
from shiplift.facts import kinds
from shiplift.kube.changing import Edit, Subject, change
from shiplift.kube.client import Client
from shiplift.kube.outcomes import Json, done
from shiplift.workloads.act.tolerations import is_ours, toleration
from shiplift.workloads.identity import WORKLOADS
from shiplift.workloads.steps import Scale, SetTolerations

TEMPLATE_TOLERATIONS = "/spec/template/spec/tolerations"


def take(client: Client, step: SetTolerations | Scale) -> Outcome:
    return scale(client, step) if isinstance(step, Scale) else set_tolerations(client, step)


def set_tolerations(client: Client, step: SetTolerations) -> Outcome:
    """Our toleration on the template, or none of ours; those of others stay."""
    id_ = step.workload
    subject = Subject(WORKLOADS[id_.kind], id_.name, id_.namespace, step.uid, "workload")
    return change(client, step, subject, lambda live: _tolerating(step, live))


def _tolerating(step: SetTolerations, live: Json) -> Edit:
    old = get(live, TEMPLATE_TOLERATIONS)
    have: list[Json] = [] if old is ABSENT else old
    others = [one for one in have if not is_ours(one, keeps=step.keeps)]
    wanted = [*others, toleration(step.target)] if step.target else others
    if wanted:
        return Edit([{"op": "add", "path": TEMPLATE_TOLERATIONS, "value": wanted}])
    return Edit([] if old is ABSENT else [{"op": "remove", "path": TEMPLATE_TOLERATIONS}])


def scale(client: Client, step: Scale) -> Outcome:
    """The replicas of a workload, or the floor of its autoscaler, in the version that was seen.

    Replicas go through `scale`: who may do that can change nothing else of a workload.
    """
    id_ = step.workload
    kind = kinds.HORIZONTAL_POD_AUTOSCALER if step.autoscaler else WORKLOADS[id_.kind]
    field = "minReplicas" if step.autoscaler else "replicas"
    written = client.patch(
        kind,
        step.autoscaler or id_.name,
        {"spec": {field: step.replicas}},
        id_.namespace,
        uid=step.uid,
        resource_version=str(step.version),
        subresource="" if step.autoscaler else "scale",
    )
    return done(step, written)
