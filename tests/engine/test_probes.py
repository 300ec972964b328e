from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.engine.probes import Known, Probe, Truth, Unknown, all_of, any_of

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
alerts: Probe[int] = Probe("firing alerts", MINUTE)
truths = st.sampled_from(Truth)


def test_a_fresh_answer_is_known_with_its_age():
    probe = alerts.answered(3, NOW - timedelta(seconds=20))
    assert probe.at(NOW) == Known(3, timedelta(seconds=20))


def test_an_answer_counts_up_to_its_maximum_age_and_not_beyond():
    probe = alerts.answered(3, NOW - MINUTE)
    assert isinstance(probe.at(NOW), Known)
    assert isinstance(probe.at(NOW + timedelta(microseconds=1)), Unknown)


def test_a_stale_answer_says_how_old_it_is_and_why():
    probe = alerts.answered(3, NOW - 5 * MINUTE).failed("connection refused")
    assert probe.at(NOW) == Unknown("firing alerts is 0:05:00 old, more than 0:01:00: connection refused")


def test_a_question_never_answered_is_unknown():
    assert alerts.at(NOW) == Unknown("firing alerts has not been answered yet")
    assert alerts.failed("no route").at(NOW) == Unknown("firing alerts has not been answered yet: no route")


def test_an_answer_from_the_future_is_unknown():
    found = alerts.answered(3, NOW + timedelta(seconds=1)).at(NOW)
    assert found == Unknown("firing alerts is dated 0:00:01 in the future")


def test_a_failed_question_keeps_the_last_answer_until_it_is_stale():
    probe = alerts.answered(3, NOW).failed("timeout")
    assert probe.at(NOW + MINUTE) == Known(3, MINUTE)
    assert probe.stale_at() == NOW + MINUTE


def test_a_new_answer_clears_the_error():
    assert alerts.failed("timeout").answered(0, NOW).error == ""


def test_none_is_an_answer_like_any_other():
    probe: Probe[None] = Probe("owner", MINUTE)
    assert probe.answered(None, NOW).at(NOW) == Known(None, timedelta(0))


def test_without_an_answer_nothing_goes_stale():
    assert alerts.stale_at() is None


def test_a_statement_about_a_fresh_answer_is_true_or_false():
    probe = alerts.answered(0, NOW)
    assert probe.check(NOW, lambda count: count == 0) is Truth.TRUE
    assert probe.check(NOW, lambda count: count > 0) is Truth.FALSE


def test_a_stale_answer_opens_no_gate_whichever_way_the_gate_is_written():
    probe = alerts.answered(0, NOW - 2 * MINUTE)
    none_firing = probe.check(NOW, lambda count: count == 0)
    some_firing = probe.check(NOW, lambda count: count > 0)
    assert not none_firing.certain
    assert not (~some_firing).certain


@pytest.mark.parametrize("truth", Truth)
def test_a_truth_refuses_to_be_a_bool(truth):
    with pytest.raises(TypeError, match="certain"):
        bool(truth)
    with pytest.raises(TypeError, match="certain"):
        _ = not truth


def test_only_true_is_certain():
    assert [truth.certain for truth in Truth] == [True, False, False]


@pytest.mark.parametrize(
    ("one", "other", "both", "either"),
    [
        (Truth.TRUE, Truth.TRUE, Truth.TRUE, Truth.TRUE),
        (Truth.TRUE, Truth.FALSE, Truth.FALSE, Truth.TRUE),
        (Truth.TRUE, Truth.UNKNOWN, Truth.UNKNOWN, Truth.TRUE),
        (Truth.FALSE, Truth.UNKNOWN, Truth.FALSE, Truth.UNKNOWN),
        (Truth.FALSE, Truth.FALSE, Truth.FALSE, Truth.FALSE),
        (Truth.UNKNOWN, Truth.UNKNOWN, Truth.UNKNOWN, Truth.UNKNOWN),
    ],
)
def test_truths_combine_as_kleene_says(one, other, both, either):
    assert one & other is other & one is both
    assert one | other is other | one is either


def test_nothing_is_all_true_and_not_any():
    assert all_of([]) is Truth.TRUE
    assert any_of([]) is Truth.FALSE


@given(st.lists(truths))
def test_resolving_the_unknown_never_contradicts_what_was_certain(values):
    for resolved in (Truth.TRUE, Truth.FALSE):
        known = [resolved if value is Truth.UNKNOWN else value for value in values]
        for combine in (all_of, any_of):
            assert combine(values) in (Truth.UNKNOWN, combine(known))


@given(truths, truths)
def test_the_two_combinations_are_each_others_mirror(one, other):
    assert ~(one & other) is (~one | ~other)


@given(st.integers(-10_000, 10_000), st.integers(0, 5_000))
def test_a_value_is_known_exactly_within_its_age(age, limit):
    probe: Probe[str] = Probe("x", timedelta(seconds=limit))
    found = probe.answered("v", NOW - timedelta(seconds=age)).at(NOW)
    assert isinstance(found, Known) == (0 <= age <= limit)
