"""The operator's own workload goes after all others: whoever moves them is not moved in the middle of it.

Others that cannot go are not waited for: they may wait for room that only empty old nodes give. What was told
of them may be old by now, so room is looked for anew: a node may have been given back a moment ago. Nor are
those waited for that have left the old nodes, Ready where they are or not: nothing of them is left to move.
"""

from __future__ import annotations

from collections.abc import Iterator

from shiplift.api.workloads import OnNoCapacity, WorkloadState
from shiplift.room.booking import Booking, NoSlot
from shiplift.workloads.identity import WorkloadId, workload_id
from shiplift.workloads.model import Line, Reason, Tally, View

_STUCK = frozenset((Reason.NO_SLOT, Reason.EVICTED_TOO_OFTEN))


def kept(view: View) -> WorkloadId | None:
    """The operator's own, while others go; None where it may go too, or does not run in this cluster."""
    ours = view.own_workload
    if ours is None or ours not in view.order.ready:
        return None
    return ours if any(_goes_first(view)) else None


def keeps(view: View, id_: WorkloadId) -> bool:
    """Whether it is the operator's own, and others go first; of others this costs nothing."""
    return id_ == view.own_workload and kept(view) is not None


def line(view: View, id_: WorkloadId) -> Line | None:
    """What it waits for, where it is that one."""
    if not keeps(view, id_):
        return None
    left = sorted(_goes_first(view))
    more = f" and {len(left) - 1} more" if len(left) > 1 else ""
    text = f"it is the operator itself, which goes last: waits for {left[0]}{more}"
    return Line(WorkloadState.HELD, Reason.GOES_LAST, text)


def _goes_first(view: View) -> Iterator[WorkloadId]:
    stuck, booking = _stuck(view), Booking(view.room)
    for id_ in view.order.ready - {view.own_workload}:
        tally, why = view.tallies[id_], stuck.get(id_)
        if not _is_leaving(tally):
            continue
        if why is None or (why == Reason.NO_SLOT and _has_room(view, booking, tally)):
            yield id_


def _stuck(view: View) -> dict[WorkloadId, str]:
    """Workloads that could not go when that was told last, and why."""
    return {
        workload_id(str(one.kind), one.namespace, one.name): one.reason or ""
        for one in view.status.workloads
        if one.state is WorkloadState.BLOCKED or one.reason in _STUCK
    }


def _has_room(view: View, booking: Booking, tally: Tally) -> bool:
    """Whether it could begin now, as far as room is concerned."""
    whole = view.spec.on_no_capacity is OnNoCapacity.CONSOLIDATE
    pods = tally.away if whole else tally.away[:1]
    return not any(isinstance(booking.book(pod), NoSlot) for pod in pods)


def _is_leaving(tally: Tally) -> bool:
    """Whether pods of it are on old nodes, or on their way out of them."""
    return bool(tally.away) or tally.leaving > tally.leaving_target
