"""What keeps a pod that is to go: who or which budget, what that needs and has, and what would let it go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from shiplift.drain.holds import by_budget
from shiplift.drain.model import Hold, Wait, Why
from shiplift.facts.pods import Pod
from shiplift.facts.workloads import PodDisruptionBudget
from shiplift.pdb.allowances import allowed_alone, asks_no_budget, lets_unready_go
from shiplift.pdb.verdicts import Never, explained_alone, obstacle_alone, one_more_helps

_UNBLOCKS = {
    Never.TWO_BUDGETS: "leave one PodDisruptionBudget that selects it",
    Never.NOT_COUNTED: "let the budget cover other pods, or set its minAvailable to a number",
    Never.ALLOWS_NOTHING: "run one replica more, or let the budget allow one pod to be unavailable",
}
_FOLLOWS = "let the budget allow one pod to be unavailable: what it needs grows with the replicas"
_NOTED = "it counts an eviction that is still under way, for two minutes at most"
_GRANTED = "an eviction of it was granted and not carried out; that counts for two minutes at most"
_TAKEN = "it takes pod {}, which is there, for evicted; that counts for two minutes at most"
_NOT_SEEN = "its controller looks at it within seconds, where one runs"


Replicas = Callable[[PodDisruptionBudget], int | None]


def not_known(_: PodDisruptionBudget) -> None:
    return None


Taken = Callable[[PodDisruptionBudget], Sequence[str]]


def none_taken(_: PodDisruptionBudget) -> Sequence[str]:
    return ()


class Refusal(NamedTuple):
    """What the API server answered to the last attempt, and when to try again, in seconds since 1970."""

    message: str
    again: float


class Question(NamedTuple):
    """What is asked about a pod that is to go."""

    pod: Pod
    budgets: Sequence[PodDisruptionBudget]
    """All that select it."""
    left: int
    """How many Ready pods its budget has left to give in this plan."""
    replicas: Replicas = not_known
    """See `plan.Scene`."""
    taken: Taken = none_taken
    """Likewise."""
    hold: Hold | None = None
    refusal: Refusal | None = None
    """One that still counts."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(f"{one.namespace}/{one.name}" for one in self.budgets))


Gate = Callable[[Question], Wait | None]


def _held(asked: Question) -> Wait | None:
    found = asked.hold or next(filter(None, map(by_budget, asked.budgets)), None)
    if found is None or asked.pod.finished:
        return None
    return Wait(asked.pod, Why.HELD, str(found), asked.names, found.unblocks)


def _never(asked: Question) -> Wait | None:
    if is_free(asked.pod, asked.budgets):
        return None
    found = obstacle_alone(asked.budgets, asked.pod, asked.replicas)
    if found is None:
        return None
    follows = found.why is Never.ALLOWS_NOTHING and not one_more_helps(asked.budgets[0])
    unblocks = _FOLLOWS if follows else _UNBLOCKS[found.why]
    return Wait(asked.pod, Why(found.why.value), found.message, asked.names, unblocks)


def _exhausted(asked: Question) -> Wait | None:
    if is_free(asked.pod, asked.budgets) or asked.left > 0:
        return None
    (budget,) = asked.budgets
    if allowed_alone(budget):
        others = f"PodDisruptionBudget {asked.names[0]} lets other pods go first"
        return Wait(asked.pod, Why.AFTER_OTHERS, others, asked.names)
    needs = explained_alone(budget)
    return Wait(asked.pod, Why.BUDGET_EXHAUSTED, needs, asked.names, _lets_go(budget, asked))


def _refused(asked: Question) -> Wait | None:
    if asked.refusal is None:
        return None
    # a webhook, say, refuses what every budget allows
    names = asked.names if "disruption budget" in asked.refusal.message else ()
    return Wait(asked.pod, Why.REFUSED, asked.refusal.message, names, "it is tried again")


GATES: tuple[Gate, ...] = (_held, _never, _exhausted, _refused)


def keeping(asked: Question) -> Wait | None:
    """What keeps a pod; None where it may be evicted now."""
    return next(filter(None, (gate(asked) for gate in GATES)), None)


def is_free(pod: Pod, budgets: Sequence[PodDisruptionBudget]) -> bool:
    """Whether a pod takes nothing of what a budget has to give."""
    if not budgets or asks_no_budget(pod):
        return True
    return len(budgets) == 1 and not pod.ready and lets_unready_go(budgets[0])


def _lets_go(budget: PodDisruptionBudget, asked: Question) -> str:
    if budget.observed_generation < budget.generation:
        return _NOT_SEEN
    taken = asked.taken(budget) if budget.disrupted_pods else ()
    if others := [name for name in taken if name != asked.pod.name]:
        return _TAKEN.format(others[0])
    if asked.pod.ready and asked.pod.name in budget.disrupted_pods:
        # whoever asked for it was cut off before the API server had deleted the pod
        return _GRANTED
    missing = budget.desired_healthy + 1 - budget.current_healthy
    if missing <= 0:
        return _NOTED
    if budget.current_healthy >= budget.expected_pods:
        # all that there are are healthy: another one may be on its way, and none has to
        return _UNBLOCKS[Never.ALLOWS_NOTHING] if one_more_helps(budget) else _FOLLOWS
    return f"{missing} more of its pods {'has' if missing == 1 else 'have'} to become Ready"
