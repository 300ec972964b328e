from fractions import Fraction
from math import ceil, floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.engine.budgets import (
    Amount,
    BudgetError,
    Disruptions,
    Rounding,
    max_surge,
    max_unavailable,
    parse,
)

counts = st.integers(0, 10_000)
percents = st.integers(0, 100)


@pytest.mark.parametrize(
    ("value", "total", "expected"),
    [
        (0, 10, 0),
        (1, 10, 1),
        (3, 2, 2),
        ("0%", 10, 0),
        ("25%", 10, 2),
        ("25%", 3, 0),
        ("34%", 3, 1),
        ("99%", 100, 99),
        ("100%", 7, 7),
        ("50%", 0, 0),
        (1, 0, 0),
    ],
)
def test_unavailable_rounds_down_and_never_exceeds_the_total(value, total, expected):
    assert max_unavailable(value, total) == expected


@pytest.mark.parametrize(
    ("value", "total", "expected"),
    [("25%", 3, 1), (0, 5, 1), ("0%", 5, 1), (2, 5, 2), ("50%", 1, 1), ("10%", 0, 0)],
)
def test_at_least_one_lets_small_pools_move(value, total, expected):
    assert max_unavailable(value, total, at_least_one=True) == expected


@pytest.mark.parametrize(
    ("value", "total", "expected"),
    [("25%", 3, 1), ("1%", 1, 1), ("0%", 9, 0), (2, 1, 2), ("200%", 3, 6), ("34%", 3, 2), ("50%", 0, 0)],
)
def test_surge_rounds_up_and_may_exceed_the_total(value, total, expected):
    assert max_surge(value, total) == expected


@pytest.mark.parametrize(
    ("budget", "expected", "healthy", "allowed"),
    [
        (Disruptions(min_available=2), 3, 3, 1),
        (Disruptions(min_available=3), 3, 3, 0),
        (Disruptions(min_available="50%"), 3, 3, 1),
        (Disruptions(min_available="50%"), 7, 7, 3),
        (Disruptions(min_available="100%"), 4, 4, 0),
        (Disruptions(max_unavailable=0), 5, 5, 0),
        (Disruptions(max_unavailable=1), 5, 5, 1),
        (Disruptions(max_unavailable=1), 5, 4, 0),
        (Disruptions(max_unavailable=1), 5, 2, 0),
        (Disruptions(max_unavailable="30%"), 7, 7, 3),
        (Disruptions(max_unavailable="1%"), 3, 3, 1),
        (Disruptions(max_unavailable=9), 3, 3, 3),
        (Disruptions(), 3, 3, 0),
        (Disruptions(max_unavailable=1), 0, 0, 0),
    ],
)
def test_a_disruption_budget_allows_what_the_disruption_controller_allows(budget, expected, healthy, allowed):
    assert budget.allowed(expected, healthy) == allowed


@pytest.mark.parametrize(
    "value", ["", "%", "3", "-1%", "1.5%", " 5%", "5 %", "\u0663%", "1e2%", "x", -1, True, 2**31]
)
def test_what_is_neither_count_nor_percentage_is_refused_by_name(value):
    with pytest.raises(BudgetError) as refused:
        parse(value, "maxUnavailable")
    assert repr(value) in str(refused.value)
    assert "maxUnavailable" in str(refused.value)
    assert refused.value.hint


def test_a_value_of_another_type_is_refused_too():
    with pytest.raises(BudgetError, match="None"):
        parse(None, "maxSurge")


@pytest.mark.parametrize("value", ["101%", "999%"])
def test_more_than_everything_cannot_be_unavailable(value):
    with pytest.raises(BudgetError, match="more than 100%"):
        max_unavailable(value, 3)


def test_an_amount_says_itself_as_it_was_written():
    assert [str(parse(value, "x")) for value in (3, "25%")] == ["3", "25%"]


@given(percents, counts)
def test_rounding_agrees_with_exact_fractions(percent, total):
    share = Fraction(percent * total, 100)
    amount = Amount(percent, percent=True)
    assert amount.of(total, Rounding.DOWN) == floor(share)
    assert amount.of(total, Rounding.UP) == ceil(share)


@given(st.one_of(counts, percents.map("{}%".format)), counts)
def test_unavailable_stays_between_nothing_and_everything(value, total):
    assert 0 <= max_unavailable(value, total) <= total
    assert max_unavailable(value, total, at_least_one=True) >= min(1, total)


@given(percents, counts, counts)
def test_a_disruption_budget_never_lets_health_fall_below_what_it_wants(percent, expected, healthy):
    for budget in (Disruptions(min_available=f"{percent}%"), Disruptions(max_unavailable=f"{percent}%")):
        allowed = budget.allowed(expected, healthy)
        assert allowed == 0 or healthy - allowed >= budget.desired_healthy(expected)
