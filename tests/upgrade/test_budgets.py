"""Which budgets never let a pod go, found from budgets and workloads alone."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.rows import make
from shiplift.api.marks import HOLD_PREFIX, MANAGED_BY, MANAGER
from shiplift.facts.meta import Labels
from shiplift.facts.selectors import Selector
from shiplift.facts.workloads import Deployment, PodDisruptionBudget
from shiplift.upgrade.observe.budgets import never_allowed


def budget(name: str = "web", app: str = "web", **given: Any) -> PodDisruptionBudget:
    known: dict[str, Any] = {"expected_pods": 2, "observed_generation": 1, "generation": 1}
    selector = Selector(Labels({"app": app}), ())
    return make(PodDisruptionBudget, name, namespace="shop", uid=name, selector=selector, **known | given)


def deployment(replicas: int, name: str = "web", app: str = "web") -> Deployment:
    labels = Labels({"app": app})
    return make(Deployment, name, namespace="shop", replicas=replicas, template_labels=labels)


@pytest.mark.parametrize(
    ("limits", "replicas", "never"),
    [
        ({"max_unavailable": 0}, 2, True),
        ({"max_unavailable": "0%"}, 2, True),
        ({"max_unavailable": 1}, 2, False),
        ({"max_unavailable": "1%"}, 2, False),
        ({"min_available": "100%"}, 2, True),
        ({"min_available": 2}, 2, True),
        ({"min_available": 1}, 2, False),
        ({"min_available": 1, "expected_pods": 1}, 1, True),
        ({"min_available": 1, "expected_pods": 1}, 3, False),
        ({"max_unavailable": 0, "expected_pods": 0}, 0, False),
    ],
)
def test_a_budget_is_judged_by_what_its_owners_ask_for(
    limits: dict[str, Any], replicas: int, never: bool
) -> None:
    found = never_allowed([budget(**limits)], [deployment(replicas)])
    assert bool(found) is never
    assert all("PodDisruptionBudget shop/web" in one for one in found)


def test_pods_of_nobody_known_count_by_the_budget_itself() -> None:
    assert never_allowed([budget(max_unavailable=0)], [])
    assert not never_allowed([budget(min_available=2)], [])


def test_two_budgets_of_one_workload_are_named() -> None:
    budgets = [budget("one", max_unavailable=1), budget("two", max_unavailable=1)]
    assert never_allowed(budgets, [deployment(2)]) == (
        "PodDisruptionBudgets shop/one and shop/two both select pods of Deployment shop/web",
    )
    assert never_allowed(budgets, [deployment(0)]) == ()


def test_our_own_holds_are_no_obstacle() -> None:
    labels = Labels({MANAGED_BY: MANAGER})
    held = budget(f"{HOLD_PREFIX}web", max_unavailable=0, labels=labels)
    assert never_allowed([held], [deployment(2)]) == ()
