"""Undoing goes on until nothing is left, and says what it cannot undo."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta

import pytest

from shiplift.engine.barrier import Barrier, Seen
from shiplift.engine.decision import Decision
from shiplift.engine.step import Outcome, Step
from shiplift.facts.kinds import NODE
from shiplift.kube import undoing
from shiplift.kube.outcomes import SOON
from shiplift.kube.undoing import UndoError, Undoing, undo_until_clean


class Remove(Step, frozen=True):
    name: str

    @property
    def key(self) -> str:
        return f"remove {self.name}"

    def describe(self) -> str:
        return f"remove {self.name}"


class Rest(Decision, frozen=True):
    cleaning: bool = False


class Store:
    """Notes what it was asked to show."""

    def __init__(self) -> None:
        self.waited: list[Barrier] = []

    def wait_settled(self, barriers: Iterable[Barrier], timeout: float) -> bool:
        self.waited += barriers
        return True


class World:
    """Marks that can be removed; each answer is given once, then all is well."""

    def __init__(self, *marks: str, answers: Iterable[Outcome] = ()) -> None:
        self.marks = list(marks)
        self._answers: Iterator[Outcome] = iter(answers)
        self.late, self.blind, self.looked_at, self.waits = 0, "", "", ""
        self.store = Store()
        self.said: list[str] = []

    def decide(self) -> Rest:
        if self.marks:
            return Rest((Remove(self.marks[0]),))
        self.late -= 1
        return Rest(cleaning=self.late >= 0)

    def act(self, step: Step) -> Outcome:
        if answer := next(self._answers, None):
            return answer
        self.marks.pop(0)
        return Outcome.done(step, Seen(NODE, len(self.marks)))

    def undo(self, seconds: float = 600.0) -> tuple[int, Rest]:
        layer = Undoing(
            self.decide,
            self.act,
            left=lambda one: one.cleaning,
            blind=lambda _: self.blind,
            looks=lambda step: isinstance(step, Remove) and step.name == self.looked_at,
            waits=lambda _: self.waits,
        )
        return undo_until_clean(layer, self.store, self.said.append, seconds)


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What would have been waited for."""
    waited: list[float] = []
    monkeypatch.setattr(undoing.time, "sleep", waited.append)
    return waited


def test_it_ends_when_nothing_is_left_and_counts_what_it_changed() -> None:
    world = World("a", "b")
    changes, last = world.undo()
    assert (changes, last) == (2, Rest())
    assert world.said == ["remove a: ok", "remove b: ok"]
    assert len(world.store.waited) == 2


def test_a_step_that_only_looks_is_neither_told_nor_counted_and_not_hurried(pauses: list[float]) -> None:
    world = World("look", "a")
    world.looked_at = "look"
    assert world.undo()[0] == 1
    assert world.said == ["remove a: ok"]
    assert len(pauses) == 1


def test_what_is_still_going_is_waited_for(pauses: list[float]) -> None:
    world = World("a")
    world.late = 3
    assert world.undo()[0] == 1
    assert len(pauses) == 3


def test_what_is_waited_for_is_said_at_once_and_every_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(range(0, 1000, 4))
    monkeypatch.setattr(undoing.time, "monotonic", lambda: float(next(times)))
    world = World("a")
    world.late, world.waits = 8, "waits for node-1: its agent has begun"
    assert world.undo()[0] == 1
    assert world.said[0] == "remove a: ok"
    assert 2 <= world.said.count("waits for node-1: its agent has begun") < 8


def test_that_somebody_else_was_faster_is_not_said_where_the_next_attempt_works(pauses: list[float]) -> None:
    world = World("a", answers=[Outcome.refused(Remove("a"), "somebody else was faster", SOON)])
    assert world.undo()[0] == 1
    assert world.said == ["remove a: ok"]
    assert len(pauses) == 1


def test_what_is_refused_for_now_is_tried_again(pauses: list[float]) -> None:
    refused = Outcome.refused(Remove("a"), "busy", timedelta(seconds=1))
    world = World("a", answers=[refused])
    assert world.undo()[0] == 1
    assert world.said == ["remove a: tried again (busy)", "remove a: ok"]
    assert len(pauses) == 1


def test_what_can_never_be_done_ends_it_and_is_named() -> None:
    world = World("a", answers=[Outcome.failed(Remove("a"), "forbidden")])
    with pytest.raises(UndoError, match="remove a: forbidden") as refused:
        world.undo()
    assert refused.value.hint == "may this user change it?"


def test_it_does_not_go_on_for_ever() -> None:
    world = World()
    world.late = 1_000_000_000
    with pytest.raises(UndoError, match="there is still something of ours left"):
        world.undo(0.05)


def test_what_cannot_be_seen_is_named_at_once_and_ends_it_where_that_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, now = World(), [0.0]
    world.late, world.blind = 1_000_000_000, "what is known of nodes may be old"

    def pass_time(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(undoing.time, "sleep", pass_time)
    monkeypatch.setattr(undoing.time, "monotonic", lambda: now[0])
    with pytest.raises(UndoError, match="what is known of nodes may be old"):
        world.undo()
    assert world.said == [world.blind]
    assert now[0] == undoing.SETTLE_SECONDS


def test_what_cannot_be_seen_for_a_moment_ends_nothing() -> None:
    world = World()
    world.late, world.blind = 2, "what is known of nodes may be old"
    assert world.undo()[0] == 0
