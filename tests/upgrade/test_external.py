"""Somebody else changes control plane and nodes: whose turn it is, and that an upgrade is taken up where it
is."""

from __future__ import annotations

from typing import Any

import pytest

from shiplift.api.marks import UPGRADE_LEDGER
from tests.upgrade.players import Judge, Operator, finish, until
from tests.upgrade.world import Host, World

EKS, GKE = "v1.36.2-eks-1a2b3c4", "v1.36.1-gke.1234000"
OLD_EKS = "v1.35.4-eks-9f8e7d6"


def managed(version: str = "1.36", workers: int = 2, server: str = OLD_EKS, **spec: Any) -> World:
    """A cloud's cluster: no control-plane node is seen."""
    world = World.of(0, workers, version=version, type="External", **spec)
    world.server = server
    for host in world.hosts.values():
        host.kubelet = OLD_EKS
    return world


def turn(world: World) -> str:
    found = world.config.status.turn
    return found.of.value if found else ""


def test_each_waits_for_its_turn_and_nothing_of_nodes_is_touched() -> None:
    world = managed()
    judge = Judge(world)
    finish(world)
    assert (turn(world), world.config.status.reason) == ("ControlPlane", "ControlPlane")
    assert "bring the control plane from v1.35.4-eks-9f8e7d6 to v1.36" in world.config.status.message
    assert world.migration is None
    world.server = EKS
    finish(world)
    assert turn(world) == "Nodes"
    assert world.migration is not None
    assert world.migration.spec.target == "v1.36"
    for host, version in zip(world.hosts.values(), (EKS, GKE), strict=True):
        host.kubelet = version
    finish(world)
    status = world.config.status
    assert (status.phase, status.turn) == ("Upgraded", None)
    assert [(one.version, one.preceding_version) for one in status.history] == [("v1.36", OLD_EKS)]
    assert judge.residue() == []
    assert not [one for one in judge.taken if "NodeRollout" in one]


def test_nodes_that_are_replaced_count_as_well_as_those_that_are_changed() -> None:
    world = managed(server=EKS)
    until(world, lambda: turn(world) == "Nodes")
    world.hosts = {"new-0": Host(EKS), "w-0": world.hosts["w-0"]}
    finish(world)
    assert turn(world) == "Nodes"
    del world.hosts["w-0"]
    finish(world)
    assert world.config.status.phase == "Upgraded"


def test_pools_that_are_behind_are_named_and_a_newer_one_is_not() -> None:
    world = managed(workers=0, server="v1.37.0")
    world.hosts = {
        "a": Host(OLD_EKS, pool="blue"),
        "b": Host(OLD_EKS, pool="green"),
        "c": Host("v1.37.0", pool="new"),
    }
    until(world, lambda: turn(world) == "Nodes")
    found = world.config.status.turn
    assert found is not None
    assert found.pools == ("blue", "green")
    assert "node a of pool blue to v1.36, 2 are left in pools blue, green" in world.config.status.message


def test_one_that_has_begun_without_us_is_taken_up_where_it_is() -> None:
    world = managed(server=EKS)
    world.hosts["w-0"].kubelet = GKE
    until(world, lambda: turn(world) == "Nodes")
    said = {one.type: one.status.value for one in world.config.status.conditions}
    assert said["ControlPlaneUpgraded"] == "True"
    world.hosts["w-1"].kubelet = EKS
    finish(world)
    assert world.config.status.phase == "Upgraded"


def test_where_all_of_it_is_there_already_nothing_is_begun() -> None:
    world = managed(server=EKS)
    for host in world.hosts.values():
        host.kubelet = GKE
    judge = Judge(world)
    finish(world)
    assert (world.config.status.phase, judge.taken) == ("Upgraded", [])


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("1.37", "more than one minor above v1.35.4-eks-9f8e7d6"),
        ("v1.35.4", "has no order with v1.35.4-eks-9f8e7d6"),
    ],
)
def test_what_cannot_be_reached_is_refused_by_name(version: str, words: str) -> None:
    world = managed(version)
    Operator(world).round()
    assert world.config.status.reason == "VersionRefused"
    assert words in world.config.status.message


def test_nodes_that_are_down_are_named_and_keep_nobody() -> None:
    world = managed()
    world.hosts["w-0"].ready = False
    until(world, lambda: turn(world) == "ControlPlane")
    assert [(one.code, one.severity) for one in world.config.status.findings] == [
        ("NODESNOTREADY", "Warning")
    ]


@pytest.mark.parametrize("deleted", [False, True])
def test_an_abort_leaves_nothing_behind(deleted: bool) -> None:
    world = managed(server=EKS)
    world.migrate(target=None)
    judge = Judge(world)
    until(world, lambda: turn(world) == "Nodes")
    assert world.migration is not None
    assert UPGRADE_LEDGER in world.migration.metadata.annotations
    if deleted:
        world.delete()
    else:
        world.change(abort=True)
    finish(world)
    assert judge.residue() == []
    assert world.migration.spec.target is None


def test_whose_turn_it_is_says_since_when() -> None:
    world = managed()
    until(world, lambda: turn(world) == "ControlPlane")
    first = world.config.status.turn
    finish(world)
    assert world.config.status.turn == first
    world.server = EKS
    until(world, lambda: turn(world) == "Nodes")
    later = world.config.status.turn
    assert first is not None
    assert later is not None
    assert later.since > first.since
