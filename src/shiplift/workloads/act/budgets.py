"""Steps on PodDisruptionBudgets: holds made and taken away, users' budgets held and given back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from shiplift.api.marks import HOLD_LEDGER, MANAGED_BY, MANAGER
from shiplift.engine import ledger
from shiplift.engine.ledger import Change
from shiplift.engine.pointer import ABSENT, get, pointer
from shiplift.engine.step import Outcome
from shiplift.facts import kinds
from shiplift.kube.changing import Edit, Subject, change
from shiplift.kube.client import Client
from shiplift.kube.outcomes import LATER, Json, done, selector_json
from shiplift.workloads.steps import DeleteHold, ForgetEviction, HoldBudget, MakeHold, RestoreBudget

BudgetStep = HoldBudget | MakeHold | RestoreBudget | DeleteHold | ForgetEviction
_KIND = kinds.POD_DISRUPTION_BUDGET
CUT_OFF = timedelta(seconds=10)
"""The API server notes an evicted pod and deletes it right after. One that is still there so long after its
note was not deleted: whoever asked for it was cut off in between."""


def take(client: Client, step: BudgetStep) -> Outcome:
    match step:
        case ForgetEviction():
            return _forget_eviction(client, step)
        case MakeHold():
            return _make_hold(client, step)
        case HoldBudget():
            return change(client, step, _subject(step, step.workload.namespace), _held)
        case RestoreBudget():
            return change(client, step, _subject(step, step.namespace), _restored)
        case DeleteHold():
            written = client.delete(
                _KIND, step.name, step.namespace, uid=step.uid, resource_version=str(step.version)
            )
            return done(step, written)


def _make_hold(client: Client, step: MakeHold) -> Outcome:
    id_ = step.workload
    about = {"name": step.name, "labels": {MANAGED_BY: MANAGER}}
    spec = {
        "maxUnavailable": 0,
        "selector": selector_json(step.selector),
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
    }
    return done(step, client.create(_KIND, {"metadata": about, "spec": spec}, id_.namespace))


def _subject(step: HoldBudget | RestoreBudget, namespace: str) -> Subject:
    return Subject(_KIND, step.name, namespace, step.uid, "budget")


def _held(live: Json) -> Edit:
    return _edit(ledger.change_in_place(live, HOLD_LEDGER, [_nothing_allowed(live)]))


def _restored(live: Json) -> Edit:
    return _edit(ledger.undo_in_place(live, HOLD_LEDGER))


def _edit(patched: ledger.Patched) -> Edit:
    return Edit(patched.patch, "; ".join(one.describe() for one in patched.kept))


def _nothing_allowed(live: Json) -> Change:
    """In the field that the budget uses already: with both set, its owner could not apply it again."""
    if get(live, pointer("spec", "minAvailable")) is not ABSENT:
        return Change("/spec/minAvailable", "100%")
    return Change("/spec/maxUnavailable", 0)


def _forget_eviction(client: Client, step: ForgetEviction) -> Outcome:
    subject = Subject(_KIND, step.budget, step.namespace, step.uid, "budget", "status")
    return change(client, step, subject, lambda live: _forgotten(client, step, live))


def _forgotten(client: Client, step: ForgetEviction, live: Json) -> Edit | Outcome:
    path = pointer("status", "disruptedPods", step.pod)
    noted = get(live, path)
    if noted is ABSENT:
        return Edit([], "it is forgotten already")
    if not _stays(client, step, datetime.fromisoformat(noted)):
        return Outcome.refused(step, f"pod {step.pod} may be about to go", LATER)
    return Edit([{"op": "test", "path": path, "value": noted}, {"op": "remove", "path": path}])


def _stays(client: Client, step: ForgetEviction, evicted: datetime) -> bool:
    """Whether the pod was made after that eviction, or the eviction was never carried out; read after the
    budget, so nothing is missed."""
    about = client.get(kinds.POD, step.pod, step.namespace)["metadata"]
    if about["uid"] != step.pod_uid or about.get("deletionTimestamp"):
        return False
    return (
        datetime.fromisoformat(about["creationTimestamp"]) > evicted or datetime.now(UTC) > evicted + CUT_OFF
    )
