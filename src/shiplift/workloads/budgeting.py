"""How many pods of each workload may go now, and which.

With a PodDisruptionBudget it is what the budget allows, counted from the pods that we see as well as from
its status, whichever is less; without one, what a Deployment says may be unavailable (at least one), or one
pod of a StatefulSet while all others are Ready. Pods that are not Ready serve nobody: they go first.
"""

from __future__ import annotations

from shiplift.engine.budgets import BudgetError, Disruptions, max_unavailable
from shiplift.facts.pods import Pod
from shiplift.facts.workloads import PodDisruptionBudget, StatefulSet
from shiplift.workloads.holds import is_hold
from shiplift.workloads.model import Tally, View
from shiplift.workloads.room import Booking

ALWAYS_ALLOW = "AlwaysAllow"
_DEFAULT_UNAVAILABLE = "25%"


class Allowances:
    """What is left to give in one decision, by lane: one budget may cover several workloads."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._left: dict[str, int] = {}

    def of(self, tally: Tally) -> int:
        """How many Ready pods of the workload may go now."""
        lane = lane_of(tally)
        left = self._left.get(lane)
        if left is None:
            budget = budget_of(self._view, tally)
            left = self._left[lane] = self._own(tally) if budget is None else self._allowed(budget)
        return left

    def take(self, tally: Tally) -> None:
        """One of them goes."""
        self._left[lane_of(tally)] = self.of(tally) - 1

    def _allowed(self, budget: PodDisruptionBudget) -> int:
        if budget.observed_generation < budget.generation:
            return 0
        seen = going = 0
        for id_ in self._view.covers.get(budget.uid, ()):
            tally = self._view.tallies[id_]
            seen += tally.ready
            if tally.going:  # may not be in the budget's status yet
                going += sum(pod.ready for pod in tally.going)
        return max(min(budget.disruptions_allowed - going, seen - budget.desired_healthy), 0)

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


def budget_of(view: View, tally: Tally) -> PodDisruptionBudget | None:
    """The one budget of a workload; with several none counts, the server refuses anyway."""
    return view.budgets.get(tally.budgets[0]) if len(tally.budgets) == 1 else None


def lane_of(tally: Tally) -> str:
    """What evictions of the workload would conflict over."""
    return tally.budgets[0] if tally.budgets else tally.row.uid


def in_order(tally: Tally) -> list[Pod]:
    """The pods to move: those that serve nobody first, then from the highest ordinal down."""
    if isinstance(tally.row, StatefulSet):
        return sorted(tally.away, key=lambda pod: (pod.ready, -_ordinal(pod)))
    return sorted(tally.away, key=lambda pod: (pod.ready, pod.node, pod.name))


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
    if pod.ready:
        return False
    budget = budget_of(view, tally)
    if budget is None:
        if not isinstance(tally.row, StatefulSet):
            return True
        others = [one for one in tally.pods if one.uid != pod.uid]
        whole = not tally.leaving and len(tally.pods) >= tally.row.replicas
        return whole and all(one.ready for one in others)
    healthy = budget.current_healthy >= budget.desired_healthy > 0
    return budget.unhealthy_policy == ALWAYS_ALLOW or healthy


def never_evictable(view: View, tally: Tally) -> str:
    """Why the budget lets no pod go even when all are healthy; empty where it does."""
    budget = budget_of(view, tally)
    if budget is None or is_hold(budget):
        return ""
    covered = view.covers.get(budget.uid, ())
    expected = max(budget.expected_pods, sum(view.tallies[id_].row.replicas for id_ in covered))
    limits = Disruptions(budget.min_available, budget.max_unavailable)
    if limits.allowed(expected, expected) or not expected:
        return ""
    need = limits.desired_healthy(expected)
    return (
        f"PodDisruptionBudget {budget.namespace}/{budget.name} needs {need} of {expected} pods healthy:"
        " it never lets one go"
    )


def explained(view: View, tally: Tally) -> str:
    """What a budget that lets none go now needs and has."""
    budget = budget_of(view, tally)
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
    covered = [view.tallies[id_] for id_ in view.covers.get(budget.uid, ())]
    pods = [pod for tally in covered if isinstance(tally.row, StatefulSet) for pod in tally.pods]
    return [pod for pod in pods if pod.ready and pod.name in budget.disrupted_pods]
