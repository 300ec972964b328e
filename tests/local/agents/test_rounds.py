"""Whose turn it is: when due or woken, one at a time each, none forgotten."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from shiplift.local.agents.rounds import Rounds


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def due(rounds: Rounds, clock: Clock) -> list[str]:
    """Those that can be taken at this moment, taken."""
    taken: list[str] = []
    rounds.wake("~", clock.now)
    while (name := rounds.take()) != "~":
        assert name is not None
        taken.append(name)
    rounds.done("~", None)
    return taken


def test_who_is_due_comes_in_the_order_of_time() -> None:
    clock = Clock()
    rounds = Rounds(clock)
    rounds.wake("late", 2.0)
    rounds.wake("b", 1.0)
    rounds.wake("a")
    clock.now = 1.0
    assert due(rounds, clock) == ["a", "b"]
    clock.now = 2.0
    assert due(rounds, clock) == ["late"]


def test_the_earlier_of_two_times_counts_and_once() -> None:
    clock = Clock()
    rounds = Rounds(clock)
    rounds.wake("a", 5.0)
    rounds.wake("a", 1.0)
    rounds.wake("a", 3.0)
    clock.now = 1.0
    assert due(rounds, clock) == ["a"]
    rounds.done("a", None)
    clock.now = 10.0
    assert due(rounds, clock) == []


def test_who_is_woken_while_being_looked_at_is_looked_at_again_and_not_before() -> None:
    clock = Clock()
    rounds = Rounds(clock)
    rounds.wake("a")
    assert rounds.take() == "a"
    rounds.wake("a")
    assert due(rounds, clock) == []
    rounds.done("a", 100.0)
    assert due(rounds, clock) == ["a"]


def test_whoever_waits_is_let_go_at_the_end() -> None:
    rounds = Rounds(Clock())
    answers: list[str | None] = []
    waiting = threading.Thread(target=lambda: answers.append(rounds.take()))
    waiting.start()
    rounds.end()
    waiting.join(10)
    assert answers == [None]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5), st.booleans()), max_size=30))
def test_whoever_was_woken_is_looked_at(script: list[tuple[str, int, bool]]) -> None:
    clock = Clock()
    rounds = Rounds(clock)
    owed: set[str] = set()
    for name, at, look in script:
        rounds.wake(name, float(at))
        owed.add(name)
        if look:
            clock.now = float(at)
            for taken in due(rounds, clock):
                owed.discard(taken)
                rounds.done(taken, None)
    clock.now = 10.0
    assert set(due(rounds, clock)) == owed
