"""When a migration may end: an estimate while it goes on by itself, else what has to happen first.

Never both. The pace is that of the time in which nothing had to happen: it begins anew after each wait, where
clocks or pods went back, and counts no pod that was on a target node before.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from shiplift.api.values import Estimate, Progress, duration
from shiplift.api.workloads import (
    MigrationPace,
    WorkloadMigrationStatus,
    WorkloadState,
    WorkloadStatus,
)
from shiplift.engine import progress
from shiplift.workloads.model import Migrating, Reason

_GOES_ON = (Reason.STARTING, Reason.PREPARING, Reason.MOVING)
RESUME = "paused: `shiplift resume` goes on"


class Outlook(NamedTuple):
    """What is expected of a migration."""

    needs: str
    pace: MigrationPace | None
    eta: Estimate | None


def outlook(
    decision: Migrating,
    before: WorkloadMigrationStatus,
    listed: Sequence[WorkloadStatus],
    blocked: int,
    pods: Progress,
) -> Outlook:
    """From the lines of workloads that have not arrived, those that need somebody first."""
    now = decision.now.replace(microsecond=0)
    if needs := _needs(decision, listed, blocked, now):
        return Outlook(needs, None, None)
    pace = before.pace
    if pace is None or pace.since > now or pace.pods > pods.done:
        pace = MigrationPace(since=now, pods=pods.done)
    found = progress.estimate(pace.since, pods.done - pace.pods, pods.total - pace.pods, now)
    return Outlook("", pace, Estimate(**found._asdict()) if found is not None else None)


def _needs(decision: Migrating, listed: Sequence[WorkloadStatus], blocked: int, now: datetime) -> str:
    """What has to happen before an end can be expected; empty where nothing has to."""
    if decision.stalled:
        return decision.message
    if decision.view.spec.paused:
        return RESUME
    if decision.reason is Reason.WAITING_FOR_NODES:
        return _nodes(decision)
    if decision.reason not in _GOES_ON:
        return decision.message
    if blocked and listed:
        more = f" (and {blocked - 1} more)" if blocked > 1 else ""
        return f"{_line(listed[0])}{more}"
    limit = duration(decision.view.spec.progress_deadline)
    return next((_line(one) for one in listed if _is_stuck(one, now, limit)), "")


def _nodes(decision: Migrating) -> str:
    """New nodes, or that old ones go; where it waits for more to come, in the words of the wait."""
    view = decision.view
    if not view.fleet.targets:
        return f"nodes that run {view.target.version}"
    if len(view.order.met) < len(view.tallies) or view.returned:
        return decision.message
    them = "node of another version has" if view.fleet.off == 1 else "nodes of other versions have"
    return f"{view.fleet.off} {them} to go, or to be upgraded"


def _is_stuck(one: WorkloadStatus, now: datetime, limit: timedelta) -> bool:
    """Whether it is on the way and has not moved for too long."""
    if one.state is WorkloadState.HELD or one.since is None:
        return False
    return progress.overdue(one.since, now, limit) is not None


def _line(one: WorkloadStatus) -> str:
    return f"{one.kind} {one.namespace}/{one.name}: {one.message}"
