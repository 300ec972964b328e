"""Budgets that count a pod as going though it is there: left alone they let nobody go for two minutes."""

from __future__ import annotations

from datetime import datetime

from shiplift.drain.steps import TIME_TO_NOTICE, ForgetEviction
from shiplift.engine.step import Step
from shiplift.pdb.allowances import budget_of
from shiplift.pdb.verdicts import taken_for_evicted
from shiplift.workloads.decide.candidates import first_of_each
from shiplift.workloads.model import Tally, View


def forget_evictions(view: View, tally: Tally, now: datetime) -> tuple[tuple[Step, ...], tuple[float, ...]]:
    """What the budgets of a workload have to forget now, and in how many seconds to look again."""
    steps: dict[str, Step] = {}
    due: list[float] = []
    found = (budget_of(view, tally, pod) for pod in first_of_each(tally))
    for budget in filter(None, found):
        for pod in taken_for_evicted(view, budget):
            left = view.ready_at(pod) + TIME_TO_NOTICE - now.timestamp()
            step = ForgetEviction(budget.namespace, budget.name, budget.uid, pod.name, pod.uid)
            if left > 0:
                due.append(left)
            else:
                steps[step.key] = step
    return tuple(steps.values()), tuple(due)
