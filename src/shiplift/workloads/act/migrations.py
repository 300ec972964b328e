"""Steps on the WorkloadMigration itself: our finalizer. Nothing that users wrote is changed."""

from __future__ import annotations

from shiplift.engine.step import Outcome
from shiplift.facts import kinds
from shiplift.kube.changing import Edit, Subject, change
from shiplift.kube.client import Client
from shiplift.kube.outcomes import Json
from shiplift.workloads.names import FINALIZER, MIGRATION
from shiplift.workloads.steps import SetFinalizer

_PATH = "/metadata/finalizers"


def set_finalizer(client: Client, step: SetFinalizer) -> Outcome:
    """Our finalizer put on or taken off; those of others stay."""
    subject = Subject(kinds.WORKLOAD_MIGRATION, MIGRATION, "", step.uid, "migration")
    return change(client, step, subject, lambda live: _edit(live, present=step.present))


def _edit(live: Json, *, present: bool) -> Edit:
    have: list[str] = live["metadata"].get("finalizers") or []
    if (FINALIZER in have) == present:
        return Edit([])
    if present:
        added = {"path": f"{_PATH}/-", "value": FINALIZER} if have else {"path": _PATH, "value": [FINALIZER]}
        return Edit([{"op": "add", **added}])
    place = f"{_PATH}/{have.index(FINALIZER)}"
    return Edit([{"op": "test", "path": place, "value": FINALIZER}, {"op": "remove", "path": place}])
