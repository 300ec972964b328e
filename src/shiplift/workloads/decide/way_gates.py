"""Gates of a workload that is released: what has to be in place before any pod of it moves."""

from __future__ import annotations

import msgspec

from shiplift.api.marks import QUORUM_HOLD
from shiplift.api.workloads import WorkloadState
from shiplift.facts.pods import tolerated
from shiplift.pdb.coverage import covering
from shiplift.pdb.holds import is_hold
from shiplift.pdb.verdicts import counts_on_more
from shiplift.workloads.decide import brake, placements
from shiplift.workloads.decide.books import Books
from shiplift.workloads.decide.candidates import first_of_each
from shiplift.workloads.decide.gate import PAUSED, Closed, closed
from shiplift.workloads.decide.obstacles import never_evictable, surging
from shiplift.workloads.marks import upgrade_taint
from shiplift.workloads.model import Line, Reason, Tally
from shiplift.workloads.steps import SetTolerations


def surge_is_over(books: Books, tally: Tally) -> Closed | None:
    record = placements.record_of(books.view, tally.id)
    if record.surge is None:
        return None
    if record.surge.is_taken_back and _budget_lets_go(books, tally):
        line = Line(WorkloadState.RELEASED, Reason.SURGING, "its budget lets pods go by now")
        return Closed(line, record=msgspec.structs.replace(record, surge=None))
    return surging(books, tally)


def _budget_lets_go(books: Books, tally: Tally) -> bool:
    """Whether a pod may go without a surge by now. As long as the replica more is there, or in the status of
    the budget, its budget seems to let one go: who believes that raises it again and again."""
    if not tally.away or tally.leaving or len(tally.pods) > tally.row.replicas:
        return False
    if any(books.allowances.of(tally, pod) > 0 for pod in first_of_each(tally)):
        return True
    budgets = [row for uid in covering(tally) if (row := books.view.budgets.get(uid)) is not None]
    if any(counts_on_more(books.view, row) for row in budgets):
        return False
    return never_evictable(books, tally)[0] is None


def not_all_there(books: Books, tally: Tally) -> Closed | None:
    if not tally.complete:
        return None
    text = f"all pods are there; they are watched until they have been Ready for {books.view.spec.soak}"
    return closed(WorkloadState.MOVING, Reason.SOAKING, text)


def nothing_stops_all(books: Books, _tally: Tally) -> Closed | None:
    return None if books.stop is None else Closed(books.stop)


def evicted_seldom(books: Books, tally: Tally) -> Closed | None:
    view, counted = books.view, books.counted
    line = brake.stop_of(view, tally, counted) or brake.stop_of_making_again(view, tally, counted)
    return None if line is None else Closed(line)


def budget_is_given_back(books: Books, tally: Tally) -> Closed | None:
    budgets = books.view.budgets
    if not any(is_hold(budgets[uid]) for uid in covering(tally) if uid in budgets):
        return None
    return closed(WorkloadState.RELEASED, Reason.HELD_BUDGET, "its PodDisruptionBudget is being given back")


def template_tolerates(books: Books, tally: Tally) -> Closed | None:
    view = books.view
    if tolerated(tally.row.template.tolerations, upgrade_taint(view.target.version)):
        return None
    if view.spec.paused:
        return closed(WorkloadState.RELEASED, Reason.PAUSED, PAUSED)
    if (stop := brake.stop_of_giving_again(view, tally, books.put_back)) is not None:
        return Closed(stop)
    record = placements.record_of(view, tally.id)
    if record.own == view.target.version:
        line = Line(WorkloadState.MOVING, Reason.MOVING, "its owner took a toleration off: it gets ours")
        return Closed(line, record=msgspec.structs.replace(record, own=""))
    step = SetTolerations(tally.id, tally.row.uid, view.target.version, keeps=record.own)
    if step.change in view.changes or tally.row.uid in books.put_back:
        step = msgspec.structs.replace(step, again=True)
    return Closed(Line(WorkloadState.MOVING, Reason.MOVING, step.describe()), steps=(step,), asked=True)


def placement_in_force(books: Books, tally: Tally) -> Closed | None:
    if books.is_in_force(tally.id.namespace):
        return None
    return Closed(brake.not_proven(books.view, tally.id.namespace), check=True)


def placements_are_there(books: Books, _tally: Tally) -> Closed | None:
    """Before every namespace has its placement no pod moves: new pods of others could come first."""
    text = f"the placement of {books.without_placement[0]} is being written first"
    return closed(WorkloadState.MOVING, Reason.PREPARING, text)


def no_swap(_books: Books, tally: Tally) -> Closed | None:
    service = tally.row.annotations.get(QUORUM_HOLD)
    if service is None:
        return None
    name = f"QuorumService {tally.row.namespace}/{service}"
    text = f"{name} swaps the binary of its pods; they move when it is done"
    return closed(WorkloadState.MOVING, Reason.BINARY_SWAPPED, text)


def no_rollout(_books: Books, tally: Tally) -> Closed | None:
    if not tally.rolling:
        return None
    there = len(tally.pods) - len(tally.away)
    text = f"a rollout is running: {there} of {tally.row.replicas} pods are off the old nodes"
    return closed(WorkloadState.MOVING, Reason.ROLLOUT_RUNNING, text)
