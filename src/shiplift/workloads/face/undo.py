"""Undo everything of this layer in a cluster, without the operator.

It decides and acts as the operator does when a migration is aborted; first it says so in the
WorkloadMigration, so that an operator that comes back does not begin again. A WorkloadMigration that cannot
be read keeps nothing from being undone. Where something of ours may be left, that is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from shiplift.engine import contested
from shiplift.engine.barrier import Barrier
from shiplift.engine.step import Outcomes
from shiplift.facts import kinds
from shiplift.kube.client import Client
from shiplift.kube.errors import Invalid, KubeError, NotFound
from shiplift.kube.store import Store
from shiplift.kube.undoing import SETTLE_SECONDS, UndoError, Undoing, undo_until_clean
from shiplift.workloads.act.actor import Actor
from shiplift.workloads.decide.cleaning import undone
from shiplift.workloads.model import Reason
from shiplift.workloads.names import MIGRATION
from shiplift.workloads.observe.observer import Observer


def undo_all(client: Client, store: Store, say: Callable[[str], None]) -> int:
    """How many changes it took. The store watches what the layer reads."""
    store.wait_settled(_abort(client, say), SETTLE_SECONDS)
    observer = Observer(store, lambda: False)
    store.subscribe(observer.heard)
    layer = Undoing(
        decide=lambda: undone(observer.observe(Outcomes()), datetime.now(UTC)),
        act=Actor(client, observer.in_force, contested.Memory()).act,
        left=lambda decision: decision.reason is Reason.CLEANING_UP,
    )
    changes, last = undo_until_clean(layer, store, say)
    for note in last.notes:
        say(note)
    if last.reason is Reason.UNREADABLE:
        raise UndoError(f"all else is undone: {last.message}", "then run `shiplift undo` again")
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
    except Invalid as error:
        say(f"the migration cannot be aborted: {error}; delete it, or an operator begins again")
        return []
    except KubeError as error:
        raise UndoError(
            f"the migration cannot be aborted: {error}", "an operator would begin again"
        ) from error
    say("the migration is aborted, so that no operator begins again")
    return [written.barrier] if written.barrier else []
