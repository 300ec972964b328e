"""Held pods that can go nowhere: found, let go before their turn, and recorded as an exception."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from shiplift.api.marks import UPGRADE_TAINT
from shiplift.api.placements import Turn
from shiplift.api.workloads import Mode
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node, Taint
from shiplift.facts.pods import Pod, Toleration
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.decide.rescue import Rescued, rescued
from shiplift.workloads.memory import InForce
from shiplift.workloads.names import SKIP
from shiplift.workloads.steps import Replace, Rescue, WritePlacement
from tests.model import nature
from tests.workloads import server
from tests.workloads.views import DB, WEB, a_shop, arrive, change, change_pod, cordon, look, say
from tests.workloads.world import NEW, World


def strand(world: World) -> None:
    """The pod of web dies, and no node takes its successor."""
    cordon(world, "old-1", "old-2")
    nature.delete(world, world.pods(WEB)[0])
    nature.settle(world)
    assert world.pods(WEB)[0].unschedulable


def found(world: World) -> Rescued:
    return rescued(look(world), world.now)


def test_in_mode_inject_the_workload_goes_early_and_that_is_recorded() -> None:
    world = a_shop(1, 1)
    strand(world)
    rescue = found(world)
    assert (rescue.early, rescue.steps) == ({WEB}, ())
    (exception,) = rescue.exceptions
    assert (exception.workload, exception.reason) == ("Deployment shop/web", "PodsPending")
    assert exception.pod == f"shop/{world.pods(WEB)[0].name}"


def test_in_mode_template_the_pod_itself_is_let_onto_target_nodes() -> None:
    world = a_shop(1, 1, mode=Mode.TEMPLATE)
    strand(world)
    (pod,) = world.pods(WEB)
    rescue = found(world)
    assert (rescue.early, rescue.steps) == (frozenset(), (Rescue(WEB, pod.name, pod.uid, NEW),))
    assert len(rescue.exceptions) == 1


def test_in_mode_template_a_pod_that_was_let_already_is_left_alone() -> None:
    world = a_shop(1, 1, mode=Mode.TEMPLATE)
    strand(world)
    (pod,) = world.pods(WEB)
    given = (Toleration(UPGRADE_TAINT, "Equal", NEW, "NoSchedule"),)
    change_pod(world, pod, spec=msgspec.structs.replace(pod.spec, tolerations=given))
    assert found(world).steps == ()


def test_the_same_pod_is_recorded_once() -> None:
    world = a_shop(1, 1)
    strand(world)
    first = found(world).exceptions
    assert world.migration is not None
    world.publish(msgspec.structs.replace(world.migration.status, exceptions=first))
    assert found(world).exceptions == first


def test_while_old_nodes_are_open_a_pending_pod_waits() -> None:
    world = a_shop(1, 1)
    change_pod(world, world.pods(WEB)[0], node="", ready=False, unschedulable="0/4 nodes are available")
    assert found(world) == Rescued()


def close(world: World, how: str) -> None:
    """Old nodes take no more pods, and nobody has cordoned one."""
    for name in ("old-1", "old-2"):
        node = world.named(Node, name, "")
        assert node is not None
        if how == "tainted":
            taint = Taint("cloud.example.com/retiring", "", "NoSchedule")
            world.put(msgspec.structs.replace(node, taints=(*node.taints, taint)))
        elif how == "full" or name == "old-1":
            there = sum(pod.node == name for pod in world.all(Pod))
            room = msgspec.structs.replace(node.allocatable, pods=there - (name == world.pods(WEB)[0].node))
            world.put(msgspec.structs.replace(node, allocatable=room))
        else:
            world.remove(node)


@pytest.mark.parametrize("mode", [Mode.INJECT, Mode.TEMPLATE])
@pytest.mark.parametrize("how", ["tainted", "full", "one gone, one full"])
def test_a_held_pod_goes_early_whatever_closes_the_old_nodes(how: str, mode: Mode) -> None:
    world = a_shop(1, 1, mode=mode)
    close(world, how)
    for pod in world.pods(WEB):
        nature.delete(world, pod)
    nature.settle(world)
    (pod,) = world.pods(WEB)
    assert pod.unschedulable
    rescue = found(world)
    if mode is Mode.INJECT:
        assert rescue.early == {WEB}
    else:
        assert rescue.steps == (Rescue(WEB, pod.name, pod.uid, NEW),)
    assert [one.workload for one in rescue.exceptions] == ["Deployment shop/web"]


def test_where_old_nodes_are_only_full_the_order_holds_while_one_of_its_pods_runs() -> None:
    """As after scaling up: it waited for room before, and new nodes are no reason to go first."""
    world = a_shop(1, 1)
    close(world, "full")
    row = world.row_of(WEB)
    assert row is not None
    change(world, "web", replicas=row.replicas + 1)
    nature.settle(world)
    assert [bool(pod.unschedulable) for pod in world.pods(WEB)].count(True) == 1
    assert found(world) == Rescued()


@pytest.mark.parametrize("mode", [Mode.INJECT, Mode.TEMPLATE])
def test_a_pod_that_fits_nowhere_at_all_does_not_free_its_workload(mode: Mode) -> None:
    world = a_shop(1, 1, mode=mode)
    cordon(world, "old-1", "old-2")
    (pod,) = world.pods(WEB)
    spec = msgspec.structs.replace(pod.spec, node_selector=Labels(disk="nvme"))
    change_pod(world, pod, node="", ready=False, unschedulable="0/4 nodes are available", spec=spec)
    assert found(world) == Rescued()


def test_a_pod_that_still_fits_on_an_old_node_does_not_free_its_workload() -> None:
    """One node is cordoned, and the pod waits for something else."""
    world = a_shop(1, 1)
    cordon(world, "old-1")
    change_pod(world, world.pods(WEB)[0], node="", ready=False, unschedulable="0/4 nodes are available")
    assert found(world) == Rescued()


def test_of_two_pods_only_the_one_for_which_old_nodes_have_no_place_is_recorded() -> None:
    world = a_shop(1, 1)
    change(world, "web", replicas=2)
    nature.settle(world)
    cordon(world, "old-2")
    old = world.named(Node, "old-1", "")
    assert old is not None
    for pod in world.pods(WEB):
        change_pod(world, pod, node="", ready=False, unschedulable="0/4 nodes are available")
    there = sum(pod.node == "old-1" for pod in world.all(Pod))
    world.put(
        msgspec.structs.replace(old, allocatable=msgspec.structs.replace(old.allocatable, pods=there + 1))
    )
    rescue = found(world)
    assert (rescue.early, len(rescue.exceptions)) == ({WEB}, 1)


def test_a_rescue_needs_room_for_the_stranded_pod_alone() -> None:
    """The target takes one pod; the other one of its workload can wait where it is."""
    world = a_shop(1, 1)
    change(world, "web", replicas=2)
    nature.settle(world)
    cordon(world, "old-1", "old-2", "new-2")
    new = world.named(Node, "new-1", "")
    assert new is not None
    world.put(msgspec.structs.replace(new, allocatable=msgspec.structs.replace(new.allocatable, pods=1)))
    nature.delete(world, world.pods(WEB)[0])
    nature.settle(world)
    decision = decide(look(world), world.now)
    (step,) = [one for one in decision.steps if isinstance(one, WritePlacement)]
    assert step.turns[WEB.owner_key] is Turn.RELEASED


def test_with_no_old_node_left_it_is_rescued_without_a_cordon() -> None:
    world = a_shop(1, 1)
    for name in ("old-1", "old-2"):
        node = world.named(Node, name, "")
        assert node is not None
        world.remove(node)
    nature.settle(world)
    assert found(world).early == {WEB}


@pytest.mark.parametrize("change_it", [{"unschedulable": ""}, {"node": "old-1"}])
def test_a_pod_that_the_scheduler_has_not_given_up_on_is_left_alone(change_it: dict[str, Any]) -> None:
    world = a_shop(1, 1)
    strand(world)
    change_pod(world, world.pods(WEB)[0], **change_it)
    assert found(world).early == frozenset()


def test_who_may_go_anyway_or_takes_no_part_needs_no_rescue() -> None:
    world = a_shop(1, 1)
    strand(world)
    arrive(world, "db")
    assert found(world).early == frozenset()
    arrive(world)
    change(world, "web", annotations=Labels({SKIP: "true"}))
    assert found(world).early == frozenset()


def test_a_pod_that_found_a_node_after_it_was_looked_at_is_not_made_again() -> None:
    """web is pending and kept off the old nodes, and the target nodes are gone again."""
    world = a_shop(1, 1)
    say(world, {WEB.owner_key: Turn.RELEASED, DB.owner_key: Turn.RELEASED})
    cordon(world, "new-1", "new-2")
    strand(world)
    for name in ("new-1", "new-2"):
        node = world.named(Node, name, "")
        assert node is not None
        world.remove(node)
    say(world, {WEB.owner_key: Turn.HELD, DB.owner_key: Turn.HELD})
    (step,) = found(world).steps
    assert isinstance(step, Replace)
    assert step.version == world.pods(WEB)[0].resource_version
    pod = change_pod(world, world.pods(WEB)[0], node="old-1", unschedulable="")
    outcome = server.take(world, step, InForce())
    assert (outcome.ok, outcome.message) == (False, "somebody else was faster")
    assert [one.uid for one in world.pods(WEB)] == [pod.uid]
