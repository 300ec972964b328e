"""A deadline counts the time that the computer had."""

from __future__ import annotations

import pytest

from tests.until import Given, Ticks, read_ticks, until


@pytest.mark.parametrize(
    ("stolen", "expected"), [(0, 10.0), (50, 7.5), (200, 0.0)], ids=["none", "a quarter", "all"]
)
def test_what_a_host_takes_does_not_count(stolen: int, expected: float) -> None:
    ticks, clock = iter([Ticks(1000, 300), Ticks(1200, 300 + stolen)]), iter([5.0, 15.0])
    assert Given(lambda: next(ticks), lambda: next(clock)).seconds() == pytest.approx(expected)


def test_between_two_ticks_nothing_is_added_and_nothing_lost() -> None:
    ticks = iter([Ticks(1000, 0), Ticks(1000, 0), Ticks(1010, 0)])
    clock = iter([5.0, 5.001, 5.1])
    given = Given(lambda: next(ticks), lambda: next(clock))
    assert given.seconds() == 0
    assert given.seconds() == pytest.approx(0.1)


def test_this_computer_tells() -> None:
    assert read_ticks().all > read_ticks().stolen >= 0


def test_what_does_not_come_is_told_with_the_last_answer() -> None:
    with pytest.raises(AssertionError, match=r"not within 0.05 s; the last answer was \[\]"):
        until(list, seconds=0.05)
