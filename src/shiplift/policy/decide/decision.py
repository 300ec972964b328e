"""One look: what to do about the UpgradeConfig, whether to ask the provider, what to report, what to tell."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from shiplift.engine import retries
from shiplift.engine.decision import requeue
from shiplift.engine.step import Step
from shiplift.policy.config import Provider
from shiplift.policy.decide import reports, schedule
from shiplift.policy.decide.gates import Case, judged
from shiplift.policy.model import Judgement, Syncing, View
from shiplift.policy.steps import Ask
from shiplift.policy.tell.report import recorded, told_policy

LOOK = timedelta(minutes=1)
"""The settings are read again at least as often."""
_SOON = timedelta(seconds=1)
"""What is old now is fresh in a moment, and no event says so."""


def decide(view: View, now: datetime) -> Syncing:
    """What follows from the view."""
    if view.config is None:
        record = recorded(view, "", view.config_trouble, now)
        return Syncing(look_again=requeue(LOOK), record=record)
    case = Case(view, view.config, now)
    judgement = judged(case)
    asks, soonest = _asks(case)
    steps = (*judgement.steps, *asks, *reports.steps(view, view.config, now))
    trouble = _trouble(view, judgement, steps)
    decision = Syncing(
        steps,
        requeue(min(LOOK, soonest, _SOON if view.unsure else LOOK)),
        record=recorded(view, case.provider, trouble, now),
        told=told_policy(view, case.provider, judgement, trouble),
    )
    return retries.only_due(decision, lambda step: retries.wait(view.outcomes, step, now))


def _asks(case: Case) -> tuple[tuple[Step, ...], timedelta]:
    """To ask now, or how long that has time."""
    asking = case.view.asking
    if case.config.provider is Provider.LOCAL or asking.pending:
        return (), LOOK
    left = schedule.left(case.view, case.config, case.now)
    if left > timedelta(0):
        return (), left
    return (Ask(case.provider, schedule.purpose(case.view, case.config), asking.attempts),), LOOK


def _trouble(view: View, judgement: Judgement, steps: Iterable[Step]) -> str:
    """All that somebody should know, in one line."""
    lines = (view.config_trouble, judgement.trouble, *retries.failures(view.outcomes, steps))
    return "; ".join(one for one in lines if one)
