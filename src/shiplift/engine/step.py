"""Steps: what a decision asks to be done, one at a time, and what came of it.

A step is a value that can say itself; logs, Events, CLI and dashboard all use its one line, so their wording
never differs. Outcomes are advice for the next look: losing them in a crash costs a retry, never correctness.
"""

from __future__ import annotations

import enum
from abc import ABCMeta, abstractmethod
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import ClassVar

import msgspec

from shiplift.engine.barrier import Barrier

Field = str | int | float | bool


class _StepMeta(msgspec.StructMeta, ABCMeta):
    """Lets a Struct have abstract methods: a step that cannot say itself cannot be made."""


class Step(msgspec.Struct, metaclass=_StepMeta, frozen=True, tag=True):
    """One change to make now; subclasses carry what it needs and are told apart by their tag."""

    aside: ClassVar[bool] = False
    """Whether its round goes on without waiting for it: for steps that somebody else can hold up. The next
    decisions name it again as long as they want it, and see in `Outcomes.running` that it is under way."""

    @property
    @abstractmethod
    def key(self) -> str:
        """What makes it the same step when it is decided again: its verb and the identity of its target."""

    @property
    def identity(self) -> tuple[str, str]:
        """Of steps put aside, one of each identity is under way at a time."""
        return (self.key, "")

    @property
    def lane(self) -> str:
        """Steps put aside with the same lane are taken one after the other; without one, side by side."""
        return ""

    @abstractmethod
    def describe(self) -> str:
        """One line for people: lower case, no final period, names the object."""

    @property
    def change(self) -> str:
        """What it changes on what is not ours, by name; empty where it changes nothing of somebody else's."""
        return ""

    @property
    def takes_back(self) -> str:
        """The change that it takes back, by name or by its first words; empty where it takes none back."""
        return ""

    def undone_by_others(self) -> str:
        """What to tell where its change has to be made again: who undoes what, and what would help."""
        return ""

    def fields(self) -> dict[str, Field]:
        """Its plain values, for logs."""
        values = msgspec.structs.asdict(self)
        plain = {name: value for name, value in values.items() if isinstance(value, Field)}
        return {"step": type(self).__name__} | plain


class Started(msgspec.Struct, frozen=True, rename="camel"):
    """The persisted record of a long step: written before it starts, read back after a crash."""

    id: str
    started: datetime
    deadline: datetime
    attempt: int = 1

    @classmethod
    def begin(cls, operation: str, now: datetime, limit: timedelta, attempt: int = 1) -> Started:
        """A record to persist; its id names the attempt, so that a new one never attaches to an old one."""
        if limit <= timedelta(0):
            raise ValueError(f"operation {operation} has a limit of {limit}, which is over before it starts")
        return cls(f"{operation}-{attempt}", now, now + limit, attempt)

    def again(self, operation: str, now: datetime, limit: timedelta) -> Started:
        """The record of the next attempt."""
        return self.begin(operation, now, limit, self.attempt + 1)

    def overdue(self, now: datetime) -> bool:
        return now >= self.deadline

    def remaining(self, now: datetime) -> timedelta:
        return max(self.deadline - now, timedelta(0))


class Operation(Step, frozen=True):
    """A long step (a command on a machine, a download).

    It cannot be made without the record of its start, so the record has to be persisted and observed first.
    Acting on it twice attaches to what already runs under `started.id`; it never starts a second one.
    """

    aside: ClassVar[bool] = True
    started: Started

    @property
    def identity(self) -> tuple[str, str]:
        """This attempt at it: another attempt is another operation."""
        return (self.key, self.started.id)


class Answer(enum.Enum):
    """What came of a step."""

    OK = "ok"
    REFUSED = "refused"
    """Not now (429): nothing has changed, the same step may be taken later."""
    FAILED = "failed"
    """No: nothing has changed, and the same step would fail again unless something else changes."""
    UNKNOWN = "unknown"
    """Sent, and no answer came: it may or may not have happened."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a step was answered, and what the store must show before anyone decides again."""

    step: str
    answer: Answer
    message: str = ""
    retry_after: timedelta | None = None
    barriers: tuple[Barrier, ...] = ()
    attempt: int = 1
    at: datetime | None = None

    @classmethod
    def done(cls, step: Step, *barriers: Barrier, message: str = "") -> Outcome:
        return cls(step=step.key, answer=Answer.OK, message=message, barriers=barriers)

    @classmethod
    def refused(cls, step: Step, message: str, retry_after: timedelta | None = None) -> Outcome:
        return cls(step=step.key, answer=Answer.REFUSED, message=message, retry_after=retry_after)

    @classmethod
    def failed(cls, step: Step, message: str) -> Outcome:
        return cls(step=step.key, answer=Answer.FAILED, message=message)

    @classmethod
    def unknown(cls, step: Step, message: str, *barriers: Barrier) -> Outcome:
        return cls(step=step.key, answer=Answer.UNKNOWN, message=message, barriers=barriers)

    @property
    def ok(self) -> bool:
        return self.answer is Answer.OK


MOST_FAILING = 50_000
"""So many steps that do not go well are remembered at most."""


def _shorten(last: dict[str, Outcome], most: int) -> None:
    """What went well is forgotten first, the oldest before the rest: it says no more than nothing at all.
    What did not go well is kept, or it would be tried again without a pause."""
    too_many = len(last) - most
    for forgotten in [key for key, one in last.items() if one.ok][:too_many]:
        del last[forgotten]
    for forgotten in list(last)[: max(len(last) - MOST_FAILING, 0)]:
        del last[forgotten]


class Outcomes(msgspec.Struct, frozen=True):
    """What is remembered for one key: the last outcome of each step, newest last, a bounded number of them.

    `unsettled` names what the store should have shown by now and has not shown yet: read that live before
    deciding.
    `running` has the keys of steps put aside that are under way: taken, though nothing shows it yet.
    """

    last: Mapping[str, Outcome] = {}
    unsettled: tuple[Barrier, ...] = ()
    running: frozenset[str] = frozenset()
    most: int = 1000

    def of(self, step: Step) -> Outcome | None:
        return self.last.get(step.key)

    def remember(self, outcomes: Iterable[Outcome], now: datetime) -> Outcomes:
        """With these outcomes added: stamped, and each failure in a row counted."""
        last = dict(self.last)
        for outcome in outcomes:
            before = last.pop(outcome.step, None)
            attempt = before.attempt + 1 if before is not None and not before.ok else 1
            last[outcome.step] = msgspec.structs.replace(outcome, at=now, attempt=attempt)
        if len(last) > self.most:
            _shorten(last, self.most)
        return msgspec.structs.replace(self, last=last)

    def with_unsettled(self, barriers: Iterable[Barrier]) -> Outcomes:
        return msgspec.structs.replace(self, unsettled=tuple(dict.fromkeys(barriers))[-self.most :])
