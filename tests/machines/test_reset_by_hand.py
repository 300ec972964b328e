"""Machines that somebody has given back with `kubeadm reset -f`: they join
again, and nothing begins anew unasked."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from shiplift.machines.model import Purpose, Reason
from tests.machines.test_changed_by_hand import a_cluster, rounds
from tests.machines.world import Laptop, World, bare, wanted


def given_back(world: World, name: str, *, node_stays: bool = False) -> None:
    """By `kubeadm reset -f` there."""
    world.machines[name] = replace(world.machines[name], kubeadm=False, joined=False, nodes=None)
    for one, facts in world.machines.items():
        if facts.nodes is not None and not node_stays:
            kept = tuple(node for node in facts.nodes if node.name != name)
            world.machines[one] = replace(facts, nodes=kept)


def noticed(world: World, name: str) -> None:
    """The controllers of the cluster have noticed that a kubelet is gone."""
    for one, facts in world.machines.items():
        if facts.nodes is not None:
            nodes = tuple(replace(node, ready=node.ready and node.name != name) for node in facts.nodes)
            world.machines[one] = replace(facts, nodes=nodes)


@pytest.mark.parametrize("name", ["w-1", "cp-2"])
def test_a_machine_that_was_reset_by_hand_joins_again(name: str) -> None:
    world = a_cluster(3, 1)
    given_back(world, name)
    decision, ran = rounds(Laptop(world, wanted(3, 1)), 80)
    assert decision.complete
    assert ran == [Purpose.JOIN]


def test_the_machine_on_which_the_cluster_began_joins_again_when_it_was_reset() -> None:
    world = a_cluster(3, 1)
    given_back(world, "cp-1")
    decision, ran = rounds(Laptop(world, wanted(3, 1)), 80)
    assert decision.complete
    assert Purpose.INIT not in ran
    assert world.machines["cp-1"].joined


@pytest.mark.parametrize("name", ["cp-1", "cp-2", "w-1"])
def test_a_machine_that_was_reset_waits_while_its_node_still_counts_as_ready(name: str) -> None:
    world = a_cluster(3, 1)
    laptop = Laptop(world, wanted(3, 1))
    given_back(world, name, node_stays=True)
    _, ran = rounds(laptop, 10)
    assert Purpose.JOIN not in ran
    noticed(world, name)
    decision, ran = rounds(laptop, 80)
    assert decision.complete
    assert Purpose.INIT not in ran
    assert world.machines[name].joined


def test_where_the_only_control_plane_was_reset_workers_are_given_back_before_another_begins() -> None:
    world = a_cluster(1, 1)
    given_back(world, "cp-1", node_stays=True)
    decision, ran = rounds(Laptop(world, wanted(1, 1)))
    assert (decision.complete, ran) == (False, [])
    assert decision.told[0].reason is Reason.CLUSTER_GONE
    assert decision.told[0].hint.endswith("after `kubeadm reset -f` on w-1")


def test_where_the_only_machine_was_reset_no_cluster_begins_before_a_person_says_so() -> None:
    world = a_cluster(1, 0)
    given_back(world, "cp-1")
    decision, ran = rounds(Laptop(world, wanted(1, 0)))
    assert (decision.over, decision.complete, ran) == (True, False, [])
    assert decision.told[0].reason is Reason.CLUSTER_GONE
    assert "`rm -r /var/lib/shiplift/bootstrap`" in decision.hint
    world.machines["cp-1"] = bare("cp-1")
    world.begun.clear()
    assert Laptop(world, wanted(1, 0)).finish().complete
