"""Moving: which pods of released workloads go now, and what each of the others waits for.

Each workload goes as soon as its own dependencies are met, as many pods at once as its budget allows, and
each pod only when a target node can take its replacement at this moment. Places for replacements that are on
their way already are set aside first.
"""

from __future__ import annotations

from collections.abc import Iterator

from shiplift.api.workloads import Mode, WorkloadState
from shiplift.engine import retries
from shiplift.engine.step import Answer, Step
from shiplift.facts.pods import Pod
from shiplift.pdb.allowances import lane_of
from shiplift.pdb.coverage import budgets_of
from shiplift.workloads.decide import gates, obstacles, placements, pod_gates
from shiplift.workloads.decide.awaited import still_coming, waits_for_budget
from shiplift.workloads.decide.books import Books
from shiplift.workloads.decide.candidates import first_of_each, in_order, misplaced
from shiplift.workloads.decide.gate import Closed
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.model import Line, Reason, Tally
from shiplift.workloads.record import Record
from shiplift.workloads.steps import Evict, Force, PodStep, Replace, SetTolerations


class Moves:
    """Collects, for one decision, what is done and what is told."""

    def __init__(self, books: Books) -> None:
        self.view, self.now, self._books = books.view, books.now, books
        self.steps: list[Step] = []
        self.lines: dict[WorkloadId, Line] = {}
        self.records: dict[WorkloadId, Record] = {}
        self.checks: set[str] = set()
        """Namespaces about whose placement the API servers are to be asked."""
        self.unplaced: set[WorkloadId] = set()
        """Workloads whose turn has come, and for which there is no room."""
        self.due: list[float] = []
        """In how many seconds something has to be looked at again that no event announces."""

    @property
    def stop(self) -> Line | None:
        """What keeps every pod where it is."""
        return self._books.stop

    @property
    def not_tainted(self) -> str:
        """Mode Template: the node whose taint is refused for ever; until it has it, nothing moves."""
        return self._books.not_tainted if self.view.target.mode is Mode.TEMPLATE else ""

    @property
    def not_grown(self) -> str:
        """The pod for which no node has come in time, where nodes are to come for pods that wait."""
        return self._books.growth.overdue(self.now)

    @property
    def first_waits(self) -> str:
        """What the first move waits for, where nodes are still coming; empty where nothing waits for it."""
        waits = self._books.settling
        return waits.why if waits is not None and self.lines else ""

    @property
    def unprepared(self) -> bool:
        """Whether placements have to be there before any pod moves."""
        return bool(self._books.without_placement)

    def stopped(self, why: str) -> None:
        """Somebody has to act before anything more is done: workloads that would have moved say so."""
        asked = {one.workload for one in self.steps if isinstance(one, PodStep | SetTolerations)}
        for id_ in asked & self.lines.keys():
            if self.lines[id_].state is not WorkloadState.BLOCKED:
                self.lines[id_] = Line(self.lines[id_].state, Reason.STOPPED, f"nothing new starts: {why}")

    def all(self, before: WorkloadId | None = None) -> None:
        """Every workload that may move and has not arrived, or whose pods came back to old nodes; where one
        is named, only those before it, so that the books are as that one finds them."""
        left = self._books.may_move - self.view.order.met
        if self.view.returned:
            left |= self._books.may_move & self.view.returned
        waiting = [self.view.tallies[id_] for id_ in sorted(left)]
        for tally in waiting:
            self._books.expect(tally)
        self.due += self._books.growth.left(self.now)
        way = gates.Way(self._books)
        for tally in waiting:
            if tally.id == before:
                return
            closed = way.first_closed(tally)
            if closed is None:
                self._move(tally)
            else:
                self._heed(tally, closed)

    def _heed(self, tally: Tally, closed: Closed) -> None:
        """Tell what a workload waits for, and do what there is to do about it."""
        self.lines[tally.id] = closed.line
        for step in closed.steps:
            if closed.asked:
                self._do(step, tally, closed.line.reason)
            elif step not in self.steps:  # one budget may cover several that wait
                self.steps.append(step)
        if closed.record is not None:
            self.records[tally.id] = closed.record
        if closed.check:
            self.checks.add(tally.id.namespace)
        if closed.unplaced:
            self.unplaced.add(tally.id)
        self.due += closed.due

    # --- pods ---

    def _move(self, tally: Tally) -> None:
        if tally.pending:
            self._replace_misplaced(tally)
        if tally.id in self.lines:
            return
        if not (tally.away or self._books.under_way(tally)):
            self.lines[tally.id] = still_coming(tally, grows=self._books.growth.on)
        elif tally.away and self._blocked(tally):
            return
        elif self.view.spec.paused:
            self._heed(tally, pod_gates.IS_PAUSED)
        else:
            self._evict(tally)

    def _replace_misplaced(self, tally: Tally) -> None:
        for pod in misplaced(tally, self.view.target.version):
            relied_on = placements.relied_on(self.view, tally.id)
            step = Replace(tally.id, pod.name, pod.uid, pod.resource_version, *relied_on)
            self._do(step, tally, Reason.PENDING)

    def _blocked(self, tally: Tally) -> bool:
        """Whether no pod that is left can ever be evicted, and what the policy makes of it."""
        found, due = obstacles.never_evictable(self._books, tally)
        self.due += due
        if found is None:
            return False
        closed = obstacles.blocked(self._books, tally, found)
        if closed is None:
            self._force(tally)
        else:
            self._heed(tally, closed)
        return True

    def _force(self, tally: Tally) -> None:
        """One pod, where it is its turn."""
        movable = self._movable(tally)
        if not movable:
            return
        pod = movable[0]
        closed = pod_gates.others_are_ready(tally, pod) or pod_gates.target_has_room(self._books, tally, pod)
        if closed is not None:
            self._heed(tally, closed)
        else:
            relied_on = placements.relied_on(self.view, tally.id)
            step = Force(tally.id, pod.name, pod.uid, pod.resource_version, pod.node, *relied_on)
            self._do(step, tally, Reason.EVICTING)

    def _evict(self, tally: Tally) -> None:
        under_way = self._books.under_way(tally)
        for pod in under_way:
            self._do(self._eviction(tally, pod), tally, Reason.EVICTING)
        if not under_way and (closed := self._none_may_go(tally)) is not None:
            self._heed(tally, closed)
            return
        for pod in self._candidates(tally):
            if (closed := pod_gates.goes_now(self._books, tally, pod)) is not None:
                self._heed(tally, closed)
                return
            if self._do(self._eviction(tally, pod), tally, Reason.EVICTING):
                self._books.goes(tally, pod)
        if tally.id not in self.lines:
            self._heed(tally, waits_for_budget(self._books, tally))

    def _none_may_go(self, tally: Tally) -> Closed | None:
        """What keeps all pods of a workload in this decision, told of the first of those covered alike."""
        first = first_of_each(tally)
        moment = pod_gates.in_this_decision(self._books, tally, first[0])
        if moment is not None and (
            len(first) == 1 or all(pod_gates.in_this_decision(self._books, tally, pod) for pod in first)
        ):
            return moment
        if tally.ready == len(tally.pods) and not self._books.something_is_allowed(tally):
            return waits_for_budget(self._books, tally)
        return None

    def _candidates(self, tally: Tally) -> Iterator[Pod]:
        """Its pods that may go, one by one: each that goes uses up what there is for those covered alike."""
        spent: set[tuple[str, ...]] = set()
        for pod in self._movable(tally):
            if self._books.full:
                return
            if spent and budgets_of(tally, pod) in spent:
                continue
            if not self._books.lane_is_full(tally, pod) and self._books.may_go(tally, pod):
                yield pod
            elif not tally.apart:
                return
            else:
                spent.add(budgets_of(tally, pod))

    def _eviction(self, tally: Tally, pod: Pod) -> Evict:
        relied_on = placements.relied_on(self.view, tally.id)
        return Evict(tally.id, pod.name, pod.uid, pod.node, lane_of(tally, pod), *relied_on)

    def _movable(self, tally: Tally) -> list[Pod]:
        """Its pods to move whose replacements do not come back, in their order."""
        pods = self._own_last(in_order(tally))
        if self.view.target.mode is not Mode.TEMPLATE:
            return pods
        kept = {pod.uid: pod_gates.does_not_come_back(self._books, tally, pod) for pod in pods}
        movable = [pod for pod in pods if kept[pod.uid] is None]
        if pods and not movable and (closed := kept[pods[0].uid]) is not None:
            self._heed(tally, closed)
        return movable

    def _own_last(self, pods: list[Pod]) -> list[Pod]:
        """The pod that leads goes when no other is left to move."""
        others = [pod for pod in pods if pod.uid != self.view.own.pod]
        return others or pods

    # --- telling and doing ---

    def _do(self, step: Step, tally: Tally, reason: Reason) -> bool:
        """Ask for the step, and tell of it; where it was refused before, tell why."""
        last = self.view.outcomes.of(step)
        self.steps.append(step)
        if last is not None and last.answer is not Answer.OK:
            state = WorkloadState.BLOCKED if last.answer is Answer.FAILED else WorkloadState.MOVING
            self._tell(tally, state, Reason.REFUSED, last.message)
        else:
            self._tell(tally, WorkloadState.MOVING, reason, step.describe())
        return not retries.wait(self.view.outcomes, step, self.now)

    def _tell(self, tally: Tally, state: WorkloadState, reason: Reason, message: str) -> None:
        self.lines[tally.id] = Line(state, reason, message)
