"""PodDisruptionBudgets by which a workload is held: they allow nothing for now, and are given back."""

from __future__ import annotations

from shiplift.api.marks import HOLD_LEDGER, is_made_hold
from shiplift.facts.workloads import PodDisruptionBudget


def is_made_by_us(budget: PodDisruptionBudget) -> bool:
    """Whether a budget is ours, not merely a user's that we hold."""
    return is_made_hold(budget.labels, budget.name)


def is_hold(budget: PodDisruptionBudget) -> bool:
    """Whether a budget was made or changed by us to hold a workload."""
    return is_made_by_us(budget) or HOLD_LEDGER in budget.annotations
