"""What the pods of a workload wait for: a budget, a place, or replacements that are still to come."""

from __future__ import annotations

from shiplift.api.workloads import WorkloadState
from shiplift.facts.pods import Pod
from shiplift.pdb.coverage import budgets_of
from shiplift.pdb.verdicts import explained, obstacle
from shiplift.room.booking import NoSlot
from shiplift.workloads.decide.books import Books
from shiplift.workloads.decide.candidates import first_of_each
from shiplift.workloads.decide.forgetting import forget_evictions
from shiplift.workloads.decide.gate import Closed, closed
from shiplift.workloads.model import Line, Reason, Tally
from shiplift.workloads.names import SKIP


def no_slot_for(slot: NoSlot) -> Closed:
    hint = "add target nodes, or wait"
    if slot.bound:
        hint = (
            f"its data is in {slot.bound}, which is on one machine and cannot follow: copy the data and make"
            f" the claim again, have that node upgraded in place, or leave it out with {SKIP}: true"
        )
    return closed(WorkloadState.BLOCKED, Reason.NO_SLOT, f"{slot.reason}; {hint}")


def waits_for_budget(books: Books, tally: Tally) -> Closed:
    """What the budget needs and has of which a pod may go later, where there is one."""
    pods = first_of_each(tally)
    pod = next((one for one in pods if obstacle(books.view, tally, one) is None), pods[0])
    return waits_for_budget_of(books, tally, pod)


def waits_for_budget_of(books: Books, tally: Tally, pod: Pod) -> Closed:
    """What the budget of that pod needs and has; what its controller has missed would hold the workload up
    for minutes."""
    why = explained(books.view, tally, pod)
    text = f"{_count(len(tally.away), 'pod')} to move; {why}{_fails_there(tally)}"
    steps, due = forget_evictions(books.view, tally, books.now)
    reason = Reason.BUDGET_EXHAUSTED if budgets_of(tally, pod) else Reason.NOT_READY
    return Closed(Line(WorkloadState.MOVING, reason, text), steps=steps, due=due)


def still_coming(tally: Tally, *, grows: bool = False) -> Line:
    """Nothing is left to move; what is still on its way. `grows`: nodes come for pods that wait."""
    stuck = next((pod for pod in tally.pending if pod.unschedulable), None)
    broken = next((pod for pod in tally.pods if not pod.ready and pod.node), None)
    if stuck is not None and grows:
        text = f"pod {stuck.name} waits for a new node of the growing pool: {stuck.unschedulable}"
        return Line(WorkloadState.MOVING, Reason.PENDING, text)
    if stuck is not None:
        text = f"pod {stuck.name} fits on no target node: {stuck.unschedulable}"
        return Line(WorkloadState.BLOCKED, Reason.PENDING, text)
    if tally.leaving:
        text = f"{_count(tally.leaving, 'pod')} still terminating"
        return Line(WorkloadState.MOVING, Reason.TERMINATING, text)
    if broken is not None:
        return Line(WorkloadState.MOVING, Reason.NOT_READY, _is_not_ready(broken))
    text = f"{len(tally.pods)} of {tally.row.replicas} pods are there"
    return Line(WorkloadState.MOVING, Reason.PENDING, text)


def _fails_there(tally: Tally) -> str:
    """The pod that has moved and is not Ready, for which the others wait; empty where there is none."""
    if tally.ready == len(tally.pods):
        return ""
    away = {pod.uid for pod in tally.away}
    broken = next((pod for pod in tally.pods if not pod.ready and pod.node and pod.uid not in away), None)
    return "" if broken is None else f"; {_is_not_ready(broken)}"


def _is_not_ready(pod: Pod) -> str:
    why = f" ({pod.waiting})" if pod.waiting else ""
    return f"pod {pod.name} on {pod.node} is not Ready{why}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
