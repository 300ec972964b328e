"""Changes to what is not ours, remembered by what they change: one that is needed again was undone by
somebody.

Such a change is made again ever more slowly, and told, so that two controllers do not fight at full speed in
silence. Losing what is remembered costs one more round of the fight.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

import msgspec

from shiplift.engine.backoff import Backoff
from shiplift.engine.step import Step

NOW = timedelta(0)
_PEACE = timedelta(minutes=10)
"""What was left alone for so long was not contested."""
_GROWING = Backoff(first=timedelta(seconds=2), cap=timedelta(seconds=30), jitter=0.0)


class Made(msgspec.Struct, frozen=True):
    """How often a change was made, and when last."""

    times: int
    at: datetime
    line: str = ""
    """What to tell where it was undone."""


Changes = Mapping[str, Made]
"""By `Step.change`."""


class Memory:
    """The changes that were made; steps note them from many threads, one at a time for each change."""

    def __init__(self) -> None:
        self.changes: dict[str, Made] = {}

    def note(self, step: Step, now: datetime) -> None:
        """The step was taken: what it changes is changed, what it takes back was never contested."""
        if step.takes_back:
            self._take_back(step.takes_back, but=step.change)
        if step.change:
            before = self.changes.get(step.change)
            again = before is not None and now - before.at < _PEACE
            times = before.times + 1 if before and again else 1
            self.changes[step.change] = Made(times, now, step.undone_by_others())

    def _take_back(self, name: str, but: str) -> None:
        """The change of that name, and all whose names begin with its words."""
        for change in list(self.changes):
            if change != but and (change == name or change.startswith(f"{name} ")):
                self.changes.pop(change, None)

    def forget(self, prefix: str = "") -> None:
        """All changes whose name begins so."""
        for change in list(self.changes):
            if change.startswith(prefix):
                self.changes.pop(change, None)

    def forget_old(self, now: datetime) -> None:
        """What was left alone for so long that it counts as made for the first time when it is made again."""
        for change, made in list(self.changes.items()):
            if now - made.at >= _PEACE:
                self.changes.pop(change, None)


def wait(changes: Changes, step: Step, now: datetime) -> timedelta:
    """How long to leave alone what somebody else undoes again and again."""
    last = changes.get(step.change) if step.change else None
    if last is None:
        return NOW
    return max(last.at + _GROWING.delay(last.times, 0.0) - now, NOW)


def told(changes: Changes, steps: Iterable[Step]) -> Iterator[str]:
    """A line for each of the steps that has been taken before, and is needed again."""
    for step in steps:
        if step.change in changes and (line := step.undone_by_others()):
            yield line


def lately(changes: Changes, steps: Iterable[Step], now: datetime) -> Iterator[str]:
    """What is told of these steps; and of what had to be made again, until it has been left alone for so long
    that nobody undoes it any more: who does may only come by every few minutes."""
    needed = tuple(steps)
    yield from told(changes, needed)
    names = {step.change for step in needed}
    for change, made in changes.items():
        if change not in names and made.times > 1 and now - made.at < _PEACE and made.line:
            yield made.line
