"""Budgets that also cover pods of owners that are not known here: bare pods, Jobs, custom resources."""

from __future__ import annotations

from typing import Any

import msgspec

from benchmarks.rows import make
from shiplift.facts.meta import Condition, Labels
from shiplift.facts.pods import Pod, PodSpec
from shiplift.facts.workloads import PodDisruptionBudget
from shiplift.pdb.allowances import Allowances
from shiplift.pdb.verdicts import Never, explained, obstacle
from tests.model import nature
from tests.workloads.views import DEPLOYMENT, evicting, look, tally, under_way
from tests.workloads.world import SPACE, World

TIER = {"tier": "shared"}


def a_shop(spec: dict[str, Any], strangers: int = 5) -> World:
    """Five pods of web and five bare ones, under one budget."""
    world = under_way()
    world.workload(DEPLOYMENT, "web", 5, tier="shared")
    for number in range(strangers):
        bare(world, f"bare-{number}")
    world.budget("both", TIER, spec)
    nature.settle(world)
    return world


def bare(world: World, name: str, **given: Any) -> None:
    labels = Labels({"app": "other", **TIER})
    world.put(
        make(Pod, name, uid=name, namespace=SPACE, labels=labels, spec=PodSpec(), **{"node": "old-1"} | given)
    )


def budget(world: World) -> PodDisruptionBudget:
    (row,) = world.all(PodDisruptionBudget)
    return row


def allowed(world: World) -> int:
    view = look(world)
    one = tally(view, "web")
    return Allowances(view).of(one, one.pods[0])


def test_pods_of_unknown_owners_that_a_budget_covers_count_as_healthy() -> None:
    world = a_shop({"minAvailable": 5})
    assert (budget(world).current_healthy, budget(world).desired_healthy) == (10, 5)
    assert allowed(world) == 5


def test_those_of_them_that_are_not_ready_end_or_have_lost_their_node_do_not() -> None:
    world = a_shop({"minAvailable": 5})
    for number, change in enumerate(
        ({"ready": False}, {"deleting": 1}, {"node": "gone"}, {"phase": "Failed"})
    ):
        pod = world.named(Pod, f"bare-{number}")
        assert pod is not None
        world.put(msgspec.structs.replace(pod, **change))
    assert budget(world).current_healthy == 10  # its controller has not looked again
    assert allowed(world) == 1


def test_a_pod_that_is_being_evicted_is_counted_once() -> None:
    world = a_shop({"minAvailable": 5}, strangers=1)
    assert allowed(world) == 1
    view = look(world, evicting(tally(look(world), "web").pods[0]))
    one = tally(view, "web")
    assert Allowances(view).of(one, one.pods[0]) == 0


def not_counted(world: World, message: str) -> None:
    """Its controller gives up on it, as it does where an owner cannot be scaled."""
    said = Condition("DisruptionAllowed", "False", "SyncFailed", message)
    world.put(msgspec.structs.replace(budget(world), disruptions_allowed=0, conditions=(said,)))


def test_a_budget_that_its_controller_cannot_count_never_lets_a_pod_go_and_says_why() -> None:
    world = a_shop({"maxUnavailable": "50%"})
    not_counted(world, "rollouts.argoproj.io does not implement the scale subresource")
    view = look(world)
    one = tally(view, "web")
    found = obstacle(view, one, one.pods[0])
    assert found is not None
    assert found.why is Never.NOT_COUNTED
    assert found.message == (
        "PodDisruptionBudget shop/both lets no pod go: it cannot be counted"
        " (rollouts.argoproj.io does not implement the scale subresource);"
        " let it cover other pods, or set its minAvailable to a number"
    )


def test_what_may_pass_by_itself_is_told_and_is_not_for_ever() -> None:
    world = a_shop({"maxUnavailable": "50%"})
    not_counted(world, "etcdserver: request timed out")
    view = look(world)
    one = tally(view, "web")
    assert obstacle(view, one, one.pods[0]) is None
    assert explained(view, one, one.pods[0]) == (
        "PodDisruptionBudget shop/both cannot be counted by its controller: etcdserver: request timed out"
    )


def test_a_status_that_is_older_than_the_pods_is_told_as_such() -> None:
    world = a_shop({"minAvailable": 5}, strangers=1)
    pod = world.named(Pod, "bare-0")
    assert pod is not None
    world.put(msgspec.structs.replace(pod, ready=False))
    view = look(world)
    one = tally(view, "web")
    assert explained(view, one, one.pods[0]) == (
        "PodDisruptionBudget shop/both needs 5 healthy pods; its status says 6, and 5 are Ready"
    )
