"""How many pods covered alike may go now.

What counts is the budget of each pod; pods of one owner may have different ones. With a PodDisruptionBudget
it is what the budget allows, counted from the pods that are seen as well as from its status, whichever is
less; pods of owners that are not known here are seen too. Without one, it is what a Deployment says may be
unavailable (at least one), or one pod of a StatefulSet while all others are Ready; with two nothing. Pods
that are not Ready serve nobody.
"""

from __future__ import annotations

from shiplift.engine.budgets import BudgetError, max_unavailable
from shiplift.facts.pods import Pod
from shiplift.facts.workloads import PodDisruptionBudget, StatefulSet
from shiplift.pdb.coverage import budgets_of, covered
from shiplift.pdb.model import Books, Owner

ALWAYS_ALLOW = "AlwaysAllow"
_DEFAULT_UNAVAILABLE = "25%"


class Allowances:
    """What is left to give in one decision, by lane: one budget may cover several workloads."""

    def __init__(self, books: Books) -> None:
        self._books = books
        self._left: dict[str, int] = {}

    def of(self, owner: Owner, pod: Pod) -> int:
        """How many Ready pods of the workload that are covered as this one may go now."""
        budgets = budgets_of(owner, pod) if owner.apart else owner.budgets
        if len(budgets) > 1:
            return 0
        lane = budgets[0] if budgets else owner.row.uid
        left = self._left.get(lane)
        if left is None:
            budget = self._books.budgets.get(lane)
            left = self._left[lane] = self._own(owner) if budget is None else self._allowed(budget)
        return left

    def take(self, owner: Owner, pod: Pod) -> None:
        """That pod goes. Those of its siblings that have no budget count all that are missing."""
        left, lane = self.of(owner, pod), lane_of(owner, pod)
        self._left[lane] = left - 1
        if owner.apart and lane != owner.row.uid:
            own = self._left.get(owner.row.uid)
            self._left[owner.row.uid] = (self._own(owner) if own is None else own) - 1

    def _allowed(self, budget: PodDisruptionBudget) -> int:
        if budget.observed_generation < budget.generation:
            return 0
        seen, going = healthy(self._books, budget)
        return max(min(budget.disruptions_allowed - going, seen - budget.desired_healthy), 0)

    def _own(self, owner: Owner) -> int:
        missing = max(owner.row.replicas - owner.ready, 0) + owner.leaving
        if isinstance(owner.row, StatefulSet):
            return 0 if missing else 1
        try:
            value = _DEFAULT_UNAVAILABLE if owner.row.max_unavailable is None else owner.row.max_unavailable
            most = max_unavailable(value, owner.row.replicas, at_least_one=True)
        except BudgetError:
            most = 1
        return max(most - max(owner.row.replicas - owner.ready, 0), 0)


def healthy(books: Books, budget: PodDisruptionBudget) -> tuple[int, int]:
    """How many pods that a budget covers are Ready, and how many more of them we are evicting, which may not
    be in its status yet; counted from pods. Pods of unknown owners are looked for only where the budget's
    status counts more healthy ones than known owners have: there are many budgets."""
    seen = going = 0
    for id_ in books.covers.get(budget.uid, ()):
        owner = books.tallies[id_]
        seen += _ready(books, owner, budget)
        if owner.evicting:
            going += sum(pod.ready and budget.uid in budgets_of(owner, pod) for pod in owner.evicting)
    if budget.current_healthy > seen:
        pods = (pod for pod in books.picked(budget) if not pod.deleting and not pod.finished)
        seen = max(seen, sum(pod.ready and pod.node in books.nodes for pod in pods) - going)
    return seen, going


def _ready(books: Books, owner: Owner, budget: PodDisruptionBudget) -> int:
    if not owner.apart:
        return owner.ready
    return sum(pod.ready and pod.node in books.nodes for pod in covered(owner, budget.uid))


def budget_of(books: Books, owner: Owner, pod: Pod) -> PodDisruptionBudget | None:
    """The one budget of a pod; with several none counts, the server refuses anyway."""
    budgets = budgets_of(owner, pod)
    return books.budgets.get(budgets[0]) if len(budgets) == 1 else None


def lane_of(owner: Owner, pod: Pod) -> str:
    """What the eviction of a pod would conflict over with others."""
    budgets = budgets_of(owner, pod) if owner.apart else owner.budgets
    return budgets[0] if budgets else owner.row.uid


def free_to_go(books: Books, owner: Owner, pod: Pod) -> bool:
    """Whether a pod that is not Ready may go although nothing is allowed."""
    if pod.ready or len(budgets_of(owner, pod)) > 1:
        return False
    budget = budget_of(books, owner, pod)
    if budget is None:
        if not isinstance(owner.row, StatefulSet):
            return True
        others = [one for one in owner.pods if one.uid != pod.uid]
        whole = not owner.leaving and len(owner.pods) >= owner.row.replicas
        return whole and all(one.ready for one in others)
    return lets_unready_go(budget)


def lets_unready_go(budget: PodDisruptionBudget) -> bool:
    """Whether a budget lets a pod go that is not Ready, although it allows nothing."""
    healthy = budget.current_healthy >= budget.desired_healthy > 0
    return budget.unhealthy_policy == ALWAYS_ALLOW or healthy


def asks_no_budget(pod: Pod) -> bool:
    """Whether the API server evicts a pod whatever budgets say: it ends, has ended, or has not begun."""
    return bool(pod.deleting) or pod.finished or pod.phase == "Pending"


def allowed_alone(budget: PodDisruptionBudget, evicting: int = 0) -> int:
    """How many Ready pods may go now, by what the budget says of itself, besides those that we are evicting
    and that may not be in its status yet."""
    if budget.observed_generation < budget.generation:
        return 0
    return max(budget.disruptions_allowed - evicting, 0)
