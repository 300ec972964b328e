"""A decision: what to do now, and when to look again.

Its steps do not depend on each other and come in a stable order, so the same view always gives the same
decision. It ends in `requeue(after)` or `await_change()`, nothing else.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import msgspec

from shiplift.engine.step import Step


class Requeue(msgspec.Struct, frozen=True, tag=True):
    """Look again after this long, or when something changes, whichever comes first."""

    after: timedelta


class AwaitChange(msgspec.Struct, frozen=True, tag=True):
    """Look again only when something changes in the cluster or a probe is answered."""


LookAgain = Requeue | AwaitChange


def requeue(after: timedelta) -> Requeue:
    """For what no event will announce: a deadline, a window that opens, a probe that goes stale."""
    return Requeue(max(after, timedelta(0)))


def await_change() -> AwaitChange:
    """For what an event will announce: an object of ours or of the cluster changes."""
    return AwaitChange()


def earliest(*looks: LookAgain) -> LookAgain:
    """The soonest of several; only changes when none has a time."""
    times = [look.after for look in looks if isinstance(look, Requeue)]
    return Requeue(min(times)) if times else AwaitChange()


class Decision(msgspec.Struct, frozen=True):
    """What follows from one view; what a layer tells it adds in a subclass."""

    steps: tuple[Step, ...] = ()
    look_again: LookAgain = AwaitChange()

    def __post_init__(self) -> None:
        counts = Counter(step.key for step in self.steps)
        twice = [key for key, count in counts.items() if count > 1]
        if twice:
            raise ValueError(f"step {twice[0]} is in one decision {counts[twice[0]]} times")

    @property
    def look_again_after(self) -> timedelta | None:
        return self.look_again.after if isinstance(self.look_again, Requeue) else None

    def describe(self) -> tuple[str, ...]:
        """A line for each step."""
        return tuple(step.describe() for step in self.steps)
