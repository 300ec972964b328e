"""Undo everything of this layer in a cluster, without the operator.

It decides and acts as the operator does when a migration is aborted; first it says so in the
WorkloadMigration, so that an operator that comes back does not begin again.
"""

from __future__ import annotations

from collections.abc import Callable

from shiplift.engine import clock, contested
from shiplift.engine.barrier import Barrier
from shiplift.engine.step import Outcomes
from shiplift.facts import kinds
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError, NotFound
from shiplift.kube.store import Store
from shiplift.kube.undoing import SETTLE_SECONDS, UndoError, Undoing, undo_until_clean
from shiplift.workloads.act.actor import Actor
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.model import Reason
from shiplift.workloads.names import MIGRATION
from shiplift.workloads.observe.observer import Observer


def undo_all(client: Client, store: Store, say: Callable[[str], None]) -> int:
    """How many changes it took. The store watches what the layer reads."""
    store.wait_settled(_abort(client, say), SETTLE_SECONDS)
    observer = Observer(store, lambda: False)
    store.subscribe(observer.heard)
    layer = Undoing(
        decide=lambda: decide(observer.observe(Outcomes()), clock.now()),
        act=Actor(client, observer.in_force, contested.Memory()).act,
        left=lambda decision: decision.reason in (Reason.CLEANING_UP, Reason.STALE_VIEW),
    )
    changes, last = undo_until_clean(layer, store, say)
    for note in last.notes:
        say(note)
    return changes


def _abort(client: Client, say: Callable[[str], None]) -> list[Barrier]:
    try:
        live = client.get(kinds.WORKLOAD_MIGRATION, MIGRATION)
    except NotFound:
        return []
    if live["spec"].get("abort"):
        return []
    try:
        written = client.patch(
            kinds.WORKLOAD_MIGRATION, MIGRATION, {"spec": {"abort": True}}, uid=live["metadata"]["uid"]
        )
    except KubeError as error:
        raise UndoError(
            f"the migration cannot be aborted: {error}", "an operator would begin again"
        ) from error
    say("the migration is aborted, so that no operator begins again")
    return [written.barrier] if written.barrier else []
