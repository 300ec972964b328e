"""What keeps all pods of a workload for good, and what the policy makes of it: stop, surge or force."""

from __future__ import annotations

from shiplift.api.workloads import OnBlockedWorkload, WorkloadState
from shiplift.engine import retries
from shiplift.pdb.verdicts import Obstacle, obstacle
from shiplift.workloads.decide.books import Books
from shiplift.workloads.decide.candidates import first_of_each
from shiplift.workloads.decide.gate import Closed, closed
from shiplift.workloads.decide.surging import can_surge, surge
from shiplift.workloads.model import Line, Reason, Tally

TIME_TO_LABEL = 10
"""Seconds that a new pod has to get the labels that decide which budget covers it."""
BLOCKING = (
    Reason.NEVER_EVICTABLE,
    Reason.TWO_BUDGETS,
    Reason.BUDGET_NOT_COUNTED,
    Reason.SURGE_IMPOSSIBLE,
    Reason.SURGE_FAILED,
)


def never_evictable(books: Books, tally: Tally) -> tuple[Obstacle | None, tuple[float, ...]]:
    """What keeps all pods that are left, none as long as one of them may go; and when to look again."""
    first: Obstacle | None = None
    for pod in first_of_each(tally):
        if books.allowances.of(tally, pod) > 0:
            return None, ()
        found = obstacle(books.view, tally, pod)
        if found is None:
            return None, ()
        first = first or found
    left = tally.last_ready + TIME_TO_LABEL - books.now.timestamp()
    if not tally.apart or (left <= 0 and _is_whole(tally)):
        return first, ()
    # pods are missing, or so new that who labels them at run time may not have done it
    return None, (left,) if left > 0 else ()


def _is_whole(tally: Tally) -> bool:
    return not tally.leaving and tally.row.replicas <= len(tally.pods) == tally.ready


def blocked(books: Books, tally: Tally, found: Obstacle) -> Closed | None:
    """What the policy makes of an obstacle; None where it is to be forced."""
    match books.view.spec.on_blocked:
        case OnBlockedWorkload.SURGE:
            return surging(books, tally)
        case OnBlockedWorkload.FORCE if not books.view.spec.paused:
            return None
        case _:
            other = "Surge" if can_surge(tally) else "Force, which goes past it"
            hint = f"change the budget, or set spec.onBlocked of WorkloadMigration cluster to {other}"
            return closed(WorkloadState.BLOCKED, Reason(found.why.value), f"{found.message}; {hint}")


def surging(books: Books, tally: Tally) -> Closed:
    found = surge(books.view, tally, books.no_slot_for_one_more, books.now)
    state = WorkloadState.BLOCKED if found.reason in BLOCKING else WorkloadState.MOVING
    line = Line(state, found.reason, found.message)
    if refused := next(retries.failures(books.view.outcomes, found.steps), ""):
        line = Line(WorkloadState.BLOCKED, Reason.REFUSED, f"{found.message}; {refused}")
    return Closed(line, steps=found.steps, record=found.record, due=found.due)
