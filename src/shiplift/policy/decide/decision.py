"""One look: what to do about the UpgradeConfig, whether to ask the provider, what to report, what to tell."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from shiplift.api.marks import PROVIDER_LABEL
from shiplift.engine import contested, retries
from shiplift.engine.decision import requeue
from shiplift.engine.step import Step
from shiplift.policy.config import Provider
from shiplift.policy.decide import reports, schedule
from shiplift.policy.decide.gates import Case, as_told, judged
from shiplift.policy.model import Judgement, Syncing, View
from shiplift.policy.steps import Ask, Replace
from shiplift.policy.tell.report import recorded, told_policy

LOOK = timedelta(minutes=1)
"""The settings are read again at least as often."""
_SOON = timedelta(seconds=1)
"""What is old now is fresh in a moment, and no event says so."""


def decide(view: View, now: datetime) -> Syncing:
    """What follows from the view."""
    if view.config is None:
        return _unset(view, now)
    case = Case(view, view.config, now)
    judgement = judged(case)
    asks, soonest = _asks(case)
    steps = (*_after_reports(case, judgement), *asks, *reports.steps(view, view.config, now))
    trouble = _trouble(case, judgement, steps)
    decision = Syncing(
        steps,
        requeue(min(LOOK, soonest, _SOON if view.unsure else LOOK)),
        record=recorded(view, case.provider, trouble, now),
        told=told_policy(view, case.provider, judgement, trouble),
        alarm=_unkept(case),
    )
    return retries.only_due(
        decision,
        lambda step: max(
            retries.wait(view.outcomes, step, now),
            contested.wait(view.changes, step, now),
            reports.wait(case.view, case.config, step, now),
        ),
    )


def _unset(view: View, now: datetime) -> Syncing:
    """There never were settings that can be used: an UpgradeConfig that came from a provider says so too."""
    of_provider = view.current is not None and PROVIDER_LABEL in view.current.labels
    judgement = as_told(view, view.config_trouble)
    return Syncing(
        look_again=requeue(LOOK),
        record=recorded(view, "", view.config_trouble, now),
        told=told_policy(view, "", judgement, view.config_trouble) if of_provider else None,
    )


def _after_reports(case: Case, judgement: Judgement) -> tuple[Step, ...]:
    """What is to be told of a policy is noted before another takes its place: after that nobody knows it."""
    if reports.all_noted(case.view, case.config, case.now):
        return judgement.steps
    return tuple(step for step in judgement.steps if not isinstance(step, Replace))


def _asks(case: Case) -> tuple[tuple[Step, ...], timedelta]:
    """To ask now, or how long that has time."""
    asking = case.view.asking
    if case.config.provider is Provider.LOCAL or asking.pending:
        return (), LOOK
    left = schedule.left(case.view, case.config, case.now)
    if left > timedelta(0):
        return (), left
    return (Ask(case.provider, schedule.purpose(case.view, case.config), asking.attempts),), LOOK


def _unkept(case: Case) -> str:
    """Why nobody finds out from our record how the sync is going; empty where they do, or need not."""
    why = case.view.record_trouble if case.config.provider is not Provider.LOCAL else ""
    return f"how the sync is going cannot be kept: {why}" if why else ""


def _trouble(case: Case, judgement: Judgement, steps: Sequence[Step]) -> str:
    """All that somebody should know, in one line."""
    view = case.view
    lines = (
        view.config_trouble,
        judgement.trouble,
        _unkept(case),
        reports.unreadable(view, case.config),
        *retries.failures(view.outcomes, steps),
        *contested.lately(view.changes, steps, case.now),
    )
    return "; ".join(one for one in lines if one)
