"""How long a step waits after a refusal: what the server asked for, and longer with each failure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from shiplift.engine.step import Answer, Outcomes, Step
from shiplift.workloads.model import Taken
from shiplift.workloads.steps import change_of

_LONGEST = timedelta(seconds=30)
_MOST_DOUBLINGS = 6
_SOON_ENOUGH = 8
"""So often a refusal that is everyday is answered by trying again at once."""
NOW = timedelta(0)


def wait(outcomes: Outcomes, step: Step, now: datetime) -> timedelta:
    """How much of its wait is left; nothing for a step that was never refused."""
    last = outcomes.of(step)
    if last is None or last.at is None:
        return NOW
    pause = last.retry_after or NOW
    if last.answer is Answer.FAILED:
        pause = max(pause, min(timedelta(seconds=2 ** min(last.attempt - 1, _MOST_DOUBLINGS)), _LONGEST))
    elif last.attempt > _SOON_ENOUGH:
        growth = timedelta(seconds=2 ** min(last.attempt - _SOON_ENOUGH - 1, _MOST_DOUBLINGS))
        pause = max(pause, min(growth, _LONGEST)) if not last.ok else pause
    return max(last.at + pause - now, NOW)


def undone(taken: Mapping[str, Taken], step: Step, now: datetime) -> timedelta:
    """How long to leave alone what somebody else undoes again and again."""
    last = taken.get(change_of(step))
    if last is None:
        return NOW
    pause = min(timedelta(seconds=2 ** min(last.times, _MOST_DOUBLINGS)), _LONGEST)
    return max(last.at + pause - now, NOW)
