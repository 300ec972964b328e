"""Something in the cluster cannot be read: what is over stays over, and what is half-way goes on to nothing
that could be wrong."""

from __future__ import annotations

import pytest

from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.upgrade.model import Unreadable
from tests.upgrade.players import Judge, Operator, finish, holds, until, well
from tests.upgrade.test_openshift import NEW as RELEASE
from tests.upgrade.test_openshift import change, openshift
from tests.upgrade.world import NEW, OLD, World


def garble(world: World, kind: Kind, name: str = "x") -> None:
    world.unreadable = (Unreadable(kind, name, "no number"),)


def reached() -> tuple[World, Operator]:
    """An upgrade of OpenShift whose release is there."""
    world = openshift()
    operator = Operator(world)
    until(world, lambda: world.cluster_version and world.cluster_version.wanted == RELEASE, operator)
    change(world, reached=RELEASE)
    return world, operator


@pytest.mark.parametrize(
    "kind",
    [
        kinds.NODE,
        kinds.NODE_ROLLOUT,
        kinds.WORKLOAD_MIGRATION,
        kinds.POD_DISRUPTION_BUDGET,
        kinds.OPERATOR_VERSION,
        kinds.QUORUM_SERVICE,
        kinds.APP_TYPE,
    ],
)
def test_an_upgrade_that_is_over_stays_over_though_something_cannot_be_read_later(kind: Kind) -> None:
    world = World.of(1, 2)
    finish(world)
    before = world.config.status
    garble(world, kind)
    Operator(world).round()
    assert world.config.status == before
    world.change(retry=1)
    world.hosts["late"] = type(world.hosts["w-0"])()
    Operator(world).round()
    assert (world.config.status.reason, holds(world, "Stalled")) == ("Unreadable", True)


def test_an_upgrade_of_openshift_that_is_over_stays_over_though_a_look_fails_later() -> None:
    world, operator = reached()
    finish(world)
    before, found = world.config.status, world.cluster_version
    world.cluster_version = None
    operator.round()
    assert world.config.status == before
    world.cluster_version = found
    operator.round()
    assert world.config.status == before


def test_a_node_of_ours_that_cannot_be_read_half_way_is_not_passed_over() -> None:
    world = World.of(2, 3)
    judge = Judge(world)
    until(world, lambda: world.rollouts)
    cut = world.hosts.pop("cp-1")
    garble(world, kinds.NODE, "cp-1")
    finish(world)
    assert (world.config.status.reason, holds(world, "Stalled")) == ("Unreadable", True)
    assert "nothing is begun: Node cp-1 cannot be read" in world.config.status.message
    assert not [one for one in world.rollouts if one.endswith("workers")], "kubelets before an API server"
    world.hosts["cp-1"], world.unreadable = cut, ()
    finish(world)
    well(world, judge)


def test_a_node_of_others_that_cannot_be_read_half_way_is_not_passed_over_and_changes_no_turn() -> None:
    world = World.of(0, 3, type="External")
    world.server, judge = NEW, Judge(world)
    operator = Operator(world)
    until(world, lambda: world.config.status.turn and world.config.status.turn.of == "Nodes", operator)
    turn = world.config.status.turn
    cut = world.hosts.pop("w-2")
    garble(world, kinds.NODE, "w-2")
    for host in world.hosts.values():
        host.kubelet = NEW
    for _ in range(20):
        operator.round()
        world.turn()
    assert (world.config.status.reason, holds(world, "Stalled")) == ("Unreadable", True)
    assert world.config.status.turn == turn
    assert cut.kubelet == OLD
    cut.kubelet, world.unreadable = NEW, ()
    world.hosts["w-2"] = cut
    finish(world)
    well(world, judge)


def test_a_node_of_openshift_that_cannot_be_read_is_not_taken_for_one_that_is_ready() -> None:
    world, _ = reached()
    garble(world, kinds.NODE, "w-1")
    finish(world)
    assert (world.config.status.reason, world.config.status.phase) == ("Unreadable", "Upgrading")
    world.unreadable = ()
    finish(world)
    assert world.config.status.phase == "Upgraded"
