"""An operator of any layer that can be interrupted anywhere, and how it plays with a cluster to the end.

A layer says how it decides, sends a step and publishes; its judge sees every moment of what happens.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, Protocol, TypeVar

import msgspec

from shiplift.engine.decision import Decision
from shiplift.engine.step import Outcome, Outcomes, Step
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.kube.store import Snapshot
from tests.model import nature
from tests.model.world import Heard, World

MOST_ROUNDS = 400
QUIET = 7
"""So many rounds without a change, and nothing more is going to happen."""
SLOW = 2
"""So many further decisions are made before a slow step takes effect."""
LATE = 6
"""Every so many rounds somebody whose news comes late hears of pods."""
A_WHILE = 40
"""Seconds; no step waits for longer."""
D = TypeVar("D", bound=Decision)


class Judge(Protocol):
    """Knows what has to be true at every moment."""

    def before(self, step: Step) -> None: ...

    def after(self, step: Step, *, done: bool) -> None: ...

    def look(self) -> None: ...


class News:
    """A store of the world: the pods as they were when it was last caught up with, all else as it is."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._waiting: list[tuple[Row | None, Row | None]] = []
        self._pods = world.frozen(kinds.POD)
        self._listeners: list[Heard] = []
        world.listeners.append(self._heard)

    def tell(self, listener: Heard) -> None:
        """From now on."""
        self._listeners.append(listener)

    def snapshot(self, *of: Kind) -> Snapshot:
        return Snapshot({kind: self._pods if kind == kinds.POD else self._world.frozen(kind) for kind in of})

    def catch_up(self) -> None:
        for old, new in self._waiting:
            self._pass_on(kinds.POD, old, new)
        self._waiting, self._pods = [], self._world.frozen(kinds.POD)

    def end(self) -> None:
        self._world.listeners.remove(self._heard)

    def _heard(self, kind: Kind, old: Row | None, new: Row | None) -> None:
        if kind == kinds.POD:
            self._waiting.append((old, new))
        else:
            self._pass_on(kind, old, new)

    def _pass_on(self, kind: Kind, old: Row | None, new: Row | None) -> None:
        for listener in self._listeners:
            listener(kind, old, new)


class Operator(ABC, Generic[D]):
    """One life of an operator: what it has learnt is lost with it.

    `slow`: steps put aside take effect some rounds after they are asked for. `late`: news of pods comes late.
    """

    def __init__(
        self, world: World, judge: Judge | None = None, *, slow: bool = False, late: bool = False
    ) -> None:
        self._world = world
        self._judge = judge
        self._slow = slow
        self._late = late
        self._rounds = 0
        self._waits_for_news = True
        self._under_way: dict[str, tuple[Step, int]] = {}
        self._unseen: set[str] = set()
        """Steps put aside that were made and that the news does not tell of yet."""
        self._news = News(world)
        self._outcomes = Outcomes()
        self.decision: D | None = None

    @abstractmethod
    def _decide(self, known: Outcomes) -> D:
        """Look and decide."""

    @abstractmethod
    def _send(self, step: Step) -> Outcome:
        """One write, and what the server makes of it."""

    @abstractmethod
    def _publish(self, decision: D) -> bool:
        """Write the status; whether anything in it is more than mere progress."""

    @abstractmethod
    def _shows_in_pods(self, step: Step) -> bool:
        """Whether the next round has to wait for news of pods after this step."""

    def die(self) -> None:
        self._news.end()

    @property
    def evicts(self) -> bool:
        """Whether an eviction is under way, or was made and is not seen yet."""
        return bool(self._under_way or self._unseen)

    def round(self, *, cut: int | None = None, backwards: bool = False, publishes: bool = True) -> bool:
        """Look, decide, act, tell; whether anything was done. `cut`: only so many of the steps are taken."""
        self._hear()
        running = frozenset({*self._under_way, *self._unseen})
        known = msgspec.structs.replace(self._outcomes, running=running)
        self.decision = decision = self._decide(known)
        ordered = decision.steps[::-1] if backwards else decision.steps
        new = [step for step in ordered[:cut] if step.key not in running]
        at_once = [step for step in new if not (step.aside and self._slow)]
        # what is under way takes effect only after it was decided again, and again
        due = [step for step, rounds in self._under_way.values() if rounds == 0]
        self._under_way = {
            step.key: (step, rounds - 1) for step, rounds in self._under_way.values() if rounds
        } | {step.key: (step, SLOW) for step in new if step not in at_once}
        done = [self._take(step) for step in (*at_once, *due)]
        self._outcomes = self._outcomes.remember(done, self._world.now)
        told = publishes and self._publish(decision)
        return told or self.evicts or any(one.ok for one in done)

    def _hear(self) -> None:
        """A round waits for the news of what was done in the one before it, but for steps put aside."""
        self._rounds += 1
        if not self._late or self._rounds % LATE == 0 or self._waits_for_news:
            self._news.catch_up()
            self._unseen.clear()
            self._waits_for_news = False

    def _take(self, step: Step) -> Outcome:
        if self._judge is not None:
            self._judge.before(step)
        outcome = self._send(step)
        if outcome.ok and step.aside:
            self._unseen.add(step.key)
        elif self._shows_in_pods(step):
            self._waits_for_news = True
        if self._judge is not None:
            self._judge.after(step, done=outcome.ok)
        return outcome


def run(world: World, operator: Operator[D], judge: Judge | None = None) -> None:
    """Until nothing changes any more."""
    quiet = 0
    for _ in range(MOST_ROUNDS):
        done, before = operator.round(), world.changes
        nature.tick(world)
        if judge is not None:
            judge.look()
        quiet = 0 if done or world.changes != before else quiet + 1
        if quiet:
            world.pass_time(A_WHILE)
        if quiet >= QUIET:
            return
    decision = operator.decision
    raise AssertionError(f"no end in sight: {decision.describe() if decision else ''}")
