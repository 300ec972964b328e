from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.engine.backoff import Backoff, Failures

MIDDLE = 0.5
plain = Backoff(first=timedelta(seconds=1), cap=timedelta(seconds=60), jitter=0.0)


@pytest.mark.parametrize(
    ("attempt", "seconds"), [(1, 1), (2, 2), (3, 4), (4, 8), (6, 32), (7, 60), (8, 60), (10**9, 60)]
)
def test_each_delay_is_twice_the_last_up_to_the_cap(attempt, seconds):
    assert plain.delay(attempt, MIDDLE) == timedelta(seconds=seconds)


@pytest.mark.parametrize(("random", "seconds"), [(0.0, 9.0), (0.5, 10.0), (0.75, 10.5)])
def test_jitter_spreads_a_delay_either_way(random, seconds):
    backoff = Backoff(first=timedelta(seconds=10), cap=timedelta(seconds=60), jitter=0.1)
    assert backoff.delay(1, random) == timedelta(seconds=seconds)


def test_the_same_randomness_gives_the_same_delay():
    assert Backoff().delay(3, 0.3) == Backoff().delay(3, 0.3)


@pytest.mark.parametrize("attempt", [0, -1])
def test_attempts_count_from_one(attempt):
    with pytest.raises(ValueError, match=f"attempt {attempt}"):
        plain.delay(attempt, MIDDLE)


@pytest.mark.parametrize(
    "settings",
    [
        {"first": timedelta(0)},
        {"first": timedelta(seconds=-1)},
        {"first": timedelta(seconds=2), "cap": timedelta(seconds=1)},
        {"factor": 0.5},
        {"jitter": 1.0},
        {"jitter": -0.1},
    ],
)
def test_a_backoff_that_does_not_grow_is_refused(settings):
    with pytest.raises(ValueError, match="does not grow"):
        Backoff(**settings)


@given(
    st.integers(1, 10**6),
    st.floats(0, 1, exclude_max=True),
    st.floats(0, 0.99),
    st.floats(1, 10),
)
def test_a_delay_is_positive_and_never_above_the_cap(attempt, random, jitter, factor):
    backoff = Backoff(timedelta(seconds=1), timedelta(seconds=90), factor, jitter)
    assert timedelta(0) < backoff.delay(attempt, random) <= timedelta(seconds=90)


@given(st.floats(0, 1, exclude_max=True))
def test_delays_never_shrink_for_the_same_randomness(random):
    delays = [Backoff().delay(attempt, random) for attempt in range(1, 30)]
    assert all(one <= two for one, two in pairwise(delays))


def test_failures_in_a_row_are_counted_for_each_key():
    failures: Failures[str] = Failures()
    assert [failures.failed("a"), failures.failed("a"), failures.failed("b")] == [1, 2, 1]
    assert (failures["a"], failures["b"], failures["c"]) == (2, 1, 0)


def test_a_success_starts_over_and_leaves_nothing_behind():
    failures: Failures[str] = Failures()
    failures.failed("a")
    failures.succeeded("a")
    failures.succeeded("never failed")
    assert len(failures) == 0
    assert failures.failed("a") == 1
