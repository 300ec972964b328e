"""What is worth an Event, and in which words.

On the WorkloadMigration: it began, cannot go on by itself, can again, ended. Nothing else: how far it is
stands in its status. On a workload: that it came to another state, and why, in its own terms.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from shiplift.api.values import ConditionStatus
from shiplift.api.workloads import (
    LastMove,
    MigrationState,
    MoveOutcome,
    WorkloadMigrationStatus,
    WorkloadState,
    WorkloadStatus,
)
from shiplift.workloads.model import Reason


class Happening(NamedTuple):
    """One Event: why, in one word, and in a line."""

    reason: str
    note: str
    warning: bool = False


_ENDS = {
    MoveOutcome.MOVED: "Finished",
    MoveOutcome.ABORTED: "Aborted",
    MoveOutcome.DELETED: "Deleted",
    MoveOutcome.REPLACED: "Replaced",
}
_BY_ITSELF = (Reason.PAUSED, Reason.WAITING_FOR_NODES, Reason.STALE_VIEW)
"""Nothing is wrong: somebody wants it so, or it passes."""


_TURN = "its turn has come"


def of_workload(one: WorkloadStatus, before: WorkloadState | None = None) -> Happening:
    """What is told on a workload that came to another state: in its own terms, then how it is done. Who was
    held and is on the way at the next look has had its turn in between."""
    note = one.message or one.reason or one.state
    at_once = before is WorkloadState.HELD and one.state is WorkloadState.MOVING
    if one.state is WorkloadState.RELEASED or at_once:
        note = note if note.startswith(_TURN) else f"{_TURN}; {note}"
        return Happening(Reason.ITS_TURN.value, note)
    return Happening(one.reason or one.state.value, note, warning=one.state is WorkloadState.BLOCKED)


def happenings(before: WorkloadMigrationStatus, after: WorkloadMigrationStatus) -> Iterator[Happening]:
    """What has happened between two statuses that were written."""
    if after.last is not None and after.last != before.last:
        yield Happening(_ENDS[after.last.outcome], _end(after.last))
    if after.state is not MigrationState.UPGRADE:
        return
    if before.state is not after.state or before.target != after.target:
        text = f"{after.progress.total} workloads, {after.pods.total} pods, in mode {after.mode}"
        yield Happening("Started", f"moving to {after.target}: {text}")
        before = WorkloadMigrationStatus()
    yield from _waits(before, after)


def _waits(before: WorkloadMigrationStatus, after: WorkloadMigrationStatus) -> Iterator[Happening]:
    was, now = _why(before), _why(after)
    if now and now != was:
        calm = now in _BY_ITSELF
        note = after.message if now == Reason.WAITING_FOR_NODES.value else after.needs
        yield Happening(now if calm else "Blocked", note, warning=not calm)
    elif was and not now:
        yield Happening("Unblocked", "nothing has to happen first any more: it goes on by itself")


def _why(status: WorkloadMigrationStatus) -> str:
    """In one word why it does not go on by itself; empty where it does."""
    if not status.needs:
        return ""
    said = {one.type: one.reason for one in status.conditions if one.status is ConditionStatus.TRUE}
    return said.get("Stalled") or said.get("Reconciling") or "Blocked"


def _end(last: LastMove) -> str:
    took = last.complete_time - last.start_time if last.start_time else None
    length = f" in {int(took.total_seconds())} s" if took is not None else ""
    counted = f"{last.workloads.summary} workloads, {last.pods.summary} pods, {last.moves} evictions"
    match last.outcome:
        case MoveOutcome.MOVED:
            return f"moved to {last.target}{length}: {counted}"
        case MoveOutcome.ABORTED:
            return f"the move to {last.target} was aborted after {counted}; workloads stay where they are"
        case MoveOutcome.DELETED:
            return (
                f"the move to {last.target} ended after {counted}, since its WorkloadMigration was deleted;"
                " workloads stay where they are"
            )
        case MoveOutcome.REPLACED:
            return f"the move to {last.target} gave way to another after {counted}"
