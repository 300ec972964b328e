"""What the last move was: kept when nothing is moved any more, until the next one ends."""

from __future__ import annotations

from datetime import datetime

from shiplift.api.workloads import LastMove, MigrationState, MoveOutcome
from shiplift.workloads.model import Evicted, Migrating, Reason
from shiplift.workloads.tell.counts import Counts


def last_move(decision: Migrating, evicted: Evicted, now: datetime) -> LastMove | None:
    """The move that this decision ends, or the one that was told of before."""
    before = decision.view.status
    same = decision.moving and before.target == decision.view.target.version
    if before.state is not MigrationState.UPGRADE or before.target is None or same:
        return before.last
    outcome = _outcome(decision)
    workloads, pods = before.progress, before.pods
    if outcome is MoveOutcome.MOVED:
        uids = {tally.row.uid for tally in decision.view.tallies.values()}
        counts = Counts(decision.view, uids)
        workloads, pods = counts.workloads(), counts.pods()
    return LastMove(
        target=before.target,
        outcome=outcome,
        start_time=before.started_at,
        complete_time=now,
        workloads=workloads,
        pods=pods,
        moves=before.moves + evicted.total,
    )


def _outcome(decision: Migrating) -> MoveOutcome:
    if decision.view.spec.abort:
        return MoveOutcome.ABORTED
    if decision.view.target.reason is Reason.DELETED:
        return MoveOutcome.DELETED
    arrived = decision.reason is Reason.CLEANING_UP and decision.view.target.version
    return MoveOutcome.MOVED if arrived else MoveOutcome.REPLACED
