"""What is begun in a run that has to be over by some time, and in which order."""

from __future__ import annotations

import pytest

from tests.timebox import Timebox, dealt, in_turn, spent, summary
from tests.until import Given, Ticks


class Clock:
    """A computer of which a host takes a share."""

    def __init__(self, stolen: float) -> None:
        self.now, self._stolen = 0.0, stolen

    def __call__(self) -> float:
        return self.now

    def ticks(self) -> Ticks:
        return Ticks(round(self.now * 100), round(self.now * 100 * self._stolen))


def box(seconds: float, clock: Clock) -> Timebox:
    return Timebox(seconds, clock, Given(clock.ticks, clock))


@pytest.mark.parametrize(
    ("stolen", "at", "takes", "fits"),
    [
        (0.0, 0, 3600, True),
        (0.0, 0, 3601, False),
        (0.0, 3500, 100, True),
        (0.0, 3501, 100, False),
        (0.75, 3000, 150, True),
        (0.75, 3000, 151, False),
        (0.99, 1800, 90, True),
        (0.99, 1800, 91, False),
        (0.0, 4000, 0, False),
    ],
)
def test_a_test_is_begun_that_ends_in_time_as_fast_as_this_computer_has_been(
    stolen: float, at: float, takes: float, fits: bool
) -> None:
    clock = Clock(stolen)
    one = box(3600, clock)
    clock.now = at
    assert one.fits(takes) is fits


def file_of(name: str) -> str:
    return name.split("::", maxsplit=1)[0]


SLOW = ["t/a/1::x", "t/a/1::y", "t/a/2::x", "t/b/1::x", "t/c/1::x", "t/c/2::x", "t/c/3::x"]


def test_every_folder_has_its_turn_and_a_file_stays_together() -> None:
    assert in_turn(SLOW, file_of) == [
        "t/a/1::x",
        "t/a/1::y",
        "t/b/1::x",
        "t/c/1::x",
        "t/a/2::x",
        "t/c/2::x",
        "t/c/3::x",
    ]


def test_each_worker_begins_with_the_first_stage() -> None:
    quick = ["t/q/1::x", "t/q/2::x", "t/q/2::y"]
    assert dealt([quick, SLOW], 2, file_of) == [
        *["t/q/1::x", "t/a/1::x", "t/a/1::y", "t/c/1::x", "t/c/2::x"],
        *["t/q/2::x", "t/q/2::y", "t/b/1::x", "t/a/2::x", "t/c/3::x"],
    ]


def test_a_worker_has_what_pytest_xdist_gives_it() -> None:
    """The first of two has the smaller half, so that the second begins with its own first stage."""
    quick, long = [f"t/q/{n}::x" for n in range(2)], [f"t/l/1::{n}" for n in range(7)]
    found = dealt([quick, long], 2, file_of)
    assert found[:4] == ["t/q/0::x", "t/l/1::0", "t/l/1::1", "t/l/1::2"]
    assert found[4:] == ["t/q/1::x", "t/l/1::3", "t/l/1::4", "t/l/1::5", "t/l/1::6"]


def test_nothing_is_lost_and_nothing_comes_twice() -> None:
    assert sorted(dealt([[], SLOW], 3, file_of)) == sorted(SLOW)


def test_what_was_left_out_is_counted_by_folder() -> None:
    said = summary(["t/c/1::x", "t/a/1::x", "t/a/1::y"], 0.25)
    assert said.startswith("NOT RUN: 3 tests, ")
    assert said.endswith("this computer had 25% of its time (2 of t/a, 1 of t/c)")


def test_where_the_time_went_is_told_by_folder() -> None:
    assert spent([("t/a/1::x", 2.0), ("t/b/1::x", 1000.0), ("t/a/2::x", 3.4)]) == (
        "time of tests, of all workers: 1,005 s (1,000 s t/b, 5 s t/a)"
    )
