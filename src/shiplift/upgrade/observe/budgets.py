"""What PodDisruptionBudgets never allow, found before anything is begun: by what they say of themselves and
by how many pods the workloads that they cover ask for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from shiplift.facts.workloads import Deployment, PodDisruptionBudget, StatefulSet
from shiplift.pdb.index import BudgetIndex
from shiplift.pdb.verdicts import never_alone

Owner = Deployment | StatefulSet


def never_allowed(budgets: Iterable[PodDisruptionBudget], owners: Iterable[Owner]) -> tuple[str, ...]:
    """A line for each budget that never lets a pod go, and for each workload that two budgets cover."""
    known = {one.uid: one for one in budgets}
    index = BudgetIndex()
    for one in known.values():
        index.put(one)
    covered: dict[str, list[Owner]] = defaultdict(list)
    twice: list[str] = []
    for owner in owners:
        found = index.selecting(owner.namespace, owner.template_labels) if owner.replicas else ()
        for uid in found:
            covered[uid].append(owner)
        twice += _twice([known[uid] for uid in found], owner)
    return tuple(sorted([*_never(known, covered), *twice]))


def _never(known: dict[str, PodDisruptionBudget], covered: dict[str, list[Owner]]) -> Iterator[str]:
    for uid, budget in known.items():
        replicas = sum(one.replicas for one in covered[uid]) if uid in covered else None
        if why := never_alone(budget, replicas):
            yield why


def _twice(budgets: list[PodDisruptionBudget], owner: Owner) -> Iterator[str]:
    if len(budgets) > 1:
        names = " and ".join(sorted(f"{one.namespace}/{one.name}" for one in budgets))
        kind = type(owner).__name__
        yield f"PodDisruptionBudgets {names} both select pods of {kind} {owner.namespace}/{owner.name}"
