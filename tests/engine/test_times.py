"""What others wrote as a time is read, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from shiplift.engine import times


@pytest.mark.parametrize("text", ["2026-03-01T10:00:00Z", "2026-03-01T12:00:00+02:00"])
def test_a_time_with_its_zone_is_read(text: str) -> None:
    assert times.read(text) == datetime(2026, 3, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "soon", "2026-03-01T10:00:00", None, 7, {"at": "2026-03-01T10:00:00Z"}])
def test_what_says_no_moment_is_none(text: object) -> None:
    assert times.read(text) is None
