"""The benchmark's own figures: an outage on virtual time costs no more calls than the backoff allows."""

from __future__ import annotations

from datetime import timedelta

import pytest

from benchmarks.policy.outage import outage, worst
from benchmarks.policy.run import AT_MOST

MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize("period", [timedelta(seconds=10), MINUTE, timedelta(hours=1), timedelta(days=1)])
def test_an_outage_is_within_its_bounds(period: timedelta) -> None:
    calls, recovery = worst(period, rounds=30)
    assert 0 < calls <= AT_MOST["calls_in_outage_vs_backoff"]
    assert 0 < recovery <= AT_MOST["recovery_steps"]


def test_calls_are_counted_as_the_backoff_has_them() -> None:
    """At 0, 1, 3 and 7 minutes of ten."""
    found = outage(timedelta(hours=1), 10 * MINUTE, lambda: 0.5)
    assert (found.calls, found.recovery) == (4, 5 * MINUTE)
    assert found.allowed >= found.calls
