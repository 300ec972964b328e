"""What one decision has given out so far: places on target nodes, what budgets allow, lanes of evictions.

Every workload is judged by the same books, in a stable order, so that nothing is promised twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from functools import cached_property

from shiplift.engine import retries
from shiplift.facts.pods import Pod
from shiplift.pdb.allowances import Allowances, free_to_go, lane_of
from shiplift.room.booking import Booking, NoSlot
from shiplift.workloads.decide import brake, placements
from shiplift.workloads.decide.architectures import Architectures
from shiplift.workloads.decide.candidates import book_expected, first_of_each
from shiplift.workloads.decide.growth import Growth
from shiplift.workloads.decide.holds import Holding
from shiplift.workloads.decide.settling import Wait, wait
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.model import Line, Role, Tally, View

MOST_AT_ONCE = 100
"""Evictions of one decision: the next one sees what became of them."""
MOST_IN_A_LANE = 4
"""They go one after the other: where the first hangs, not all the others stand before somebody else."""


class Books:
    """The books of one decision about one view."""

    def __init__(
        self,
        view: View,
        now: datetime,
        may_move: frozenset[WorkloadId],
        held: Holding,
        early: frozenset[WorkloadId] = frozenset(),
    ) -> None:
        self.view, self.now, self.held = view, now, held
        self.may_move = may_move
        """Workloads that are released, or may be."""
        self.early = early
        """Those of them that go before their turn, since a pod of theirs fits on no old node."""
        self.released: Collection[WorkloadId] = placements.released(view)
        self.allowances = Allowances(view)
        self.booking = Booking(view.room)
        self.growth = Growth(view)
        self.architectures = Architectures(view)
        self.stop: Line | None = brake.stop_of_all(view)
        """What keeps every pod where it is."""
        self.counted = brake.counted(view)
        self.put_back = brake.put_back(view)
        self.brakes = bool(self.stop or self.counted or view.evicted)
        """Whether the brake has anything to look at: there are many workloads."""
        self.without_placement = placements.without_placement(view)
        """Namespaces of workloads that take part, which have none and can get one."""
        self.unreadable = view.unreadable_in()
        """By namespace what cannot be read."""
        self._in_force: dict[str, bool] = {}
        self._evictions = 0
        self._lanes: defaultdict[str, int] = defaultdict(int)
        """Evictions of each lane that are under way or asked for."""

    def expect(self, tally: Tally) -> None:
        """Enter the pods of a workload that are on their way already."""
        self.growth.expect(book_expected(self.booking, tally))
        for pod in tally.evicting:
            self._lanes[lane_of(tally, pod)] += 1
            self._evictions += 1

    @cached_property
    def settling(self) -> Wait | None:
        """What the first move waits for."""
        return wait(self.view, self.released, self.now)

    @cached_property
    def not_tainted(self) -> str:
        """Which node cannot be tainted, and what was answered, where that is no longer everyday."""
        outcomes = self.view.outcomes
        for name, step in self.view.fleet.taints.items():
            if why := retries.failure(outcomes, step):
                return (
                    f"nothing moves: node {name} cannot be tainted, so pods could come to it before their"
                    f" turn: {why}; let it be patched, or leave it out with spec.nodeSelector of"
                    " WorkloadMigration cluster"
                )
        return ""

    def is_in_force(self, namespace: str) -> bool:
        if namespace not in self._in_force:
            self._in_force[namespace] = placements.is_in_force(self.view, namespace)
        return self._in_force[namespace]

    def no_slot(self, pod: Pod) -> NoSlot | None:
        """Why the pod has no place to go; where a target node can take it, its place is kept. Where nodes
        come for pods that wait, it may go and wait."""
        found = self.booking.book(pod)
        return self.growth.ask(pod, found) if isinstance(found, NoSlot) else None

    def no_slot_for_one_more(self, pod: Pod) -> NoSlot | None:
        """Likewise for one more pod like it, which stays where it is."""
        found = self.booking.book(pod, leaving=False)
        return self.growth.ask(pod, found) if isinstance(found, NoSlot) else None

    @property
    def full(self) -> bool:
        """Whether this decision evicts no more pods."""
        return self._evictions >= MOST_AT_ONCE

    def lane_is_full(self, tally: Tally, pod: Pod) -> bool:
        return self._lanes[lane_of(tally, pod)] >= MOST_IN_A_LANE

    def may_go(self, tally: Tally, pod: Pod) -> bool:
        """Whether its budget, or what stands for one, lets the pod go."""
        return free_to_go(self.view, tally, pod) or self.allowances.of(tally, pod) > 0

    def something_is_allowed(self, tally: Tally) -> bool:
        return any(self.allowances.of(tally, pod) > 0 for pod in first_of_each(tally))

    def goes(self, tally: Tally, pod: Pod) -> None:
        """The pod goes: what it uses up is used up."""
        self._lanes[lane_of(tally, pod)] += 1
        self._evictions += 1
        if not free_to_go(self.view, tally, pod):
            self.allowances.take(tally, pod)

    def under_way(self, tally: Tally) -> list[Pod]:
        """Its pods that are being evicted and have to be: after a rollback they may be where they belong."""
        return [pod for pod in tally.evicting if self.view.fleet.roles.get(pod.node) is Role.OFF]
