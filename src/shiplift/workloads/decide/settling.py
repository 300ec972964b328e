"""Before the first move: target nodes that are still coming are waited for, so that the first of them does
not take everything, and pods are spread over all.

The wait goes by when nodes were made, ends by itself, and is over for good when the first workload is
released. Nodes that are changed in place were made long ago: they are not waited for by time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import NamedTuple

from shiplift.api.values import duration
from shiplift.api.workloads import Mode
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.model import Joined, View

MOST = 6
"""Times `settle`: for longer neither a node that is not Ready nor a stream of new ones is waited for."""


class Wait(NamedTuple):
    """What the first move waits for, and for how many seconds at most."""

    why: str
    left: float


def wait(view: View, released: Collection[WorkloadId], now: datetime) -> Wait | None:
    """None where nothing has to be waited for, or where moving has begun."""
    if not view.fleet.targets or _has_begun(view, released):
        return None
    # a node of the future was made by another clock, and tells nothing
    joined = [one for one in view.joined() if one.created <= now.timestamp()]
    return _for_count(view, joined, now) if view.spec.wait_for_nodes.count else _for_rest(view, joined, now)


def _has_begun(view: View, released: Collection[WorkloadId]) -> bool:
    """Workloads that had arrived before are released too, in mode Inject, and were not moved."""
    if view.status.moves or view.evicted.moved:
        return True
    return not view.order.met.issuperset(released) if view.target.mode is Mode.INJECT else bool(released)


def _for_count(view: View, joined: list[Joined], now: datetime) -> Wait | None:
    """So many that are Ready; the deadline begins anew with each that comes."""
    wanted, there = view.spec.wait_for_nodes.count, sum(one.ready for one in joined)
    if there >= wanted:
        return None
    began = view.status.started_at.timestamp() if view.status.started_at else 0.0
    began = began if began <= now.timestamp() else 0.0  # of a clock that was ahead
    last = max((began, *(float(one.created) for one in joined)))
    left = last + duration(view.spec.progress_deadline).total_seconds() - now.timestamp()
    text = (
        f"{there} of {wanted} nodes of {view.target.version} are Ready (spec.waitForNodes of"
        " WorkloadMigration cluster); the first move waits for the others until none has come for"
        f" {view.spec.progress_deadline}"
    )
    return Wait(text, left) if left > 0 else None


def _for_rest(view: View, joined: list[Joined], now: datetime) -> Wait | None:
    """Until none has come for a while, and those that came are Ready."""
    settle = duration(view.spec.wait_for_nodes.settle).total_seconds()
    if not settle or not joined:
        return None
    most, last = MOST * settle, max(one.created for one in joined)
    ends = [last + settle, *(one.created + most for one in joined if not one.ready)]
    left = min(max(ends), _first_of_last(joined, most) + most) - now.timestamp()
    text = (
        f"nodes of {view.target.version} are still coming; the first move waits until none has come for"
        f" {view.spec.wait_for_nodes.settle} (spec.waitForNodes of WorkloadMigration cluster)"
    )
    return Wait(text, left) if left > 0 else None


def _first_of_last(joined: Iterable[Joined], gap: float) -> int:
    """When the first was made of those that came one after the other, with the last of all."""
    times = sorted((one.created for one in joined), reverse=True)
    first = times[0]
    for at in times:
        if first - at > gap:
            break
        first = at
    return first
