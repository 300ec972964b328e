"""How many pods of each workload may go now, and which.

What counts is the budget of each pod; pods of one workload may have different ones. With a
PodDisruptionBudget it is what the budget allows, counted from the pods that we see as well as from its
status, whichever is less; without one, what a Deployment says may be unavailable (at least one), or one pod
of a StatefulSet while all others are Ready; with two nothing. Pods that are not Ready serve nobody: they go
first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from shiplift.engine.budgets import BudgetError, Disruptions, max_unavailable
from shiplift.facts.pods import Pod
from shiplift.facts.workloads import PodDisruptionBudget, StatefulSet
from shiplift.workloads.coverage import budgets_of, covered, not_made, one_of_each
from shiplift.workloads.holds import is_hold
from shiplift.workloads.model import Reason, Tally, View
from shiplift.workloads.room import Booking

ALWAYS_ALLOW = "AlwaysAllow"
_DEFAULT_UNAVAILABLE = "25%"


class Allowances:
    """What is left to give in one decision, by lane: one budget may cover several workloads."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._left: dict[str, int] = {}

    def of(self, tally: Tally, pod: Pod) -> int:
        """How many Ready pods of the workload that are covered as this one may go now."""
        budgets = budgets_of(tally, pod) if tally.apart else tally.budgets
        if len(budgets) > 1:
            return 0
        lane = budgets[0] if budgets else tally.row.uid
        left = self._left.get(lane)
        if left is None:
            budget = self._view.budgets.get(lane)
            left = self._left[lane] = self._own(tally) if budget is None else self._allowed(budget)
        return left

    def take(self, tally: Tally, pod: Pod) -> None:
        """That pod goes. Those of its siblings that have no budget count all that are missing."""
        left, lane = self.of(tally, pod), lane_of(tally, pod)
        self._left[lane] = left - 1
        if tally.apart and lane != tally.row.uid:
            own = self._left.get(tally.row.uid)
            self._left[tally.row.uid] = (self._own(tally) if own is None else own) - 1

    def _allowed(self, budget: PodDisruptionBudget) -> int:
        if budget.observed_generation < budget.generation:
            return 0
        seen = going = 0
        for id_ in self._view.covers.get(budget.uid, ()):
            tally = self._view.tallies[id_]
            seen += self._ready(tally, budget)
            if tally.going:  # may not be in the budget's status yet
                going += sum(pod.ready and budget.uid in budgets_of(tally, pod) for pod in tally.going)
        return max(min(budget.disruptions_allowed - going, seen - budget.desired_healthy), 0)

    def _ready(self, tally: Tally, budget: PodDisruptionBudget) -> int:
        if not tally.apart:
            return tally.ready
        roles = self._view.fleet.roles
        return sum(pod.ready and pod.node in roles for pod in covered(tally, budget.uid))

    def _own(self, tally: Tally) -> int:
        missing = max(tally.row.replicas - tally.ready, 0) + tally.leaving
        if isinstance(tally.row, StatefulSet):
            return 0 if missing else 1
        try:
            value = _DEFAULT_UNAVAILABLE if tally.row.max_unavailable is None else tally.row.max_unavailable
            most = max_unavailable(value, tally.row.replicas, at_least_one=True)
        except BudgetError:
            most = 1
        return max(most - max(tally.row.replicas - tally.ready, 0), 0)


def budget_of(view: View, tally: Tally, pod: Pod) -> PodDisruptionBudget | None:
    """The one budget of a pod; with several none counts, the server refuses anyway."""
    budgets = budgets_of(tally, pod)
    return view.budgets.get(budgets[0]) if len(budgets) == 1 else None


def lane_of(tally: Tally, pod: Pod) -> str:
    """What the eviction of a pod would conflict over with others."""
    budgets = budgets_of(tally, pod) if tally.apart else tally.budgets
    return budgets[0] if budgets else tally.row.uid


def in_order(tally: Tally) -> list[Pod]:
    """The pods to move: those that serve nobody first, then from the highest ordinal down."""
    if isinstance(tally.row, StatefulSet):
        return sorted(tally.away, key=lambda pod: (pod.ready, -_ordinal(pod)))
    return sorted(tally.away, key=lambda pod: (pod.ready, pod.node, pod.name))


def first_of_each(tally: Tally) -> Sequence[Pod]:
    """Of the pods to move, the first of those that are covered alike."""
    return one_of_each(tally, in_order(tally)) if tally.apart else tally.away[:1]


def book_expected(booking: Booking, tally: Tally) -> None:
    """Replacements that are pending, or that the owner will make in a moment, have their slots first; and so
    have those of pods that are being evicted."""
    for pod in tally.pending:
        booking.book(pod, leaving=False)
    for pod in tally.going:
        booking.book(pod)
    missing = tally.row.replicas - len(tally.pods) - len(tally.going)
    if tally.alike is not None and not tally.rolling:
        for _ in range(missing):
            booking.book(tally.alike, leaving=False)


def _ordinal(pod: Pod) -> int:
    tail = pod.name.rpartition("-")[2]
    return int(tail) if tail.isdecimal() else 0


def free_to_go(view: View, tally: Tally, pod: Pod) -> bool:
    """Whether a pod that is not Ready may go although nothing is allowed."""
    if pod.ready or len(budgets_of(tally, pod)) > 1:
        return False
    budget = budget_of(view, tally, pod)
    if budget is None:
        if not isinstance(tally.row, StatefulSet):
            return True
        others = [one for one in tally.pods if one.uid != pod.uid]
        whole = not tally.leaving and len(tally.pods) >= tally.row.replicas
        return whole and all(one.ready for one in others)
    healthy = budget.current_healthy >= budget.desired_healthy > 0
    return budget.unhealthy_policy == ALWAYS_ALLOW or healthy


class Obstacle(NamedTuple):
    """Why a pod can never be evicted."""

    reason: Reason
    message: str


def obstacle(view: View, tally: Tally, pod: Pod) -> Obstacle | None:
    """What keeps a pod for as long as its budgets are what they are; None where it may go now or later."""
    budgets = budgets_of(tally, pod)
    if len(budgets) > 1:
        which = f"PodDisruptionBudgets {named(view, budgets)} both select pod {pod.namespace}/{pod.name}"
        return Obstacle(Reason.TWO_BUDGETS, which)
    why = never_evictable(view, tally, pod)
    return Obstacle(Reason.NEVER_EVICTABLE, why) if why else None


def named(view: View, budgets: Iterable[str]) -> str:
    """Budgets by their names."""
    rows = [row for uid in budgets if (row := view.budgets.get(uid)) is not None]
    return " and ".join(sorted(f"{row.namespace}/{row.name}" for row in rows))


def never_evictable(view: View, tally: Tally, pod: Pod) -> str:
    """Why the budget of a pod lets none go even when all are healthy; empty where it does."""
    budget = budget_of(view, tally, pod)
    if budget is None or is_hold(budget):
        return ""
    expected, most = _expected(view, budget)
    limits = Disruptions(budget.min_available, budget.max_unavailable)
    if limits.allowed(expected, most) or not expected:
        return ""
    need = limits.desired_healthy(expected)
    only = f" and covers {most}" if most < expected else ""
    return (
        f"PodDisruptionBudget {budget.namespace}/{budget.name} needs {need} of {expected} pods healthy{only}:"
        " it never lets one go"
    )


def _expected(view: View, budget: PodDisruptionBudget) -> tuple[int, int]:
    """How many pods its controller counts on, and how many of them can be healthy at most.

    The controller counts all replicas of whoever owns a pod that is covered, also those that are not, unless
    `minAvailable` is a number.
    """
    found = [view.tallies[id_] for id_ in view.covers.get(budget.uid, ())]
    tallies = [tally for tally in found if not tally.apart or _covered_in_the_end(tally, budget)]
    replicas = sum(tally.row.replicas for tally in tallies)
    expected = max(budget.expected_pods, replicas)
    if not any(tally.apart for tally in tallies):
        return expected, expected
    pods = sum(_covered_in_the_end(tally, budget) for tally in tallies)
    if isinstance(budget.min_available, int):
        count = max(budget.expected_pods, pods)
        return count, count
    return expected, pods + expected - replicas


def _covered_in_the_end(tally: Tally, budget: PodDisruptionBudget) -> int:
    """How many of its pods a budget covers when those that are missing are made."""
    if not tally.apart:
        return tally.row.replicas
    return len(covered(tally, budget.uid)) + (not_made(tally) if budget.uid in tally.budgets else 0)


def explained(view: View, tally: Tally, pod: Pod) -> str:
    """What keeps a pod now: what its budget needs and has."""
    if (found := obstacle(view, tally, pod)) is not None:
        return found.message
    budget = budget_of(view, tally, pod)
    if budget is None:
        return f"{tally.ready} of {tally.row.replicas} pods are Ready; the others come first"
    name = f"PodDisruptionBudget {budget.namespace}/{budget.name}"
    if budget.observed_generation < budget.generation:
        return f"{name} was changed and has not been looked at by its controller yet"
    has = f"{name} needs {budget.desired_healthy} healthy pods and has {budget.current_healthy}"
    back = taken_for_evicted(view, budget)
    return f"{has}; it takes pod {back[0].name}, which is back, for evicted" if back else has


def taken_for_evicted(view: View, budget: PodDisruptionBudget) -> list[Pod]:
    """Pods under the name of one that was evicted, which went before the disruption controller saw it go.

    Only those of a StatefulSet come back under their names.
    """
    if not budget.disrupted_pods:
        return []
    tallies = [view.tallies[id_] for id_ in view.covers.get(budget.uid, ())]
    sets = [tally for tally in tallies if isinstance(tally.row, StatefulSet)]
    pods = [pod for tally in sets for pod in covered(tally, budget.uid)]
    return [pod for pod in pods if pod.ready and pod.name in budget.disrupted_pods]
