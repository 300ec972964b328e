"""Which pod of a workload goes when, and which pods and workloads have nothing to pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from shiplift.api.placements import Turn
from shiplift.api.values import LabelSelector
from shiplift.api.workloads import OnBlockedWorkload
from shiplift.facts.kinds import WORKLOAD_MIGRATION
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.workloads.face.passage import Passage, Passing, passage
from shiplift.workloads.model import Reason, Unreadable
from shiplift.workloads.names import SKIP
from tests.model import nature
from tests.workloads.face.passing import API, NOW, WEB, a_budget, a_shop, closed, pods_of, released, way
from tests.workloads.views import DEPLOYMENT, arrive, change, change_pod, look, say, under_way
from tests.workloads.world import NEW, World


def test_pods_that_go_first_use_up_what_the_budget_allows() -> None:
    world = a_budget(maxUnavailable=1)
    first, second, _ = pods_of(world)
    assert all(gate.passing is Passing.OPEN for gate in way(world, first).pod)
    found = way(world, second)
    assert found.ahead == 1
    assert closed(found).open == "its PodDisruptionBudget lets it go"


def test_evictions_go_a_few_at_a_time() -> None:
    world = a_budget(maxUnavailable="100%")
    change(world, "web", replicas=6)
    nature.settle(world)
    for number, pod in enumerate(world.pods(WEB)):
        world.put(msgspec.structs.replace(pod, node=f"old-{1 + number % 2}"))
    nature.settle(world)
    found = way(world, pods_of(world)[-1])
    assert found.ahead == 4
    assert closed(found).open == "evictions of this decision have room for it"


def test_who_comes_before_has_the_room() -> None:
    world = under_way((DEPLOYMENT, "web", 1), (DEPLOYMENT, "api", 2))
    say(world, {WEB.owner_key: Turn.RELEASED, API.owner_key: Turn.RELEASED})
    for node in world.all(Node):
        if node.kubelet_version == NEW:
            one = msgspec.structs.replace(node.allocatable, pods=1)
            world.put(msgspec.structs.replace(node, allocatable=one))
    world.budget("api", {"app": "api"}, {"maxUnavailable": 2})
    nature.settle(world)
    assert closed(way(world)).open == "a target node has room for it"


def test_a_pod_that_is_forced_waits_for_its_siblings() -> None:
    world = released(a_shop(on_blocked=OnBlockedWorkload.FORCE))
    world.budget("web", {"app": "web"}, {"maxUnavailable": 0})
    nature.settle(world)
    first, second, _ = pods_of(world)
    assert all(gate.passing is Passing.OPEN for gate in way(world, first).pod)
    world.put(msgspec.structs.replace(second, ready=False))
    found = closed(way(world, pods_of(world)[0]))
    assert (found.open, found.reason) == ("its PodDisruptionBudget lets it go", Reason.NOT_READY.value)


def test_a_workload_is_told_with_its_next_pod_to_go() -> None:
    world = released(a_shop())
    found = passage(look(world, in_force=False), WEB, None, NOW)
    assert found.name == pods_of(world)[0].name
    assert found.ahead == 0


def test_a_workload_without_pods_to_move_says_what_is_on_its_way() -> None:
    world = released(a_shop(1))
    world.put(msgspec.structs.replace(pods_of(world)[0], node="new-1", ready=False))
    found = passage(look(world, in_force=False), WEB, None, NOW)
    assert found.pod == ()
    assert found.instead.endswith("on new-1 is not Ready")


def all_there() -> World:
    world = released(a_shop(1, soak="1h"))
    world.put(msgspec.structs.replace(pods_of(world)[0], node="new-1", ready_since=NOW - 60))
    return world


def test_a_workload_that_soaks_has_no_pod_to_move() -> None:
    found = passage(look(all_there(), in_force=False), WEB, None, NOW)
    assert closed(found).open == "pods of it are left to move, or to come"
    assert (found.pod, found.instead) == ((), "")


# --- nothing to pass ---


def without_migration() -> World:
    world = a_shop()
    world.finalize()
    world.end_migration()
    return world


def arrived() -> World:
    world = a_shop()
    for pod in world.pods(WEB):
        change_pod(world, pod, node="new-1")
    arrive(world, "web")
    return world


def test_a_workload_that_has_arrived_and_whose_pods_came_back_has_its_gates_again() -> None:
    world = a_shop()
    arrive(world, "web")
    assert way(world).pod


def opted_out() -> World:
    world = a_shop()
    change(world, "web", annotations=Labels({SKIP: "true"}))
    return world


def for_another_target() -> World:
    world = a_shop()
    world.migrate(target="v1.37.0")
    return world


NOTHING: tuple[tuple[Callable[[], World], str], ...] = (
    (without_migration, "there is no migration"),
    (lambda: a_shop(abort=True), "nothing is being moved"),
    (for_another_target, "the operator has not begun to move workloads to v1.37.0"),
    (arrived, "moved"),
    (opted_out, "left alone: it has opted out"),
    (lambda: a_shop(exclude_namespaces=("shop",)), "left alone: its namespace is excluded"),
)


@pytest.mark.parametrize(("situation", "why"), NOTHING)
def test_a_workload_that_takes_no_part_has_nothing_to_pass(situation: Callable[[], World], why: str) -> None:
    assert way(situation()) == Passage(instead=why)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"node": "new-1"}, "it is on a target node already, new-1"),
        ({"node": "gone"}, "its node gone is gone"),
        ({"deleting": True}, "it is on its way out"),
        ({"phase": "Failed"}, "it has ended"),
        ({"node": ""}, "it is on no node yet; the scheduler finds it one"),
    ],
)
def test_a_pod_that_is_not_to_be_moved_has_nothing_to_pass(values: dict[str, Any], why: str) -> None:
    world = released(a_shop(2))
    moved = world.put(msgspec.structs.replace(pods_of(world)[0], **values))
    assert way(world, moved) == Passage(instead=why)


def test_a_pod_on_a_node_that_is_not_selected_has_nothing_to_pass() -> None:
    world = released(a_shop(1))
    (pod,) = pods_of(world)
    for node in world.all(Node):
        if node.name != pod.node:
            world.put(msgspec.structs.replace(node, labels=Labels({**node.labels, "pool": "a"})))
    world.migrate(node_selector=LabelSelector(match_labels={"pool": "a"}))
    assert way(world, pod).instead == f"its node {pod.node} is none of those that the migration selects"


def test_a_pod_that_waits_for_its_turn_without_a_node_is_made_again() -> None:
    world = a_shop(1)
    say(world, {WEB.owner_key: Turn.HELD})
    nature.delete(world, pods_of(world)[0])
    for node in world.all(Node):
        world.put(msgspec.structs.replace(node, unschedulable=True))
    nature.settle(world)
    assert way(world).instead == (
        "it is on no node yet; it was made to keep off target nodes and is made again when its turn comes"
    )


def test_a_migration_that_cannot_be_read_stops_all() -> None:
    odd = Unreadable(WORKLOAD_MIGRATION, "", "cluster", "not a list")
    view = msgspec.structs.replace(look(a_shop()), unreadable=(odd,))
    assert passage(view, WEB, None, NOW).instead == (
        "nothing is moved: WorkloadMigration cluster cannot be read (not a list); repair it, or delete it"
    )
