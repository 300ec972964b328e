"""Probes: facts from outside the API server, which go stale, and what may be concluded from them.

A fact that is too old, was never taken, or is dated in the future is unknown. Unknown is neither true nor
false, and it never lets anything dangerous through: a `Truth` refuses to be used as a bool, so every gate has
to say `certain`, and what is unknown is not.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable, Iterable
from datetime import datetime, timedelta
from typing import Generic, NoReturn, Protocol, TypeVar

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
    """Why the last attempt to ask got no answer."""
    ended: datetime | None = None
    """When the last attempt ended, well or not."""
    failures: int = 0
    """Attempts in a row that got no answer."""
    not_before: datetime | None = None
    """When who was asked wants to be asked again at the earliest."""

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
        return Probe(self.name, self.max_age, value, now, ended=now)

    def failed(self, error: str, now: datetime | None = None, wait: timedelta | None = None) -> Probe[T]:
        """The question got no answer: the last one stays and goes on ageing."""
        not_before = now + wait if now is not None and wait is not None else None
        return msgspec.structs.replace(
            self, error=error, ended=now, failures=self.failures + 1, not_before=not_before
        )

    def stale_at(self) -> datetime | None:
        """When the value stops counting, to look again by then."""
        return None if self.taken is None else self.taken + self.max_age

    def _because(self) -> str:
        return f": {self.error}" if self.error else ""


class Unanswered(Exception):  # noqa: N818 - says what the question is
    """Raised by who asks where no answer came; `wait` is for how long we were asked to wait."""

    def __init__(self, message: str, wait: timedelta | None = None) -> None:
        super().__init__(message)
        self.wait = wait


class Question(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """What to ask outside, on a thread of its own; an answer, or none, wakes the keys."""

    name: str
    ask: Callable[[], T]
    """Takes as long as it takes, and bounds that itself; raises `Unanswered` where no answer came."""
    max_age: timedelta
    """How long an answer counts."""
    keys: tuple[Hashable, ...] = ()
    every: timedelta | None = None
    """How long to wait between the end of an attempt and the next; None: only when it is asked for."""


class Asked(Protocol[T]):
    """A question that is being asked again and again, or when somebody wants it."""

    @property
    def probe(self) -> Probe[T]:
        """What is known now."""
        ...

    @property
    def pending(self) -> bool:
        """Whether it is being asked, or about to be."""
        ...

    def again(self) -> None:
        """Ask now; where it is being asked already, once more after that."""
        ...

    def close(self) -> None:
        """Ask it no more: nobody wants to know."""
        ...


class Probing(Protocol):
    """Asks the questions of one layer as long as its term lasts."""

    def open(self, question: Question[T]) -> Asked[T]: ...


class _Never(Generic[T]):
    def __init__(self, question: Question[T]) -> None:
        self.probe = Probe[T](question.name, question.max_age)
        self.pending = False

    def again(self) -> None:
        """Nobody is there to ask."""

    def close(self) -> None:
        """Nobody asks."""


class NobodyAsks:
    """For a layer that no operator runs: its questions stay unanswered."""

    def open(self, question: Question[T]) -> Asked[T]:
        return _Never(question)
