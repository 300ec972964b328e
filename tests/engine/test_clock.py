"""The time of a process goes on, whatever is done to the computer's clock."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.engine import clock, retries
from shiplift.engine.clock import Steady
from shiplift.engine.loop import SystemClock
from shiplift.engine.step import Outcome, Outcomes
from tests.engine.loop_bench import Do

HOUR = 3600.0


class Computer:
    """Both clocks of a computer; `of_day` can be set."""

    def __init__(self) -> None:
        self.of_day, self.passed = 1_800_000_000.0, 50.0
        self.steady = Steady(lambda: self.of_day, lambda: self.passed)

    def wait(self, seconds: float) -> None:
        self.of_day += seconds
        self.passed += seconds

    def now(self) -> datetime:
        return self.steady.now()


def test_it_is_the_time_of_day():
    computer = Computer()
    assert computer.now() == datetime.fromtimestamp(1_800_000_000, UTC)
    computer.wait(7)
    assert computer.now() == datetime.fromtimestamp(1_800_000_007, UTC)


def test_a_refusal_of_200_ms_waits_for_200_ms_though_the_clock_is_set_back_an_hour():
    computer = Computer()
    refused = Outcome.refused(Do("x"), "not now", timedelta(milliseconds=200))
    known = Outcomes().remember([refused], computer.now())
    computer.of_day -= HOUR
    assert retries.wait(known, Do("x"), computer.now()) == timedelta(milliseconds=200)
    computer.wait(0.25)
    assert not retries.wait(known, Do("x"), computer.now())


def test_a_clock_that_was_late_is_believed():
    """It was wrong when the process began, or the machine slept."""
    computer = Computer()
    computer.now()
    computer.of_day += HOUR
    assert computer.now() == datetime.fromtimestamp(1_800_000_000 + HOUR, UTC)


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(-HOUR, HOUR)), max_size=20))
def test_it_never_goes_back_and_never_slower_than_time_passes(happenings: list[tuple[float, float]]):
    computer = Computer()
    before = computer.now()
    for passes, is_set in happenings:
        computer.wait(passes)
        computer.of_day += is_set
        now = computer.now()
        assert now - before >= timedelta(seconds=passes) - timedelta(milliseconds=1)
        before = now


def test_all_of_a_process_go_by_one_clock(monkeypatch: pytest.MonkeyPatch):
    computer = Computer()
    monkeypatch.setattr(clock, "now", computer.now)
    assert SystemClock().now() == datetime.fromtimestamp(1_800_000_000, UTC)


def test_its_time_is_that_of_the_computer():
    assert abs(clock.now() - datetime.now(UTC)) < timedelta(hours=1)
