"""What budgets never allow, and what they wait for, in words that name the budget and the pod."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import NamedTuple

from shiplift.engine.budgets import Disruptions
from shiplift.facts.pods import Pod
from shiplift.facts.workloads import PodDisruptionBudget
from shiplift.pdb.allowances import budget_of, healthy
from shiplift.pdb.coverage import budgets_of, covered, not_made
from shiplift.pdb.holds import is_hold
from shiplift.pdb.model import Books, Owner


class Never(Enum):
    """Why no wait helps: somebody has to change a budget."""

    TWO_BUDGETS = "TwoBudgets"
    NOT_COUNTED = "BudgetNotCounted"
    ALLOWS_NOTHING = "NeverEvictable"


_FOR_EVER = ("does not implement the scale subresource", "no matches for kind")
"""Of what a budget's controller says where it cannot count pods: what no wait changes."""


class Obstacle(NamedTuple):
    """Why a pod can never be evicted."""

    why: Never
    message: str


def obstacle(books: Books, owner: Owner, pod: Pod) -> Obstacle | None:
    """What keeps a pod for as long as its budgets are what they are; None where it may go now or later."""
    budgets = budgets_of(owner, pod)
    if len(budgets) > 1:
        return _two(named(books, budgets), pod)
    budget = budget_of(books, owner, pod)
    if budget is not None and (found := _not_counted(budget)) is not None:
        return found
    why = never_evictable(books, owner, pod)
    return Obstacle(Never.ALLOWS_NOTHING, why) if why else None


def obstacle_alone(
    budgets: Sequence[PodDisruptionBudget],
    pod: Pod,
    replicas: Callable[[PodDisruptionBudget], int | None],
) -> Obstacle | None:
    """As `obstacle`, for whoever has not counted the pods of these budgets, which are all that select the
    pod: by what each says of itself. `replicas` is how many pods the owners of what a budget covers ask for,
    None where that is not known; it is asked only where it decides."""
    if len(budgets) > 1:
        return _two(_names(budgets), pod)
    if not budgets or is_hold(budgets[0]):
        return None
    (budget,) = budgets
    if (found := _not_counted(budget)) is not None:
        return found
    expected = _expected_alone(budget, replicas)
    why = _never(budget, expected, expected)
    return Obstacle(Never.ALLOWS_NOTHING, why) if why else None


def never_alone(budget: PodDisruptionBudget, replicas: int | None) -> str:
    """Why a budget never lets a pod go, by what it says of itself and by how many pods the owners of what it
    covers ask for, where that is known; empty where it does, or is a hold of ours."""
    if is_hold(budget):
        return ""
    if (found := _not_counted(budget)) is not None:
        return found.message
    expected = _expected_alone(budget, lambda _: replicas)
    return _never(budget, expected, expected)


def _expected_alone(
    budget: PodDisruptionBudget, replicas: Callable[[PodDisruptionBudget], int | None]
) -> int:
    """How many pods there are going to be; nothing where that cannot be told. Where `minAvailable` is a
    number, the status of a budget has the pods that are there at that moment: fewer for as long as one that
    was evicted has not been made again."""
    counted = budget.expected_pods
    if not isinstance(budget.min_available, int) or counted > budget.min_available:
        return counted
    wanted = replicas(budget)
    return 0 if wanted is None else max(counted, wanted)


def _two(names: str, pod: Pod) -> Obstacle:
    which = f"PodDisruptionBudgets {names} both select pod {pod.namespace}/{pod.name}"
    return Obstacle(Never.TWO_BUDGETS, which)


def _not_counted(budget: PodDisruptionBudget) -> Obstacle | None:
    why = _uncountable(budget)
    if not why or not any(one in why for one in _FOR_EVER):
        return None
    text = f"PodDisruptionBudget {_names([budget])} lets no pod go: it cannot be counted ({why});"
    return Obstacle(Never.NOT_COUNTED, f"{text} let it cover other pods, or set its minAvailable to a number")


def named(books: Books, budgets: Iterable[str]) -> str:
    """Budgets by their names."""
    return _names([row for uid in budgets if (row := books.budgets.get(uid)) is not None])


def _names(budgets: Iterable[PodDisruptionBudget]) -> str:
    return " and ".join(sorted(f"{row.namespace}/{row.name}" for row in budgets))


def _uncountable(budget: PodDisruptionBudget) -> str:
    """Why the controller of a budget cannot count what it covers, in its own words; empty where it can. Until
    it can, the budget allows nothing."""
    said = budget.conditions
    return next((one.message for one in said if one.reason == "SyncFailed" and one.status == "False"), "")


def never_evictable(books: Books, owner: Owner, pod: Pod) -> str:
    """Why the budget of a pod lets none go even when all are healthy; empty where it does."""
    budget = budget_of(books, owner, pod)
    if budget is None or is_hold(budget):
        return ""
    return _never(budget, *_expected(books, budget))


def _never(budget: PodDisruptionBudget, expected: int, most: int) -> str:
    """Why a budget lets no pod go even when all are healthy: it counts on so many pods, of which at most so
    many can be healthy."""
    limits = Disruptions(budget.min_available, budget.max_unavailable)
    if limits.allowed(expected, most) or not expected:
        return ""
    if not limits.limited:
        name = f"{budget.namespace}/{budget.name}"
        return f"PodDisruptionBudget {name} has neither minAvailable nor maxUnavailable: it never lets one go"
    need = limits.desired_healthy(expected)
    only = f" and covers {most}" if most < expected else ""
    return (
        f"PodDisruptionBudget {budget.namespace}/{budget.name} needs {need} of {expected} pods healthy{only}:"
        " it never lets one go"
    )


def one_more_helps(budget: PodDisruptionBudget) -> bool:
    """Whether a budget that lets no pod go would let one go if one replica more were healthy; not where what
    it needs grows with the replicas."""
    more = max(budget.expected_pods, budget.current_healthy) + 1
    return bool(Disruptions(budget.min_available, budget.max_unavailable).allowed(more, more))


def _expected(books: Books, budget: PodDisruptionBudget) -> tuple[int, int]:
    """How many pods its controller counts on, and how many of them can be healthy at most.

    The controller counts all replicas of whoever owns a pod that is covered, also those that are not, unless
    `minAvailable` is a number.
    """
    found = [books.tallies[id_] for id_ in books.covers.get(budget.uid, ())]
    owners = [owner for owner in found if not owner.apart or _covered_in_the_end(owner, budget)]
    replicas = sum(owner.row.replicas for owner in owners)
    expected = max(budget.expected_pods, replicas)
    if not any(owner.apart for owner in owners):
        return expected, expected
    pods = sum(_covered_in_the_end(owner, budget) for owner in owners)
    if isinstance(budget.min_available, int):
        count = max(budget.expected_pods, pods)
        return count, count
    return expected, pods + expected - replicas


def counts_on_more(books: Books, budget: PodDisruptionBudget) -> bool:
    """Whether the status of a budget counts on more pods than the owners of what it covers ask for: it is
    behind them, or covers pods of nobody known."""
    owners = [books.tallies[id_] for id_ in books.covers.get(budget.uid, ())]
    return budget.expected_pods > sum(owner.row.replicas for owner in owners)


def _covered_in_the_end(owner: Owner, budget: PodDisruptionBudget) -> int:
    """How many of its pods a budget covers when those that are missing are made."""
    if not owner.apart:
        return owner.row.replicas
    return len(covered(owner, budget.uid)) + (not_made(owner) if budget.uid in owner.budgets else 0)


def explained(books: Books, owner: Owner, pod: Pod) -> str:
    """What keeps a pod now: what its budget needs and has."""
    if (found := obstacle(books, owner, pod)) is not None:
        return found.message
    budget = budget_of(books, owner, pod)
    if budget is None:
        return f"{owner.ready} of {owner.row.replicas} pods are Ready; the others come first"
    if why := _not_known(budget):
        return why
    needs = _needs(budget)
    if (seen := healthy(books, budget)[0]) <= budget.desired_healthy < budget.current_healthy:
        return f"{needs}; its status says {budget.current_healthy}, and {seen} are Ready"
    has = f"{needs} and has {_number(budget)}"
    there = taken_for_evicted(books, budget)
    return f"{has}; it takes pod {there[0].name}, which is there, for evicted" if there else has


def explained_alone(budget: PodDisruptionBudget) -> str:
    """As `explained`, by what the budget says of itself."""
    return _not_known(budget) or f"{_needs(budget)} and has {_number(budget)}"


def _not_known(budget: PodDisruptionBudget) -> str:
    """Why it is not known what a budget allows; until it is, it allows nothing."""
    name = f"PodDisruptionBudget {_names([budget])}"
    if why := _uncountable(budget):
        return f"{name} cannot be counted by its controller: {why}"
    if budget.observed_generation < budget.generation:
        return f"{name} was changed and has not been looked at by its controller yet"
    return ""


def _needs(budget: PodDisruptionBudget) -> str:
    many = budget.desired_healthy
    return f"PodDisruptionBudget {_names([budget])} needs {many} healthy pod{'s' * (many != 1)}"


def _number(budget: PodDisruptionBudget) -> str:
    """How many it has: that these are just enough is why none may go."""
    many = budget.current_healthy
    return f"just {many}" if many == budget.desired_healthy else str(many)


def taken_for_evicted(books: Books, budget: PodDisruptionBudget) -> list[Pod]:
    """Pods that are there and Ready, and that the budget counts as going.

    Either a pod of a StatefulSet is back under the name of one that went before the disruption controller saw
    it go; or an eviction was granted and never carried out, because whoever asked for it was cut off.
    """
    if not budget.disrupted_pods:
        return []
    owners = [books.tallies[id_] for id_ in books.covers.get(budget.uid, ())]
    pods = [pod for owner in owners for pod in covered(owner, budget.uid)]
    return [pod for pod in pods if pod.ready and pod.name in budget.disrupted_pods]
