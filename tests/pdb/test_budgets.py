"""How many pods of each workload may go now, and which of them first."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from shiplift.facts.pods import Pod
from shiplift.facts.workloads import PodDisruptionBudget
from shiplift.pdb.allowances import Allowances, free_to_go
from shiplift.pdb.verdicts import Never, explained, never_evictable, obstacle, taken_for_evicted
from shiplift.workloads.decide.candidates import in_order
from shiplift.workloads.model import View
from tests.model import nature
from tests.workloads import databases
from tests.workloads.databases import a_database
from tests.workloads.views import (
    DEPLOYMENT,
    STATEFUL_SET,
    an_id,
    change,
    change_pod,
    evicting,
    look,
    tally,
    under_way,
)
from tests.workloads.world import SPACE, World

WEB = an_id("web")


def allowed(world: World, name: str = "web") -> int:
    view = look(world)
    one = tally(view, name)
    return Allowances(view).of(one, one.pods[0])


def a_pod(view: View) -> Pod:
    return tally(view, "web").pods[0]


def a_shop(replicas: int = 3, spec: dict[str, Any] | None = None) -> World:
    world = under_way((DEPLOYMENT, "web", replicas))
    if spec is not None:
        world.budget("web", {"app": "web"}, spec)
        nature.settle(world)
    return world


def lag(world: World, **values: Any) -> None:
    """The status of the budget is not, or not yet, what it should be."""
    (row,) = world.all(PodDisruptionBudget)
    world.put(msgspec.structs.replace(row, **values))


def fail_one(world: World, name: str = "web") -> None:
    pod = world.pods(an_id(name, DEPLOYMENT))[0]
    change_pod(world, pod, ready=False, waiting="CrashLoopBackOff")


# --- without a budget ---


@pytest.mark.parametrize(
    ("replicas", "says", "expected"),
    [
        (1, None, 1),
        (3, None, 1),
        (4, None, 1),
        (8, None, 2),
        (3, 2, 2),
        (10, "35%", 3),
        (4, 0, 1),
        (4, "0%", 1),
    ],
)
def test_a_deployment_may_lack_what_it_says_rounded_down_and_at_least_one(
    replicas: int, says: int | str | None, expected: int
) -> None:
    world = a_shop(replicas)
    change(world, "web", max_unavailable=says)
    assert allowed(world) == expected


def test_a_limit_that_cannot_be_read_counts_as_one() -> None:
    world = a_shop(8)
    change(world, "web", max_unavailable="a few")
    assert allowed(world) == 1


def test_pods_of_a_deployment_that_are_missing_already_count() -> None:
    world = a_shop(8)
    fail_one(world)
    assert allowed(world) == 1


def test_a_stateful_set_lets_one_go_while_all_are_ready() -> None:
    world = under_way((STATEFUL_SET, "db", 3))
    assert allowed(world, "db") == 1
    change_pod(world, world.pods(an_id("db", STATEFUL_SET))[1], ready=False)
    assert allowed(world, "db") == 0


def test_a_stateful_set_lets_none_go_while_one_is_leaving() -> None:
    world = under_way((STATEFUL_SET, "db", 2))
    change_pod(world, world.pods(an_id("db", STATEFUL_SET))[1], deleting=1)
    assert allowed(world, "db") == 0


# --- with one ---


@pytest.mark.parametrize(
    ("replicas", "spec", "expected"),
    [
        (3, {"maxUnavailable": 1}, 1),
        (3, {"minAvailable": 1}, 2),
        (3, {"minAvailable": 3}, 0),
        (3, {"maxUnavailable": "25%"}, 1),
        (3, {"minAvailable": "50%"}, 1),
        (5, {"minAvailable": "50%"}, 2),
        (3, {"maxUnavailable": 0}, 0),
        (3, {"maxUnavailable": "100%"}, 3),
    ],
)
def test_a_budget_allows_what_kubernetes_makes_of_it(
    replicas: int, spec: dict[str, Any], expected: int
) -> None:
    assert allowed(a_shop(replicas, spec)) == expected


def test_a_budget_says_nothing_until_its_controller_has_looked() -> None:
    world = a_shop(3, {"maxUnavailable": 1})
    lag(world, generation=2)
    assert allowed(world) == 0


def test_a_status_that_lags_behind_the_pods_is_not_believed() -> None:
    world = a_shop(3, {"maxUnavailable": 1})
    fail_one(world)
    assert allowed(world) == 0


def test_a_status_that_allows_less_than_the_pods_would_is_believed() -> None:
    world = a_shop(3, {"maxUnavailable": 2})
    lag(world, disruptions_allowed=0)
    assert allowed(world) == 0


def test_a_shared_budget_is_given_out_once() -> None:
    world = under_way()
    for name in ("a", "b"):
        world.workload(DEPLOYMENT, name, 2, tier="shared")
    world.budget("both", {"tier": "shared"}, {"maxUnavailable": 1})
    nature.settle(world)
    view = look(world)
    allowances, a, b = Allowances(view), tally(view, "a"), tally(view, "b")
    assert allowances.of(a, a.pods[0]) == 1
    allowances.take(a, a.pods[0])
    assert allowances.of(b, b.pods[0]) == 0


# --- which ---


def test_who_serves_nobody_goes_first() -> None:
    world = a_shop(3)
    last = sorted(world.pods(WEB), key=lambda pod: (pod.node, pod.name))[-1]
    change_pod(world, last, ready=False)
    assert in_order(tally(look(world), "web"))[0].uid == last.uid


def test_a_stateful_set_goes_from_the_highest_ordinal_by_number() -> None:
    world = under_way((STATEFUL_SET, "db", 11))
    names = [pod.name for pod in in_order(tally(look(world), "db"))]
    assert names[:3] == ["db-10", "db-9", "db-8"]


@pytest.mark.parametrize(
    ("spec", "healthy", "expected"),
    [
        (None, 2, True),
        ({"maxUnavailable": 1}, 2, True),
        ({"maxUnavailable": 0}, 2, False),
        ({"maxUnavailable": 0, "unhealthyPodEvictionPolicy": "AlwaysAllow"}, 2, True),
        ({"minAvailable": 0}, 2, False),
    ],
)
def test_a_pod_that_is_not_ready_goes_past_a_budget_that_is_healthy_or_always_lets_it(
    spec: dict[str, Any] | None, healthy: int, expected: bool
) -> None:
    world = a_shop(healthy + 1, spec)
    fail_one(world)
    nature.tick(world)
    view = look(world)
    one = tally(view, "web")
    pod = next(pod for pod in one.pods if not pod.ready)
    assert free_to_go(view, one, pod) is expected


def test_a_ready_pod_never_goes_past_its_budget() -> None:
    world = a_shop(2, {"maxUnavailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow"})
    view = look(world)
    one = tally(view, "web")
    assert not free_to_go(view, one, one.pods[0])


def test_one_of_a_stateful_set_that_is_not_ready_goes_only_if_the_others_are() -> None:
    world = under_way((STATEFUL_SET, "db", 3))
    pods = world.pods(an_id("db", STATEFUL_SET))
    change_pod(world, pods[0], ready=False)
    view = look(world)
    assert free_to_go(view, tally(view, "db"), tally(view, "db").pods[0])
    change_pod(world, pods[1], ready=False)
    view = look(world)
    assert not free_to_go(view, tally(view, "db"), tally(view, "db").pods[0])


# --- never ---


@pytest.mark.parametrize(
    ("replicas", "spec", "text"),
    [
        (3, {"maxUnavailable": 1}, ""),
        (3, {"minAvailable": 2}, ""),
        (1, {"minAvailable": 1}, "shop/web needs 1 of 1 pods healthy"),
        (3, {"minAvailable": 3}, "shop/web needs 3 of 3 pods healthy"),
        (3, {"minAvailable": 5}, "shop/web needs 5 of 3 pods healthy"),
        (3, {"minAvailable": "100%"}, "shop/web needs 3 of 3 pods healthy"),
        (2, {"minAvailable": "51%"}, "shop/web needs 2 of 2 pods healthy"),
        (3, {"maxUnavailable": 0}, "shop/web needs 3 of 3 pods healthy"),
        (1, {"maxUnavailable": "1%"}, ""),
        (3, {}, "shop/web has neither minAvailable nor maxUnavailable: it never lets one go"),
    ],
)
def test_a_budget_that_never_lets_a_pod_go_is_named(replicas: int, spec: dict[str, Any], text: str) -> None:
    view = look(a_shop(replicas, spec))
    found = never_evictable(view, tally(view, "web"), a_pod(view))
    assert text in found
    assert bool(found) is bool(text)


def test_a_budget_that_has_no_room_only_now_is_not_one_of_those() -> None:
    world = a_shop(3, {"maxUnavailable": 1})
    fail_one(world)
    nature.tick(world)
    view = look(world)
    assert never_evictable(view, tally(view, "web"), a_pod(view)) == ""
    expected = f"PodDisruptionBudget {SPACE}/web needs 2 healthy pods and has just 2"
    assert explained(view, tally(view, "web"), a_pod(view)) == expected


def test_what_is_waited_for_is_told_also_without_a_budget() -> None:
    world = a_shop(3)
    fail_one(world)
    view = look(world)
    assert explained(view, tally(view, "web"), a_pod(view)) == "2 of 3 pods are Ready; the others come first"


def test_a_budget_that_its_controller_has_not_looked_at_says_so() -> None:
    world = a_shop(3, {"maxUnavailable": 1})
    lag(world, generation=2)
    view = look(world)
    assert "has not been looked at by its controller yet" in explained(view, tally(view, "web"), a_pod(view))


def test_a_pod_that_is_back_under_its_name_and_still_taken_for_evicted_is_named() -> None:
    world = under_way((STATEFUL_SET, "web", 3))
    world.budget("web", {"app": "web"}, {"maxUnavailable": 1})
    nature.settle(world)
    pod = world.all(Pod)[0]
    lag(world, disruptions_allowed=0, current_healthy=2, disrupted_pods=(pod.name,))
    view = look(world)
    assert explained(view, tally(view, "web"), a_pod(view)) == (
        f"PodDisruptionBudget {SPACE}/web needs 2 healthy pods and has just 2;"
        f" it takes pod {pod.name}, which is there, for evicted"
    )


# --- by the labels of each pod ---


def allowed_to(world: World, number: int) -> int:
    view = look(world)
    return Allowances(view).of(tally(view, "db"), databases.a_pod(view, number))


def test_each_pod_goes_by_its_own_budget() -> None:
    world = a_database("primary", "replica", "replica")
    assert [allowed_to(world, number) for number in range(3)] == [1, 1, 1]
    world = a_database("primary", "replica", "replica", budgets={"primary": {"minAvailable": 1}})
    assert [allowed_to(world, number) for number in range(3)] == [0, 1, 1]


def test_only_the_pods_that_a_budget_covers_count_for_it() -> None:
    world = a_database("primary", "replica", "replica", budgets={"replica": {"minAvailable": 1}})
    change_pod(world, databases.a_pod(look(world), 2), ready=False)
    assert allowed_to(world, 1) == 0
    world = a_database("primary", "replica", "replica", budgets={"replica": {"minAvailable": 1}})
    change_pod(world, databases.a_pod(look(world), 0), ready=False)
    assert allowed_to(world, 1) == 1


def test_a_pod_that_is_being_evicted_is_charged_to_its_own_budget() -> None:
    world = a_database("primary", "replica", "replica")
    view = look(world, evicting(databases.a_pod(look(world), 2)))
    one = tally(view, "db")
    assert Allowances(view).of(one, databases.a_pod(view, 1)) == 0
    assert Allowances(view).of(one, databases.a_pod(view, 0)) == 1


def test_without_a_budget_a_pod_waits_for_siblings_that_have_one() -> None:
    world = a_database("primary", "", "", budgets=databases.PRIMARY)
    view = look(world)
    one, allowances = tally(view, "db"), Allowances(view)
    assert allowances.of(one, databases.a_pod(view, 1)) == 1
    allowances.take(one, databases.a_pod(view, 0))
    assert allowances.of(one, databases.a_pod(view, 1)) == 0


def test_a_pod_with_two_budgets_never_goes_and_its_siblings_do() -> None:
    world = a_database("primary", "replica", "replica")
    world.budget("again", {"role": "primary"}, {"minAvailable": 0})
    nature.settle(world)
    assert [allowed_to(world, number) for number in range(3)] == [0, 1, 1]
    change_pod(world, databases.a_pod(look(world), 0), ready=False)
    view = look(world)
    assert not free_to_go(view, tally(view, "db"), databases.a_pod(view, 0))
    found = obstacle(view, tally(view, "db"), databases.a_pod(view, 0))
    assert found == (
        Never.TWO_BUDGETS,
        "PodDisruptionBudgets shop/again and shop/primary both select pod shop/db-0",
    )
    assert obstacle(view, tally(view, "db"), databases.a_pod(view, 1)) is None


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"minAvailable": 0}, ""),
        ({"minAvailable": 1}, "shop/primary needs 1 of 1 pods healthy: it never lets one go"),
        ({"maxUnavailable": 1}, "shop/primary needs 2 of 3 pods healthy and covers 1: it never lets one go"),
        ({"minAvailable": "50%"}, "shop/primary needs 2 of 3 pods healthy and covers 1"),
        ({"maxUnavailable": 3}, ""),
    ],
)
def test_a_budget_of_some_pods_never_lets_one_go_by_what_its_controller_counts(
    spec: dict[str, Any], text: str
) -> None:
    """Where it covers one pod of a workload, the controller expects all its replicas, but for a number."""
    world = a_database("primary", "replica", "replica", budgets={"primary": spec})
    view = look(world)
    found = never_evictable(view, tally(view, "db"), databases.a_pod(view, 0))
    assert text in found
    assert bool(found) is bool(text)
    assert bool(databases.named(world, "primary").disruptions_allowed) is not bool(text)
    assert never_evictable(view, tally(view, "db"), databases.a_pod(view, 1)) == ""


def test_what_is_back_is_looked_for_among_the_pods_that_a_budget_covers() -> None:
    world = a_database("primary", "replica", "replica")
    row = msgspec.structs.replace(databases.named(world, "replica"), disrupted_pods=("db-0", "db-2"))
    world.put(row)
    assert [pod.name for pod in taken_for_evicted(look(world), row)] == ["db-2"]
