"""Somebody else changes control plane and nodes: whose turn it is, and that an upgrade is taken up where it
is."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from shiplift.api.marks import TURN_TOLD, UPGRADE_LEDGER
from shiplift.api.values import Estimate
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


def test_of_two_versions_behind_one_address_the_lower_counts() -> None:
    world = managed(server=EKS)
    world.servers = {"10.0.0.2:443": OLD_EKS}
    finish(world)
    assert turn(world) == "ControlPlane"
    assert f"bring the control plane from {OLD_EKS} to v1.36" in world.config.status.message
    assert world.migration is None
    world.servers = {"10.0.0.2:443": EKS}
    finish(world)
    assert turn(world) == "Nodes"


def test_nodes_that_are_replaced_count_as_well_as_those_that_are_changed() -> None:
    world = managed(server=EKS)
    until(world, lambda: turn(world) == "Nodes")
    world.hosts = {"new-0": Host(EKS), "w-0": world.hosts["w-0"]}
    finish(world)
    assert turn(world) == "Nodes"
    del world.hosts["w-0"]
    finish(world)
    assert world.config.status.phase == "Upgraded"


def test_an_autoscaler_that_adds_and_takes_nodes_meanwhile_changes_nothing_of_whose_turn_it_is() -> None:
    world = managed(server=EKS)
    until(world, lambda: turn(world) == "Nodes")
    world.hosts["extra-0"] = Host(OLD_EKS, pool="old")
    finish(world)
    assert turn(world) == "Nodes"
    assert "old" in world.config.status.message
    world.hosts = {f"new-{number}": Host(EKS, pool="new") for number in range(3)}
    finish(world)
    assert world.config.status.phase == "Upgraded"
    world.hosts["late-0"] = Host(OLD_EKS, pool="old")
    finish(world)
    assert world.config.status.phase == "Upgraded"
    assert "late-0 runs something else by now" in world.config.status.message


def test_a_cluster_whose_pools_are_at_zero_has_nobody_to_upgrade_and_one_that_goes_there_is_through() -> None:
    world = managed(workers=0)
    finish(world)
    assert world.config.status.reason == "PreflightFailed"
    world = managed(server=EKS)
    until(world, lambda: turn(world) == "Nodes")
    world.hosts = {}
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


def test_what_was_missed_of_one_that_has_begun_without_us_is_named() -> None:
    world = managed(server=EKS, workers=3)
    world.hosts["w-0"].kubelet = EKS
    said: list[str] = []
    operator = Operator(world)
    while not world.config.status.target_version:
        operator.round()
        said.append(world.config.status.message)
    assert said[-1] == (
        "the upgrade of nodes to v1.36 starts: the control plane runs it already;"
        " 1 of 3 nodes run it already, and what is on them went there in no order"
    )


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


HOOK = {"name": "begin", "namespace": "cloud", "serviceAccountName": "begin", "job": {"template": {}}}


def test_a_hook_tells_of_each_turn_once_and_its_note_goes_with_the_upgrade() -> None:
    world = managed(turnHook=HOOK)
    judge = Judge(world)
    finish(world)
    world.server = EKS
    finish(world)
    for host in world.hosts.values():
        host.kubelet = EKS
    finish(world)
    assert world.config.status.phase == "Upgraded"
    assert TURN_TOLD not in world.config.metadata.annotations
    told = [one.partition(" (Job cloud/begin-")[0] for one in judge.taken if "the turn of" in one]
    assert told == [f"tell that it is the turn of {one}" for one in ("ControlPlane", "Nodes")]
    jobs = {one.partition("Job ")[2] for one in judge.taken if "the turn of" in one}
    assert len(jobs) == 2


def test_a_turn_is_told_after_it_is_stored_and_by_type_external_alone() -> None:
    world = managed(turnHook=HOOK)
    judge, operator = Judge(world), Operator(world)
    while not any("the turn of" in one for one in judge.taken):
        stored = world.config.status.turn
        operator.round()
    assert stored is not None
    own = World.of(1, 1, turnHook=HOOK)
    judge = Judge(own)
    finish(own)
    assert not [one for one in judge.taken if "the turn of" in one]


def test_an_abort_takes_the_note_of_the_last_turn_away() -> None:
    world = managed(turnHook=HOOK)
    until(world, lambda: TURN_TOLD in world.config.metadata.annotations)
    world.change(abort=True)
    finish(world)
    assert world.config.status.reason == "Aborted"
    assert TURN_TOLD not in world.config.metadata.annotations


def test_a_pause_tells_nobody_of_a_turn_and_goes_on_where_it_was() -> None:
    world = managed(turnHook=HOOK)
    until(world, lambda: world.config.status.target_version)
    world.change(paused=True)
    judge = Judge(world)
    finish(world)
    assert (turn(world), world.config.status.reason) == ("Ours", "Paused")
    assert "it is for somebody else to bring the control plane" in world.config.status.message
    world.server = EKS
    world.migrate(target="1.36")
    finish(world)
    assert world.config.status.reason == "Paused"
    assert not [one for one in judge.taken if "the turn of" in one]
    world.change(paused=False)
    finish(world)
    assert turn(world) == "Nodes"
    assert [one for one in judge.taken if "the turn of Nodes" in one]


def test_a_field_that_nobody_heeds_is_told_and_makes_no_budget_harmless() -> None:
    world = managed(PDBForceDrainTimeout=5)
    world.never_allowed = ("PodDisruptionBudget shop/db never lets a pod go",)
    Operator(world).round()
    found = {one.code: one for one in world.config.status.findings}
    assert {code: str(one.severity) for code, one in found.items()} == {
        "BUDGETS": "Blocker",
        "NOEFFECT": "Warning",
    }
    assert "spec.PDBForceDrainTimeout" in found["NOEFFECT"].message


def test_the_estimate_is_that_of_the_workloads() -> None:
    world = managed(server=EKS)
    until(world, lambda: turn(world) == "Nodes")
    assert world.migration is not None
    eta = Estimate(likely=world.now)
    status = msgspec.structs.replace(world.migration.status, eta=eta)
    world.migration = msgspec.structs.replace(world.migration, status=status)
    Operator(world).round()
    assert world.config.status.eta == eta


def test_a_worker_that_is_labelled_as_control_plane_half_way_gives_no_turn_back() -> None:
    """By mistake, or as clouds do that label nodes late: every API server is there."""
    world = managed(server=EKS, workers=3)
    operator = Operator(world)
    until(world, lambda: turn(world) == "Nodes", operator)
    world.labelled.add("w-2")
    for _ in range(5):
        operator.round()
        world.turn()
    assert turn(world) == "Nodes"
    for name in ("w-0", "w-1"):
        world.hosts[name].kubelet = EKS
    finish(world)
    assert turn(world) == "Nodes"
    assert "bring node w-2 to v1.36" in world.config.status.message
    world.hosts["w-2"].kubelet = EKS
    finish(world)
    assert world.config.status.phase == "Upgraded"


def test_control_plane_nodes_of_others_are_theirs_before_nodes_are() -> None:
    world = managed(server=EKS, workers=3)
    world.labelled.add("w-2")
    finish(world)
    assert turn(world) == "ControlPlane"
    world.hosts["w-2"].kubelet = EKS
    finish(world)
    assert turn(world) == "Nodes"
