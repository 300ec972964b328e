"""Durations are shown as users write them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.api.values import duration
from shiplift.engine.durations import as_written


@pytest.mark.parametrize(
    ("seconds", "written"),
    [(0, "0s"), (45, "45s"), (90, "1m30s"), (3600, "1h"), (9000, "2h30m"), (3605, "1h5s"), (180_000, "50h")],
)
def test_a_duration_is_shown_as_users_write_it(seconds: int, written: str) -> None:
    assert as_written(timedelta(seconds=seconds)) == written


@given(st.integers(0, 10**6))
def test_what_is_shown_is_read_as_the_same_length(seconds: int) -> None:
    assert duration(as_written(timedelta(seconds=seconds))) == timedelta(seconds=seconds)
