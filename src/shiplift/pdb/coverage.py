"""Which PodDisruptionBudgets cover each pod of a workload: by the labels of that pod, as the API server does.

Labels may be set at run time (a database's role), so pods of one workload may have different budgets. Pods
that are not made yet count by the template. Nearly all workloads have pods like their template: only those
that differ are noted (`Owner.apart`).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from shiplift.facts.pods import Pod
from shiplift.pdb.model import Owner


def budgets_of(owner: Owner, pod: Pod) -> tuple[str, ...]:
    """The budgets that cover a pod of the workload, by uid."""
    return owner.apart.get(pod.uid, owner.budgets) if owner.apart else owner.budgets


def covering(owner: Owner) -> tuple[str, ...]:
    """The budgets that cover any pod of the workload."""
    if not owner.apart:
        return owner.budgets
    own = owner.budgets if _some_as_template(owner) else ()
    return tuple(dict.fromkeys(chain(own, *owner.apart.values())))


def _some_as_template(owner: Owner) -> bool:
    """Whether a pod is covered as its template, or one is going to be made."""
    there = len(owner.pods) + len(owner.evicting)
    return len(owner.apart) < there or not_made(owner) > 0 or owner.rolling


def not_made(owner: Owner) -> int:
    """How many pods of the workload there should be and are not."""
    return max(owner.row.replicas - len(owner.pods), 0)


def covered(owner: Owner, budget: str) -> list[Pod]:
    """The pods of the workload, of those that stay, which a budget covers."""
    return [pod for pod in owner.pods if budget in budgets_of(owner, pod)]


def one_of_each(owner: Owner, pods: Iterable[Pod]) -> list[Pod]:
    """The first of these pods for each set of budgets that they have."""
    found: dict[tuple[str, ...], Pod] = {}
    for pod in pods:
        found.setdefault(budgets_of(owner, pod), pod)
    return list(found.values())
