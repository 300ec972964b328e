"""What a layer brings to the loop, what the loop tells in return, and how it paces itself."""

from __future__ import annotations

import enum
from collections.abc import Hashable, Iterable
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

import msgspec

from shiplift.engine.backoff import Backoff
from shiplift.engine.barrier import Barrier
from shiplift.engine.decision import Decision, Requeue
from shiplift.engine.step import Outcome, Outcomes, Step

K_contra = TypeVar("K_contra", bound=Hashable, contravariant=True)
V = TypeVar("V")
D = TypeVar("D", bound=Decision)


class Retry(Exception):  # noqa: N818 - says what to do
    """Raised by a layer where nothing is wrong with it: the same again a little later."""


class Layer(Protocol[K_contra, V, D]):
    """What a layer brings; the loop does the rest."""

    def observe(self, key: K_contra, outcomes: Outcomes) -> V:
        """Gather what there is to know: reads only."""
        ...

    def decide(self, view: V, now: datetime) -> D:
        """Conclude from the view what to do: pure."""
        ...

    def act(self, step: Step) -> Outcome:
        """Take one step."""
        ...

    def publish(self, key: K_contra, decision: D) -> Iterable[Barrier | Requeue]:
        """Write what the decision tells where people see it, after its steps; say what to wait for, write by
        write: each that is said is progress to liveness.

        What is not worth a write now can be put off: a `Requeue` has the key looked at again after that.
        """
        ...


class Stage(enum.Enum):
    """Where in a round something can go wrong."""

    OBSERVE = "observe"
    DECIDE = "decide"
    ACT = "act"
    PUBLISH = "publish"
    SETTLE = "settle"


class Hooks:
    """What a metrics module overrides; called outside the lock, and an error in one is only logged."""

    def decided(self, decision: Decision, seconds: float) -> None:
        """A view was observed and decided upon."""

    def acted(self, step: Step, outcome: Outcome, seconds: float) -> None:
        """A step or an operation was answered."""

    def failed(self, stage: Stage) -> None:
        """A layer raised."""

    def retried(self, stage: Stage) -> None:
        """A layer could not do what it has to, and tries again."""

    def unsettled(self, barriers: tuple[Barrier, ...]) -> None:
        """The store did not show our own writes in time."""


class Settings(msgspec.Struct, frozen=True):
    """How a loop paces itself."""

    debounce: timedelta = timedelta(milliseconds=50)
    steps: int = 8
    aside: int = 48
    operations: int = 16
    settle: timedelta = timedelta(seconds=30)
    backoff: Backoff = Backoff()
    idle: timedelta = timedelta(seconds=5)
