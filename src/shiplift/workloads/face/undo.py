"""Undo everything of this layer in a cluster, without the operator.

It decides and acts as the operator does when a migration is aborted; first it says so in the
WorkloadMigration, so that an operator that comes back does not begin again. A WorkloadMigration that cannot
be read keeps nothing from being undone. One that has come to its clean end stays as it is: nothing is to be
moved, so no operator begins again. Where something of ours may be left, that is an error; so is a
migration that somebody starts, or makes anew, meanwhile: an operator would put back what was undone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from shiplift.api.workloads import WorkloadMigration
from shiplift.engine import clock, contested
from shiplift.engine.barrier import Barrier
from shiplift.engine.step import Outcomes
from shiplift.face.parts import Undone
from shiplift.facts import kinds
from shiplift.kube.client import Client
from shiplift.kube.errors import Invalid, KubeError, NotFound
from shiplift.kube.statuses import Subject, write
from shiplift.kube.store import Store
from shiplift.kube.undoing import SETTLE_SECONDS, UndoError, Undoing, undo_until_clean
from shiplift.workloads.act.actor import Actor
from shiplift.workloads.decide import freshness
from shiplift.workloads.decide.cleaning import inert, undone
from shiplift.workloads.model import Migrating, Reason
from shiplift.workloads.names import MIGRATION
from shiplift.workloads.observe.observer import Observer
from shiplift.workloads.tell.report import status_of


def undo_all(client: Client, store: Store, say: Callable[[str], None]) -> Undone:
    """How many changes it took, and what stays. The store watches what the layer reads."""
    observer = Observer(store, lambda: False)
    store.subscribe(observer.heard)
    if (ended := _at_rest(observer)) is not None:
        return _untouched(ended, say)
    aborted = _abort(client, say)
    store.wait_settled(aborted.barriers, SETTLE_SECONDS)

    def decide() -> Migrating:
        view = observer.observe(Outcomes())
        if aborted.possible and _would_move(view.migration):
            _refuse_if_started(client)
        return undone(view, clock.now())

    layer = Undoing(
        decide=decide,
        act=Actor(client, observer.in_force, contested.Memory()).act,
        left=lambda decision: decision.reason in (Reason.CLEANING_UP, Reason.STALE_VIEW),
        blind=_blind,
    )
    changes, last = undo_until_clean(layer, store, say)
    for note in last.notes:
        say(note)
    if aborted.possible:
        _refuse_if_started(client)
    _tell(client, last)
    if left := _unreadable(last):
        raise UndoError(f"all else is undone: {left}", "then run `shiplift undo` again")
    return Undone(changes, stays=len(list(inert(last.view))))


def _at_rest(observer: Observer) -> Migrating | None:
    """What stays of a migration that has nothing to move and has left nothing to undo; None for any other."""
    decision = undone(observer.observe(Outcomes()), clock.now())
    ended = decision.reason is Reason.NO_UPGRADE and not decision.steps and not _unreadable(decision)
    return decision if ended and decision.view.migration is not None else None


def _untouched(ended: Migrating, say: Callable[[str], None]) -> Undone:
    for note in ended.notes:
        say(note)
    return Undone(0, stays=len(list(inert(ended.view))))


def _blind(decision: Migrating) -> str:
    """The kind that something waits for, where it may be old; empty where nothing waits for one."""
    if decision.reason is not Reason.STALE_VIEW:
        return ""
    kind = (*freshness.needed(decision.view), *decision.view.stale)[0]
    return f"{freshness.old(kind)}: is it served, and may this user list it?"


def _would_move(migration: WorkloadMigration | None) -> bool:
    """As the store has it, which may be what it was before the abort."""
    return (
        migration is not None and not migration.spec.abort and migration.metadata.deletion_timestamp is None
    )


def _refuse_if_started(client: Client) -> None:
    """The live object tells: what the store has may be old either way."""
    try:
        live = client.get(kinds.WORKLOAD_MIGRATION, MIGRATION)
    except NotFound:
        return
    if not _is_over(live):
        raise UndoError(
            f"WorkloadMigration {MIGRATION} was started again while it was undone: workloads move again as"
            " soon as an operator runs",
            "`shiplift undo` aborts and undoes it again; let nobody start it meanwhile",
        )


def _is_over(live: dict[str, Any]) -> bool:
    return bool(live["spec"].get("abort") or live["metadata"].get("deletionTimestamp"))


def _unreadable(last: Migrating) -> str:
    """What may be left of ours, because it cannot be read; empty where nothing is."""
    broken = (text for one in last.view.placements.values() for text in one.broken.values())
    return last.message if last.reason is Reason.UNREADABLE else next(broken, "")


def _tell(client: Client, last: Migrating) -> None:
    """The status says what an operator would say of it: nothing is held or blocked any more."""
    migration = last.view.migration
    if migration is None or (after := status_of(last)) == migration.status:
        return
    about = migration.metadata
    subject = Subject(kinds.WORKLOAD_MIGRATION, MIGRATION, about.uid, about.resource_version)
    write(client, subject, migration.status, after)


class _Aborted(NamedTuple):
    """What came of the abort, and what the store has to show of it."""

    barriers: tuple[Barrier, ...] = ()
    possible: bool = True
    """False where the API server refuses the object as it would be."""


def _abort(client: Client, say: Callable[[str], None]) -> _Aborted:
    try:
        live = client.get(kinds.WORKLOAD_MIGRATION, MIGRATION)
    except NotFound:
        return _Aborted()
    if _is_over(live):
        return _Aborted()
    try:
        written = client.patch(
            kinds.WORKLOAD_MIGRATION, MIGRATION, {"spec": {"abort": True}}, uid=live["metadata"]["uid"]
        )
    except Invalid as error:
        say(f"the migration cannot be aborted: {error}; delete it, or an operator begins again")
        return _Aborted(possible=False)
    except KubeError as error:
        raise UndoError(
            f"the migration cannot be aborted: {error}", "an operator would begin again"
        ) from error
    say("the migration is aborted, so that no operator begins again")
    return _Aborted((written.barrier,) if written.barrier else ())
