"""Which PodDisruptionBudgets cover each pod of a workload: by the labels of that pod, as the API server does.

Labels may be set at run time (a database's role), so pods of one workload may have different budgets. Pods
that are not made yet count by the template. Nearly all workloads have pods like their template: only those
that differ are noted (`Tally.apart`).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from shiplift.facts.pods import Pod
from shiplift.workloads.model import Tally


def budgets_of(tally: Tally, pod: Pod) -> tuple[str, ...]:
    """The budgets that cover a pod of the workload, by uid."""
    return tally.apart.get(pod.uid, tally.budgets) if tally.apart else tally.budgets


def covering(tally: Tally) -> tuple[str, ...]:
    """The budgets that cover any pod of the workload."""
    if not tally.apart:
        return tally.budgets
    own = tally.budgets if _some_as_template(tally) else ()
    return tuple(dict.fromkeys(chain(own, *tally.apart.values())))


def _some_as_template(tally: Tally) -> bool:
    """Whether a pod is covered as its template, or one is going to be made."""
    there = len(tally.pods) + len(tally.going)
    return len(tally.apart) < there or not_made(tally) > 0 or tally.rolling


def not_made(tally: Tally) -> int:
    """How many pods of the workload there should be and are not."""
    return max(tally.row.replicas - len(tally.pods), 0)


def covered(tally: Tally, budget: str) -> list[Pod]:
    """The pods of the workload, of those that stay, which a budget covers."""
    return [pod for pod in tally.pods if budget in budgets_of(tally, pod)]


def one_of_each(tally: Tally, pods: Iterable[Pod]) -> list[Pod]:
    """The first of these pods for each set of budgets that they have."""
    found: dict[tuple[str, ...], Pod] = {}
    for pod in pods:
        found.setdefault(budgets_of(tally, pod), pod)
    return list(found.values())
