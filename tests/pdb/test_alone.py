"""What a budget says of itself, for whoever has not counted its pods."""

from __future__ import annotations

import pytest

from shiplift.api.marks import HOLD_LEDGER
from shiplift.facts.meta import Condition, Labels
from shiplift.facts.workloads import PodDisruptionBudget
from shiplift.pdb.allowances import allowed_alone
from shiplift.pdb.verdicts import Never, explained_alone, obstacle_alone
from tests.drain.pods import a_budget, a_pod

LATER = Condition("DisruptionAllowed", "False", "SyncFailed", "etcdserver: request timed out")


@pytest.mark.parametrize(
    ("budgets", "why"),
    [
        ([], None),
        ([a_budget()], None),
        ([a_budget(expected_pods=2)], Never.ALLOWS_NOTHING),
        ([a_budget(expected_pods=2, annotations=Labels({HOLD_LEDGER: "{}"}))], None),
        ([a_budget(min_available="50%", expected_pods=0)], None),
        ([a_budget(min_available=None)], Never.ALLOWS_NOTHING),
        ([a_budget(min_available=None, max_unavailable="0%")], Never.ALLOWS_NOTHING),
        ([a_budget(min_available=None, max_unavailable="1%")], None),
        ([a_budget(), a_budget("two")], Never.TWO_BUDGETS),
        ([a_budget(conditions=(LATER,))], None),
    ],
)
def test_what_it_never_allows(budgets: list[PodDisruptionBudget], why: Never | None) -> None:
    found = obstacle_alone(budgets, a_pod(), lambda _: 2)
    assert (found and found.why) == why


@pytest.mark.parametrize(
    ("budget", "replicas", "never"),
    [
        (a_budget(expected_pods=2), 2, True),
        (a_budget(expected_pods=1), 2, True),
        (a_budget(expected_pods=2), 3, False),
        (a_budget(expected_pods=2), None, False),
        (a_budget(expected_pods=3), 2, False),
        (a_budget(min_available="100%"), None, True),
        (a_budget(min_available=None, max_unavailable=0), None, True),
    ],
)
def test_pods_that_are_there_at_the_moment_are_not_all_that_are_going_to_be(
    budget: PodDisruptionBudget, replicas: int | None, never: bool
) -> None:
    assert bool(obstacle_alone([budget], a_pod(), lambda _: replicas)) is never


@pytest.mark.parametrize(
    ("budget", "evicting", "allowed"),
    [
        (a_budget(allowed=2), 0, 2),
        (a_budget(allowed=2), 1, 1),
        (a_budget(allowed=1), 2, 0),
        (a_budget(allowed=2, generation=2), 0, 0),
    ],
)
def test_how_many_may_go_now(budget: PodDisruptionBudget, evicting: int, allowed: int) -> None:
    assert allowed_alone(budget, evicting) == allowed


def test_what_it_cannot_count_for_now_is_told_in_its_controllers_words() -> None:
    assert explained_alone(a_budget(conditions=(LATER,))) == (
        "PodDisruptionBudget shop/web cannot be counted by its controller: etcdserver: request timed out"
    )
