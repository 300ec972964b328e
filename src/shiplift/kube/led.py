"""Leadership around what a layer writes: a leader that is none any more takes no step and tells nothing.

It is checked before each step, and by the client (`may_write`) whenever a change is about to be sent, retries
included. What slips through in the moment between is refused by the fence.

A Lease may be renewed late, and we lead again as if nothing had been: what was not told meanwhile is decided
anew a moment later, since no event may come that asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from shiplift.engine.barrier import Barrier
from shiplift.engine.decision import Decision, Requeue, requeue
from shiplift.engine.layer import Layer
from shiplift.engine.step import Outcome, Outcomes, Step
from shiplift.kube.lease import NotLeading

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
D = TypeVar("D", bound=Decision)
_LATE = timedelta(seconds=1)
"""Until what could not be told is looked at again."""


class Led(Generic[K, V, D]):
    """A layer, as long as we lead."""

    def __init__(self, layer: Layer[K, V, D], check: Callable[[], object]) -> None:
        self._layer, self._check = layer, check

    def observe(self, key: K, outcomes: Outcomes) -> V:
        return self._layer.observe(key, outcomes)

    def decide(self, view: V, now: datetime) -> D:
        return self._layer.decide(view, now)

    def act(self, step: Step) -> Outcome:
        try:
            self._check()
        except NotLeading as error:
            return Outcome.refused(step, str(error))
        return self._layer.act(step)

    def publish(self, key: K, decision: D) -> Iterable[Barrier | Requeue]:
        try:
            self._check()
        except NotLeading:
            return (requeue(_LATE),)
        return self._layer.publish(key, decision)
