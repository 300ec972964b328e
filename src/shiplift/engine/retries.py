"""The one rule for when a step is tried again: decisions leave out what still waits, and the loop looks again
when a wait is over.

A step is left alone for as long as the server asked, and a step that failed for longer with each failure in a
row. A refusal is everyday (a budget has nothing to give, an object has moved on): whatever happens in the
cluster is a reason to try at once, until it has been refused so often that nothing seems to change. Where no
event announces that a refusal is over, the loop looks again by itself, ever more slowly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import TypeVar

import msgspec

from shiplift.engine.backoff import Backoff
from shiplift.engine.decision import Decision, earliest, requeue
from shiplift.engine.step import Answer, Outcome, Outcomes, Step

D = TypeVar("D", bound=Decision)

EVERYDAY = 8
"""So often a step may be refused before it is left alone between two attempts."""
NOW = timedelta(0)
_GROWING = Backoff(first=timedelta(seconds=1), cap=timedelta(seconds=30), jitter=0.0)


def pause(outcome: Outcome) -> timedelta:
    """For how long after its outcome a step is not tried again."""
    asked = outcome.retry_after or NOW
    if outcome.answer is Answer.FAILED:
        return max(asked, _GROWING.delay(outcome.attempt, 0.0))
    if not outcome.ok and outcome.attempt > EVERYDAY:
        return max(asked, _GROWING.delay(outcome.attempt - EVERYDAY, 0.0))
    return asked


def wait(outcomes: Outcomes, step: Step, now: datetime) -> timedelta:
    """How much of its pause is left; nothing for a step that was never refused."""
    last = outcomes.of(step)
    if last is None or last.at is None:
        return NOW
    return max(last.at + pause(last) - now, NOW)


def look_after(outcome: Outcome, backoff: Backoff, chance: float) -> timedelta:
    """When to look again though nothing has happened; at once after what went well."""
    if outcome.ok:
        return NOW
    return pause(outcome) or backoff.delay(outcome.attempt, chance)


def only_due(decision: D, left: Callable[[Step], timedelta]) -> D:
    """The decision without the steps of which some wait is left, and a look when the first wait is over."""
    waits = [left(step) for step in decision.steps]
    if not any(waits):
        return decision
    due = tuple(step for step, one in zip(decision.steps, waits, strict=True) if not one)
    soonest = requeue(min(one for one in waits if one))
    return msgspec.structs.replace(decision, steps=due, look_again=earliest(decision.look_again, soonest))


def has_failed(outcome: Outcome | None) -> bool:
    """Whether somebody has to know: it failed, or it was refused, or not answered, more often than is
    everyday."""
    if outcome is None or outcome.ok:
        return False
    return outcome.answer is Answer.FAILED or outcome.attempt > EVERYDAY


def failure(outcomes: Outcomes, step: Step) -> str:
    """What a step was answered that failed when it was last tried; empty where it did not."""
    last = outcomes.of(step)
    return last.message if last is not None and has_failed(last) else ""


def failures(outcomes: Outcomes, steps: Iterable[Step]) -> Iterator[str]:
    """A line for each of the steps that failed when it was last tried."""
    for step in steps:
        if why := failure(outcomes, step):
            yield f"{step.describe()}: {why}"
