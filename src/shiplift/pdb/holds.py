"""PodDisruptionBudgets by which a workload is held: they allow nothing for now, and are given back."""

from __future__ import annotations

from shiplift.api.marks import HELD_LABEL, HOLD_LEDGER, HOLD_PREFIX, is_made_hold
from shiplift.facts.workloads import PodDisruptionBudget
from shiplift.pdb.allowances import ALWAYS_ALLOW


def is_made_by_us(budget: PodDisruptionBudget) -> bool:
    """Whether a budget is ours, not merely a user's that we hold."""
    return is_made_hold(budget.labels, budget.name) or _has_lost_its_label(budget)


def _has_lost_its_label(budget: PodDisruptionBudget) -> bool:
    """Name and limits are those of our holds: somebody took the label off."""
    return (
        budget.name.startswith(HOLD_PREFIX)
        and budget.max_unavailable == 0
        and budget.unhealthy_policy == ALWAYS_ALLOW
    )


def is_hold(budget: PodDisruptionBudget) -> bool:
    """Whether a budget was made or changed by us to hold a workload."""
    return is_made_by_us(budget) or HOLD_LEDGER in budget.annotations or HELD_LABEL in budget.labels
