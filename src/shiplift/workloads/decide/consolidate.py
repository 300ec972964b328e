"""Making room: when no target node has a slot, pods of held workloads are packed onto fewer old nodes.

One old node at a time is emptied, so that somebody can change it in place. It is marked as neither old nor
new, which keeps every listed pod off it without cordoning it. These moves are extra: they are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container
from datetime import datetime

from shiplift.api.workloads import OnNoCapacity
from shiplift.engine.step import Step
from shiplift.facts.pods import Pod
from shiplift.pdb.allowances import Allowances, lane_of
from shiplift.pdb.coverage import budgets_of, one_of_each
from shiplift.pdb.verdicts import obstacle
from shiplift.room.booking import Booking, NoSlot
from shiplift.room.occupancy import Room
from shiplift.workloads.decide import placements
from shiplift.workloads.decide.candidates import book_expected, in_order
from shiplift.workloads.decide.forgetting import forget_evictions
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.model import Role, Tally, View
from shiplift.workloads.steps import Evict

_NOBODY: frozenset[WorkloadId] = frozenset()


def chosen(view: View, *, stuck: bool, full: bool = True, stopped: Container[WorkloadId] = _NOBODY) -> str:
    """The node to empty: the one begun, as long as it is old and can be emptied; else the emptiest.

    None is begun unless nobody can move (`stuck`), and none goes on when nobody waits for room (`full`). Pods
    of workloads that the brake has `stopped` stay where they are.
    """
    if view.spec.on_no_capacity is not OnNoCapacity.CONSOLIDATE:
        return ""
    begun = view.status.emptying
    if view.fleet.roles.get(begun) is Role.OFF and _goes_on(view, begun, stopped, full=full):
        return begun
    return _emptiest(view, view.old_room, stopped) if stuck else ""


def _goes_on(view: View, node: str, stopped: Container[WorkloadId], *, full: bool) -> bool:
    """One that is empty waits for somebody to change it; with pods that cannot leave none gets empty."""
    here = [tally for tally in view.tallies.values() if any(pod.node == node for pod in tally.away)]
    if not here:
        return True
    bound = any(node in _closed_by(view, tally, stopped) for tally in here)
    return full and not bound and _fit_elsewhere(view, view.old_room(node), node)


def _closed_by(view: View, tally: Tally, stopped: Container[WorkloadId]) -> set[str]:
    """The nodes with pods of a workload that nothing takes away."""
    if tally.skipped or tally.id in stopped:
        return {pod.node for pod in tally.away}
    stuck = _stuck(view, tally)
    return {pod.node for pod in tally.away if budgets_of(tally, pod) in stuck}


def _emptiest(view: View, room: Callable[[str], Room], stopped: Container[WorkloadId]) -> str:
    there: Counter[str] = Counter()
    closed: set[str] = set(view.fleet.cordoned)
    released = placements.released(view)
    for id_, tally in view.tallies.items():
        closed |= _closed_by(view, tally, stopped)
        for pod in tally.away:
            there[pod.node] += 1
            if id_ in released:
                closed.add(pod.node)
    open_ = sorted((count, name) for name, count in there.items() if name not in closed)
    return next((name for _, name in open_ if _fit_elsewhere(view, room(name), name)), "")


def _stuck(view: View, tally: Tally) -> set[tuple[str, ...]]:
    """The budgets of those of its pods that can never be evicted."""
    found = one_of_each(tally, tally.away)
    return {budgets_of(tally, pod) for pod in found if obstacle(view, tally, pod) is not None}


def _fit_elsewhere(view: View, room: Room, node: str) -> bool:
    booking = Booking(room)
    pods = [pod for tally in view.tallies.values() for pod in tally.away if pod.node == node]
    found = [booking.book(pod) for pod in pods]
    return not any(isinstance(one, NoSlot) for one in found)


def emptying_steps(view: View, node: str, now: datetime) -> list[Step]:
    """Evict what is on the node and may go now."""
    if node in view.fleet.labels:
        return []
    released = placements.released(view)
    allowances, booking = Allowances(view), Booking(view.old_room(node))
    unknown = view.unreadable_in()
    held = [
        one
        for one in view.tallies.values()
        if not one.skipped and one.id not in released and one.id.namespace not in unknown
    ]
    for tally in held:
        book_expected(booking, tally)
    forgotten = {
        step.key: step
        for tally in held
        if any(pod.node == node for pod in tally.away)
        for step in forget_evictions(view, tally, now)[0]
    }
    return [
        *forgotten.values(),
        *_evictions(view, node, held, allowances, booking),
    ]


def _evictions(
    view: View, node: str, held: list[Tally], allowances: Allowances, booking: Booking
) -> list[Step]:
    return [
        Evict(
            tally.id,
            pod.name,
            pod.uid,
            pod.node,
            lane_of(tally, pod),
            *placements.relied_on(view, tally.id),
            makes_room=True,
        )
        for tally in held
        for pod in _evicting(tally, node, allowances, booking)
    ]


def _evicting(tally: Tally, node: str, allowances: Allowances, booking: Booking) -> list[Pod]:
    """Its pods that leave the node: those that do already, else as many as may go and fit elsewhere."""
    if tally.rolling:
        return []
    if tally.leaving:
        return [pod for pod in tally.evicting if pod.node == node]
    here = [pod for pod in in_order(tally) if pod.node == node]
    going: list[Pod] = []
    for pod in here:
        if allowances.of(tally, pod) <= 0:
            continue
        if isinstance(booking.book(pod), NoSlot):
            break
        allowances.take(tally, pod)
        going.append(pod)
    return going
