"""Waits after faults: short at first, long in the end, and not the same for all."""

from __future__ import annotations

from itertools import accumulate

import pytest

from shiplift.agent.patience import FIRST, LONGEST, pause


def test_the_first_wait_is_a_second_and_none_is_shorter_than_the_one_before() -> None:
    waits = [pause(faults, 0.0) for faults in range(1, 40)]
    assert waits[:3] == [1.0, 1.5, 2.25]
    assert waits == sorted(waits)
    assert (waits[0], waits[-1]) == (FIRST, LONGEST)


@pytest.mark.parametrize("faults", [1, 5, 40, 10**9])
def test_waits_are_spread_upwards_and_never_longer_than_a_minute(faults: int) -> None:
    shortest = pause(faults, 0.0)
    assert pause(faults, 0.5) == 1.25 * shortest
    assert shortest < pause(faults, 0.99) < 60


@pytest.mark.parametrize("away", [5, 20, 40])
def test_of_a_server_that_was_away_for_a_while_is_heard_soon(away: float) -> None:
    asked = accumulate(pause(faults, 0.0) for faults in range(1, 40))
    assert next(at for at in asked if at >= away) <= 1.5 * away + FIRST
