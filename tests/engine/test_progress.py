"""How far something is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from shiplift.engine.progress import estimate, overdue, since

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def test_what_stays_the_same_has_been_so_since_it_was_told() -> None:
    assert since(NOW - MINUTE, NOW, same=True) == NOW - MINUTE
    assert since(NOW - MINUTE, NOW, same=False) == NOW
    assert since(None, NOW, same=True) == NOW


def test_no_change_for_as_long_as_the_limit_is_overdue() -> None:
    assert overdue(NOW - 9 * MINUTE, NOW, 10 * MINUTE) is None
    assert overdue(NOW - 10 * MINUTE, NOW, 10 * MINUTE) == 10 * MINUTE


@pytest.mark.parametrize(("done", "total"), [(0, 10), (10, 10), (11, 10), (0, 0)])
def test_without_a_pace_or_without_a_rest_there_is_no_estimate(done: int, total: int) -> None:
    assert estimate(NOW - MINUTE, done, total, NOW) is None


def test_an_estimate_goes_by_the_pace_so_far() -> None:
    found = estimate(NOW - 2 * MINUTE, 2, 6, NOW)
    assert found is not None
    assert (found.likely, found.earliest, found.latest) == (
        NOW + 4 * MINUTE,
        NOW + 2 * MINUTE,
        NOW + 8 * MINUTE,
    )
    assert estimate(None, 2, 6, NOW) is None
