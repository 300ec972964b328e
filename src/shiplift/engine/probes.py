"""Probes: facts from outside the API server, which go stale, and what may be concluded from them.

A fact that is too old, was never taken, or is dated in the future is unknown. Unknown is neither true nor
false, and it never lets anything dangerous through: a `Truth` refuses to be used as a bool, so every gate has
to say `certain`, and what is unknown is not.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Generic, NoReturn, TypeVar

import msgspec

T = TypeVar("T")


class Truth(enum.Enum):
    """What is known of a statement (Kleene's three values)."""

    TRUE = "true"
    FALSE = "false"
    UNKNOWN = "unknown"

    @staticmethod
    def of(value: bool) -> Truth:
        return Truth.TRUE if value else Truth.FALSE

    @property
    def certain(self) -> bool:
        """Known to be true: the only question that may open a gate."""
        return self is Truth.TRUE

    def __and__(self, other: Truth) -> Truth:
        return all_of((self, other))

    def __or__(self, other: Truth) -> Truth:
        return any_of((self, other))

    def __invert__(self) -> Truth:
        return {Truth.TRUE: Truth.FALSE, Truth.FALSE: Truth.TRUE}.get(self, Truth.UNKNOWN)

    def __bool__(self) -> NoReturn:
        raise TypeError("a truth may be unknown: ask whether it is certain")


def all_of(truths: Iterable[Truth]) -> Truth:
    """True when all are; one false decides; otherwise unknown."""
    seen = set(truths)
    if Truth.FALSE in seen:
        return Truth.FALSE
    return Truth.UNKNOWN if Truth.UNKNOWN in seen else Truth.TRUE


def any_of(truths: Iterable[Truth]) -> Truth:
    """True when one is; all false decide; otherwise unknown."""
    return ~all_of(~truth for truth in truths)


class Known(msgspec.Struct, Generic[T], frozen=True):
    """A value fresh enough to act upon."""

    value: T
    age: timedelta


class Unknown(msgspec.Struct, frozen=True):
    """No value that may be acted upon, and why not."""

    why: str


class Probe(msgspec.Struct, Generic[T], frozen=True):
    """The last answer to a question asked outside, when it was taken, and how long it counts.

    `last` is for display only, whatever its age. Decisions ask `at` or `check`.
    """

    name: str
    max_age: timedelta
    last: T | msgspec.UnsetType = msgspec.UNSET
    taken: datetime | None = None
    error: str = ""

    def at(self, now: datetime) -> Known[T] | Unknown:
        """The value as far as it is known now."""
        if self.taken is None or self.last is msgspec.UNSET:
            return Unknown(f"{self.name} has not been answered yet{self._because()}")
        age = now - self.taken
        if age < timedelta(0):
            return Unknown(f"{self.name} is dated {-age} in the future")
        if age > self.max_age:
            return Unknown(f"{self.name} is {age} old, more than {self.max_age}{self._because()}")
        return Known(self.last, age)

    def check(self, now: datetime, statement: Callable[[T], bool]) -> Truth:
        """Whether the statement holds of the value; unknown when the value is."""
        found = self.at(now)
        return Truth.UNKNOWN if isinstance(found, Unknown) else Truth.of(statement(found.value))

    def answered(self, value: T, now: datetime) -> Probe[T]:
        """The same question with a new answer."""
        return msgspec.structs.replace(self, last=value, taken=now, error="")

    def failed(self, error: str) -> Probe[T]:
        """The question got no answer: the last one stays and goes on ageing."""
        return msgspec.structs.replace(self, error=error)

    def stale_at(self) -> datetime | None:
        """When the value stops counting, to look again by then."""
        return None if self.taken is None else self.taken + self.max_age

    def _because(self) -> str:
        return f": {self.error}" if self.error else ""
