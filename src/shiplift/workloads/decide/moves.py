"""Moving: which pods of released workloads go now, and what each of the others waits for.

Each workload goes as soon as its own dependencies are met, as many pods at once as its budget allows, and
each pod only when a target node can take its replacement at this moment. Slots for replacements that are on
their way already are set aside first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime

from shiplift.api.marks import TARGET_LABEL, label_value
from shiplift.api.workloads import Mode, OnBlockedWorkload, OnNoCapacity, WorkloadState
from shiplift.engine.retries import wait
from shiplift.engine.step import Answer, Step
from shiplift.facts.pods import Pod, tolerated
from shiplift.facts.workloads import PodDisruptionBudget
from shiplift.pdb.allowances import Allowances, budget_of, free_to_go, lane_of
from shiplift.pdb.coverage import budgets_of, covering
from shiplift.pdb.holds import is_hold
from shiplift.pdb.verdicts import Obstacle, explained, obstacle, taken_for_evicted
from shiplift.room.booking import Booking, NoSlot
from shiplift.workloads.decide import brake, placements
from shiplift.workloads.decide.candidates import book_expected, first_of_each, in_order
from shiplift.workloads.decide.surging import Surging, surge
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.marks import is_kept_off, upgrade_taint
from shiplift.workloads.model import Line, Reason, Role, Tally, View
from shiplift.workloads.record import Record
from shiplift.workloads.steps import Evict, Force, ForgetEviction, Replace, SetTolerations

MOST_AT_ONCE = 100
"""Evictions of one decision: the next one sees what became of them."""
MOST_IN_A_LANE = 4
"""They go one after the other: where the first hangs, not all the others stand before somebody else."""
TIME_TO_NOTICE = 5
"""Seconds that the disruption controller has to see by itself that a pod went and another came."""
TIME_TO_LABEL = 10
"""Seconds that a new pod has to get the labels that decide which budget covers it."""
BLOCKING = (Reason.NEVER_EVICTABLE, Reason.TWO_BUDGETS, Reason.SURGE_IMPOSSIBLE)


class Moves:
    """Collects, for one decision, what is done and what is told."""

    def __init__(self, view: View, now: datetime) -> None:
        self.view, self.now = view, now
        self.steps: list[Step] = []
        self.lines: dict[WorkloadId, Line] = {}
        self.records: dict[WorkloadId, Record] = {}
        self.checks: set[str] = set()
        self.unplaced: set[WorkloadId] = set()
        """Whose turn has come, and for whom there is no slot."""
        self.due: list[float] = []
        """In how many seconds something has to be looked at again that no event announces."""
        self.stop = brake.stop_of_all(view)
        """What keeps every pod where it is."""
        self._evictions_so_far = brake.counted(view)
        self._counts = bool(self.stop or self._evictions_so_far or view.evicted)
        """Whether the brake has anything to look at: there are many workloads."""
        self._released = placements.released(view)
        self._in_force: dict[str, bool] = {}
        self._allowances = Allowances(view)
        self._booking = Booking(view.room)
        self._evictions = 0
        self._named: defaultdict[str, int] = defaultdict(int)
        """Evictions of each lane that are under way or asked for."""

    def all(self, may_move: frozenset[WorkloadId]) -> None:
        """Every workload that may go and has not arrived."""
        waiting = [self.view.tallies[id_] for id_ in sorted(may_move - self.view.order.met)]
        for tally in waiting:
            book_expected(self._booking, tally)
            for pod in tally.evicting:
                self._named[lane_of(tally, pod)] += 1
                self._evictions += 1
        for tally in waiting:
            self._one(tally)

    def _one(self, tally: Tally) -> None:
        if tally.id not in self._released:
            self._not_released(tally)
        elif placements.record_of(self.view, tally.id).surge is not None:
            self._take(tally, surge(self.view, tally, self._booking))
        elif tally.complete:
            self._arrived(tally)
        elif not self._in_the_way(tally):
            self._move(tally)

    def _not_released(self, tally: Tally) -> None:
        """Nobody is released before a target node can take one of its pods: new pods must fit somewhere."""
        self._tell(tally, WorkloadState.RELEASED, Reason.NOT_IN_FORCE, "its release is being written down")
        if self._too_many(tally):
            return
        consolidates = self.view.spec.on_no_capacity is OnNoCapacity.CONSOLIDATE
        if not self.view.fleet.targets and not consolidates:
            self.unplaced.add(tally.id)
            text = f"no node runs {self.view.target.version} yet"
            self._tell(tally, WorkloadState.HELD, Reason.WAITING_FOR_NODES, text)
            return
        if self.view.status.emptying and _is_between(tally):
            self.unplaced.add(tally.id)
            text = f"a pod of it goes from {self.view.status.emptying} to another old node first"
            self._tell(tally, WorkloadState.HELD, Reason.CONSOLIDATING, text)
            return
        # once released it cannot make room among the old nodes any more: with Consolidate it has to fit whole
        slots = (self._slot(pod) for pod in (tally.away if consolidates else tally.away[:1]))
        if (slot := next((one for one in slots if one is not None), None)) is not None:
            self.unplaced.add(tally.id)
            self._no_slot(tally, slot)
        elif self.view.target.mode is Mode.TEMPLATE and not self.view.spec.paused:
            self._give_toleration(tally)

    def _too_many(self, tally: Tally) -> bool:
        """A namespace with more workloads than a placement can name: the others cannot be moved by us."""
        placement = self.view.placements.get(tally.id.namespace)
        if placement is None or len(placement.listed) < placements.MOST_TURNS or tally.id in placement.listed:
            return False
        text = f"its namespace has more than {placements.MOST_TURNS} workloads; move it yourself, or leave it out"
        self._tell(tally, WorkloadState.BLOCKED, Reason.NOT_IN_FORCE, text)
        return True

    def _arrived(self, tally: Tally) -> None:
        text = f"all pods are there; they are watched until they have been Ready for {self.view.spec.soak}"
        self._tell(tally, WorkloadState.MOVING, Reason.SOAKING, text)

    def _in_the_way(self, tally: Tally) -> bool:
        """What has to happen before pods can be moved at all; told, and where it is ours to do, done."""
        view = self.view
        if self._counts and (stop := self.stop or brake.stop_of(view, tally, self._evictions_so_far)):
            self.lines[tally.id] = stop
            return True
        if view.holds and any(is_hold(view.budgets[uid]) for uid in covering(tally) if uid in view.budgets):
            self._tell(
                tally,
                WorkloadState.RELEASED,
                Reason.HELD_BUDGET,
                "its PodDisruptionBudget is being given back",
            )
            return True
        if view.target.mode is Mode.TEMPLATE and self._toleration_missing(tally):
            return True
        if view.target.mode is Mode.INJECT and not self._is_in_force(tally.id.namespace):
            self.checks.add(tally.id.namespace)
            self.lines[tally.id] = brake.not_proven(view, tally.id.namespace)
            return True
        if tally.rolling:
            self._tell(
                tally,
                WorkloadState.MOVING,
                Reason.ROLLOUT_RUNNING,
                f"a rollout is running: {len(tally.pods) - len(tally.away)} of {tally.row.replicas} pods are"
                " off the old nodes",
            )
        return tally.rolling

    def _is_in_force(self, namespace: str) -> bool:
        if namespace not in self._in_force:
            self._in_force[namespace] = placements.is_in_force(self.view, namespace)
        return self._in_force[namespace]

    # --- mode Template ---

    def _give_toleration(self, tally: Tally) -> None:
        """Write down that the template is going to be changed; the change itself comes after that."""
        record = placements.record_of(self.view, tally.id)
        if record.toleration != self.view.target.version:
            self.records[tally.id] = Record(toleration=self.view.target.version, surge=record.surge)

    def _toleration_missing(self, tally: Tally) -> bool:
        if tolerated(tally.row.template.tolerations, upgrade_taint(self.view.target.version)):
            return False
        if self.view.spec.paused:
            self._tell(tally, WorkloadState.RELEASED, Reason.PAUSED, "paused; `shiplift resume` goes on")
            return True
        self._do(SetTolerations(tally.id, tally.row.uid, self.view.target.version), tally, Reason.MOVING)
        return True

    # --- pods ---

    def _move(self, tally: Tally) -> None:
        if tally.pending:
            self._replace_misplaced(tally)
        if tally.id in self.lines or not (tally.away or self._under_way(tally)):
            self._still_coming(tally)
        elif tally.away and self._blocked(tally):
            return
        elif self.view.spec.paused:
            self._tell(tally, WorkloadState.RELEASED, Reason.PAUSED, "paused; `shiplift resume` goes on")
        else:
            self._evict(tally)

    def _replace_misplaced(self, tally: Tally) -> None:
        """Pending pods that were made while the workload was held can never go to target nodes."""
        for pod in tally.pending:
            if pod.unschedulable and is_kept_off(pod, TARGET_LABEL, label_value(self.view.target.version)):
                self._do(
                    Replace(tally.id, pod.name, pod.uid, *placements.relied_on(self.view, tally.id)),
                    tally,
                    Reason.PENDING,
                )

    def _still_coming(self, tally: Tally) -> None:
        """Nothing is left to move; say what is still on its way."""
        if tally.id in self.lines:
            return
        stuck = next((pod for pod in tally.pending if pod.unschedulable), None)
        broken = next((pod for pod in tally.pods if not pod.ready and pod.node), None)
        if stuck is not None:
            text = f"pod {stuck.name} fits on no target node: {stuck.unschedulable}"
            self._tell(tally, WorkloadState.BLOCKED, Reason.PENDING, text)
        elif tally.leaving:
            text = f"{_count(tally.leaving, 'pod')} still terminating"
            self._tell(tally, WorkloadState.MOVING, Reason.TERMINATING, text)
        elif broken is not None:
            why = f" ({broken.waiting})" if broken.waiting else ""
            text = f"pod {broken.name} on {broken.node} is not Ready{why}"
            self._tell(tally, WorkloadState.MOVING, Reason.NOT_READY, text)
        else:
            text = f"{len(tally.pods)} of {tally.row.replicas} pods are there"
            self._tell(tally, WorkloadState.MOVING, Reason.PENDING, text)

    def _blocked(self, tally: Tally) -> bool:
        """Whether no pod that is left can ever be evicted, and what the policy makes of it."""
        found = self._obstacle(tally)
        if found is None:
            return False
        match self.view.spec.on_blocked:
            case OnBlockedWorkload.SURGE:
                self._take(tally, surge(self.view, tally, self._booking))
            case OnBlockedWorkload.FORCE if not self.view.spec.paused:
                self._force(tally)
            case _:
                hint = "change the budget, or set spec.onBlocked of WorkloadMigration cluster to Surge"
                self._tell(tally, WorkloadState.BLOCKED, Reason(found.why.value), f"{found.message}; {hint}")
        return True

    def _obstacle(self, tally: Tally) -> Obstacle | None:
        """What keeps all pods that are left; None as long as one of them may go."""
        first: Obstacle | None = None
        for pod in first_of_each(tally):
            if self._allowances.of(tally, pod) > 0:
                return None
            found = obstacle(self.view, tally, pod)
            if found is None:
                return None
            first = first or found
        if tally.apart and self._may_be_labelled_yet(tally):
            return None
        return first

    def _may_be_labelled_yet(self, tally: Tally) -> bool:
        """Whether pods are missing, or so new that who labels them at run time may not have done it."""
        left = tally.last_ready + TIME_TO_LABEL - self.now.timestamp()
        if left > 0:
            self.due.append(left)
        whole = not tally.leaving and tally.row.replicas <= len(tally.pods) == tally.ready
        return left > 0 or not whole

    def _take(self, tally: Tally, surging: Surging) -> None:
        self.steps += surging.steps
        if surging.record is not None:
            self.records[tally.id] = surging.record
        state = WorkloadState.BLOCKED if surging.reason in BLOCKING else WorkloadState.MOVING
        self._tell(tally, state, surging.reason, surging.message)

    def _force(self, tally: Tally) -> None:
        """One at a time, and only while all the others are Ready."""
        movable = self._movable(tally)
        if not movable:
            return
        pod = movable[0]
        others = [one for one in tally.pods if one.uid != pod.uid]
        whole = not tally.leaving and len(tally.pods) >= tally.row.replicas
        if not whole or not all(one.ready for one in others):
            self._still_coming(tally)
        elif (slot := self._slot(pod)) is not None:
            self._no_slot(tally, slot)
        else:
            self._do(
                Force(tally.id, pod.name, pod.uid, pod.node, *placements.relied_on(self.view, tally.id)),
                tally,
                Reason.EVICTING,
            )

    def _evict(self, tally: Tally) -> None:
        under_way = self._under_way(tally)
        for pod in under_way:
            self._do(self._eviction(tally, pod), tally, Reason.EVICTING)
        if not under_way and self._may_not_yet(tally):
            return
        for pod in self._free(tally):
            if (slot := self._slot(pod)) is not None:
                self._no_slot(tally, slot)
                return
            if self._do(self._eviction(tally, pod), tally, Reason.EVICTING):
                self._goes(tally, pod)
        if tally.id not in self.lines:
            self._waits_for_budget(tally)

    def _free(self, tally: Tally) -> Iterator[Pod]:
        """Its pods that may go, one by one: each that goes uses up what there is for those covered alike."""
        spent: set[tuple[str, ...]] = set()
        for pod in self._movable(tally):
            if self._evictions >= MOST_AT_ONCE:
                return
            if spent and budgets_of(tally, pod) in spent:
                continue
            if self._may_go(tally, pod):
                yield pod
            elif not tally.apart:
                return
            else:
                spent.add(budgets_of(tally, pod))

    def _may_go(self, tally: Tally, pod: Pod) -> bool:
        if self._named[lane_of(tally, pod)] >= MOST_IN_A_LANE:
            return False
        return free_to_go(self.view, tally, pod) or self._allowances.of(tally, pod) > 0

    def _under_way(self, tally: Tally) -> list[Pod]:
        """Its pods that are being evicted and have to be: after a rollback they may be where they belong."""
        return [pod for pod in tally.evicting if self.view.fleet.roles.get(pod.node) is Role.OFF]

    def _goes(self, tally: Tally, pod: Pod) -> None:
        """The pod goes: what it uses up is used up."""
        self._named[lane_of(tally, pod)] += 1
        self._evictions += 1
        if not free_to_go(self.view, tally, pod):
            self._allowances.take(tally, pod)

    def _eviction(self, tally: Tally, pod: Pod) -> Evict:
        lane = lane_of(tally, pod)
        return Evict(tally.id, pod.name, pod.uid, pod.node, lane, *placements.relied_on(self.view, tally.id))

    def _may_not_yet(self, tally: Tally) -> bool:
        """Whether none of its pods can go in this decision; told."""
        if self._evictions >= MOST_AT_ONCE or self._lanes_are_full(tally):
            self._tell(tally, WorkloadState.MOVING, Reason.EVICTING, "its pods go in a moment")
            return True
        if tally.ready == len(tally.pods) and not self._something_is_allowed(tally):
            self._waits_for_budget(tally)
            return True
        return False

    def _lanes_are_full(self, tally: Tally) -> bool:
        return all(self._named[lane_of(tally, pod)] >= MOST_IN_A_LANE for pod in first_of_each(tally))

    def _something_is_allowed(self, tally: Tally) -> bool:
        return any(self._allowances.of(tally, pod) > 0 for pod in first_of_each(tally))

    def _movable(self, tally: Tally) -> list[Pod]:
        """In mode Template a replacement that does not tolerate the taint would only come back."""
        pods = in_order(tally)
        if self.view.target.mode is not Mode.TEMPLATE:
            return pods
        taint = upgrade_taint(self.view.target.version)
        movable = [pod for pod in pods if tolerated(pod.spec.tolerations, taint)]
        if pods and not movable:
            text = "its pods are of an older template (a paused or partitioned rollout); finish the rollout"
            self._tell(tally, WorkloadState.BLOCKED, Reason.ROLLOUT_RUNNING, text)
        return movable

    def _waits_for_budget(self, tally: Tally) -> None:
        pods = first_of_each(tally)
        pod = next((one for one in pods if obstacle(self.view, tally, one) is None), pods[0])
        why = explained(self.view, tally, pod)
        text = f"{_count(len(tally.away), 'pod')} to move; {why}"
        self._tell(tally, WorkloadState.MOVING, Reason.BUDGET_EXHAUSTED, text)
        self._forget_evictions(tally)

    def _forget_evictions(self, tally: Tally) -> None:
        """What the disruption controller has missed would hold the workload up for two minutes."""
        found = [budget_of(self.view, tally, pod) for pod in first_of_each(tally)]
        for budget in filter(None, found):
            self._forget_evictions_of(budget)

    def _forget_evictions_of(self, budget: PodDisruptionBudget) -> None:
        for pod in taken_for_evicted(self.view, budget):
            left = pod.ready_since + TIME_TO_NOTICE - self.now.timestamp()
            step = ForgetEviction(budget.namespace, budget.name, budget.uid, pod.name, pod.uid)
            if left > 0:
                self.due.append(left)
            elif step not in self.steps:  # one budget may cover several that wait
                self.steps.append(step)

    def _slot(self, pod: Pod) -> NoSlot | None:
        found = self._booking.book(pod)
        return found if isinstance(found, NoSlot) else None

    def _no_slot(self, tally: Tally, slot: NoSlot) -> None:
        self._tell(tally, WorkloadState.BLOCKED, Reason.NO_SLOT, f"{slot.reason}; add target nodes, or wait")

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
        return not wait(self.view.outcomes, step, self.now)

    def _tell(self, tally: Tally, state: WorkloadState, reason: Reason, message: str) -> None:
        self.lines[tally.id] = Line(state, reason, message)


def _is_between(tally: Tally) -> bool:
    """Whether a pod of it is on its way from one node to another."""
    return bool(tally.leaving) or any(not pod.unschedulable for pod in tally.pending)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
