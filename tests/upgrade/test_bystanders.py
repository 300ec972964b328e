"""Somebody interferes half-way: with a version, the windows, a condition, the migration, the UpgradeConfig
itself. It is told, nothing is lost, and nobody is sent to work in vain."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from shiplift.api.upgrade import Desired
from shiplift.api.values import Window
from shiplift.api.workloads import MigrationState
from shiplift.facts.kinds import APP_TYPE, QUORUM_SERVICE
from tests.upgrade.players import Judge, Operator, finish, holds, until, well
from tests.upgrade.world import NEW, OLD, Host, World
from tests.workloads import test_returned as workloads

EKS = "v1.36.2-eks-1a2b3c4"
HOOK: dict[str, Any] = {
    "name": "tell",
    "namespace": "ops",
    "serviceAccountName": "teller",
    "job": {"template": {}},
}


def test_a_leader_that_does_not_know_the_servers_version_yet_gives_nobody_the_turn() -> None:
    world = World.of(0, 2, version="1.36", type="External", turnHook=HOOK)
    world.server, operator = EKS, Operator(world)
    for _ in range(10):
        operator.round()
        world.turn()
    before, judge = world.config.status.turn, Judge(world)
    assert before is not None
    assert before.of == "Nodes"
    world.now += timedelta(hours=2)
    world.server, another = "", Operator(world)
    another.round()
    assert world.config.status.reason == "UnknownVersion"
    world.server = EKS
    for _ in range(3):
        another.round()
    assert world.config.status.turn == before
    assert not [one for one in judge.taken if "turn" in one]


def test_a_leader_that_does_not_know_the_servers_version_yet_makes_no_new_plan() -> None:
    """Or each new leader would tell again that somebody has to approve it."""
    world = World.of(0, 2, version="1.36", type="External", approval="Manual")
    operator = Operator(world)
    for _ in range(3):
        operator.round()
    before, known = world.config.status.plan, world.server
    assert before is not None
    world.now += timedelta(hours=2)
    world.server, another = "", Operator(world)
    another.round()
    assert world.config.status.reason == "UnknownVersion"
    assert world.config.status.plan == before
    world.server = known
    another.round()
    assert world.config.status.plan == before


def test_the_round_of_a_start_gives_nobody_the_turn() -> None:
    """Whose turn it is is told a round later, or two turns would come in one second."""
    world = World.of(0, 2, version="1.36", type="External")
    operator = Operator(world)
    until(world, lambda: world.config.status.target_version, operator)
    assert world.config.status.turn is None
    operator.round()
    turn = world.config.status.turn
    assert turn is not None
    assert turn.of == "ControlPlane"


def test_a_version_that_cannot_be_read_keeps_nobody_from_aborting() -> None:
    world = World.of(1, 2)
    until(world, lambda: world.rollouts)
    world.hosts["cp-0"].api_server = "v0.0.0-master+$Format:%H$"
    world.change(abort=True)
    finish(world)
    assert world.config.status.reason == "Aborted"


def test_a_version_that_cannot_be_read_is_named_before_the_start() -> None:
    world = World.of(1, 2)
    world.hosts["cp-0"].api_server = "v0.0.0-master+$Format:%H$"
    Operator(world).round()
    assert world.config.status.reason == "UnknownVersion"
    assert "node cp-0 says that it has version 'v0.0.0-master+$Format:%H$'" in world.config.status.message


def test_windows_that_become_unusable_while_it_runs_are_told() -> None:
    world = World.of(1, 2)
    operator = Operator(world)
    until(world, lambda: world.rollouts, operator)
    good = world.config.spec.windows
    world.change(windows=(Window(schedule="0 22 * * 1-5", duration="4h", time_zone="Europe/Madird"),))
    for _ in range(20):
        operator.round()
        world.turn()
    assert (world.config.status.reason, holds(world, "Stalled")) == ("WindowUnusable", True)
    assert "Europe/Madird" in world.config.status.message
    world.change(windows=good)
    judge = Judge(world)
    finish(world)
    well(world, judge)


def test_a_reason_that_this_release_does_not_know_keeps_nobody_from_aborting() -> None:
    world = World.of(1, 2)
    until(world, lambda: world.rollouts)
    status = world.config.status
    said = tuple(
        msgspec.structs.replace(one, reason="OfALaterRelease") if one.type == "Valid" else one
        for one in status.conditions
    )
    world.publish(world.config.metadata.uid, msgspec.structs.replace(status, conditions=said))
    world.change(abort=True)
    finish(world)
    assert world.config.status.reason == "Aborted"


def test_one_that_is_replaced_by_one_that_waits_holds_nothing_meanwhile() -> None:
    world = World.of(1, 2)
    world.later(QUORUM_SERVICE, "minio")
    world.later(APP_TYPE, "op")
    until(world, lambda: world.services["minio"].held)
    world.ask(upgradeAt="2027-01-01T00:00:00Z")
    finish(world)
    assert world.config.status.reason == "NotDue"
    assert Judge(world).residue() == []


def test_a_rollout_to_another_version_goes_where_nobody_knows_of_its_upgrade_any_more() -> None:
    world = World.of(1, 2)
    until(world, lambda: world.rollouts)
    uid = world.config.metadata.uid
    world.publish(uid, type(world.config.status)())
    world.change(desired=Desired(version="v1.36.4"))
    judge = Judge(world)
    finish(world)
    well(world, judge, "v1.36.4")


def test_a_migration_that_somebody_deletes_half_way_is_made_again() -> None:
    world = World.of(1, 4)
    operator = Operator(world)
    until(world, lambda: any(name.endswith("workers") for name in world.rollouts), operator)
    world.turn()
    operator.round()
    world.migration = None
    judge = Judge(world)
    finish(world)
    well(world, judge)
    assert [one for one in judge.taken if one.startswith("make WorkloadMigration")]


def test_what_somebody_has_to_approve_is_not_begun_while_the_plan_is_not_known() -> None:
    world = World.of(1, 2, approval="Manual")
    uid = world.config.metadata.uid
    begun = msgspec.structs.replace(
        world.config.status, target_version="v1.36.3", start_time=world.now, history=()
    )
    world.publish(uid, begun)
    world.hosts["cp-0"].api_server = ""
    judge = Judge(world)
    Operator(world).round()
    assert not [one for one in judge.taken if one.startswith("make NodeRollout")]


def test_a_cloud_that_brings_another_patch_or_a_suffix_is_not_waited_for_in_silence() -> None:
    world = World.of(0, 2, version="1.36.2", type="External")
    operator = Operator(world)
    until(world, lambda: world.config.status.turn, operator)
    world.server = EKS
    operator.round()
    assert (world.config.status.reason, holds(world, "Stalled")) == ("StepStalled", True)
    assert f"the control plane runs {EKS}, which no upgrade makes v1.36.2" in world.config.status.message
    assert "abort, and ask for v1.36," in world.config.status.message
    world.server = "v1.36.2"
    operator.round()
    world.hosts["w-1"].kubelet = "v1.36.4"
    until(world, lambda: "node w-1 runs v1.36.4" in world.config.status.message, operator)
    assert holds(world, "Stalled")


def test_a_node_that_is_past_the_target_is_named_in_the_end() -> None:
    world = World.of(1, 2)
    operator = Operator(world)
    until(world, lambda: all(one.kubelet == NEW for one in world.hosts.values()), operator)
    world.turn()
    world.hosts["w-9"] = Host(kubelet="v1.36.9")
    operator.round()
    assert (world.config.status.reason, holds(world, "Stalled")) == ("StepStalled", True)
    assert f"node w-9 runs v1.36.9, which no upgrade makes {NEW}" in world.config.status.message
    world.hosts["w-9"].left_out = True
    world.turn()
    assert waits_for_nodes(world)
    finish(world)
    assert world.config.status.phase == "Upgraded"


def waits_for_nodes(world: World) -> bool:
    """Whether all workloads have arrived, as the layer workloads says it, which knows of nobody who is left
    out of an upgrade."""
    migration = world.migration
    assert migration is not None
    reasons = {one.reason for one in migration.status.conditions}
    return migration.status.state is MigrationState.UPGRADE and "WaitingForNodes" in reasons


def test_what_the_layer_workloads_says_once_only_nodes_are_left_is_what_is_played_here() -> None:
    real, _ = workloads.moved()
    said = workloads.status(real)
    world = World.of(0, 2, type="External")
    world.server = NEW
    until(world, lambda: world.migration)
    world.hosts["w-0"].left_out, world.hosts["w-1"].kubelet = True, NEW
    world.turn()
    assert world.migration is not None
    played = world.migration.status
    assert (said.state, said.target) == (played.state, played.target)
    assert said.progress.done == said.progress.total > 0
    assert played.progress.done == played.progress.total > 0
    assert {(one.type, one.status, one.reason) for one in said.conditions} == {
        (one.type, one.status, one.reason) for one in played.conditions
    }


@pytest.mark.parametrize("external", [False, True], ids=["our nodes", "nodes of others"])
@pytest.mark.parametrize("own", [None, "", OLD], ids=["no migration", "one without target", "one with"])
def test_a_node_that_is_left_out_half_way_is_not_waited_for_and_nothing_of_ours_stays(
    external: bool, own: str | None
) -> None:
    world = World.of(0 if external else 1, 3, **({"type": "External"} if external else {}))
    world.server = NEW
    if own is not None:
        world.migrate(target=own or None)
    operator, judge = Operator(world), Judge(world)
    until(world, lambda: world.migration is not None and world.migration.spec.target == NEW, operator)
    world.hosts["w-0"].left_out = True
    if external:
        world.hosts["w-1"].kubelet = world.hosts["w-2"].kubelet = NEW
    until(world, lambda: waits_for_nodes(world), operator)
    finish(world)
    well(world, judge)
    assert world.hosts["w-0"].kubelet == OLD
    assert (world.migration is None) is (own is None)
    if world.migration is not None:
        # a target that all but one node have left behind would send workloads to that one
        assert world.migration.spec.target == (NEW if own else None)


def test_a_node_that_is_left_out_is_waited_for_while_workloads_are_on_it() -> None:
    world = World.of(1, 3)
    operator = Operator(world)
    until(world, lambda: any(name.endswith("workers") for name in world.rollouts), operator)
    world.hosts["w-2"].left_out, world.stays = True, True
    for _ in range(30):
        operator.round()
        world.turn()
    assert (world.config.status.phase, world.config.status.reason) == ("Upgrading", "Workloads")
    world.stays, judge = False, Judge(world)
    finish(world)
    well(world, judge)


def test_an_abort_while_a_rollout_cannot_be_read_says_so_and_lets_nothing_go() -> None:
    world = World.of(1, 2)
    until(world, lambda: any(name.endswith("workers") for name in world.rollouts))
    [garbled] = [name for name in world.rollouts if name.endswith("workers")]
    world.garbled, judge = {garbled}, Judge(world)
    world.change(abort=True)
    operator = Operator(world)
    for _ in range(20):
        operator.round()
        world.turn()
    assert (world.config.status.reason, holds(world, "Stalled")) == ("Unreadable", True)
    assert f"may be left: NodeRollout {garbled} cannot be read" in world.config.status.message
    assert world.config.metadata.finalizers
    world.garbled = set()
    finish(world)
    assert world.config.status.reason == "Aborted"
    assert judge.residue() == []


def given_up(world: World, how: str) -> None:
    """Somebody deletes the migration, which its layer's finalizer keeps for a while, or aborts it."""
    assert world.migration is not None
    about, spec = world.migration.metadata, world.migration.spec
    if how == "deleted":
        about = msgspec.structs.replace(about, deletion_timestamp=world.now)
    else:
        spec = msgspec.structs.replace(spec, abort=True)
    world.migration = msgspec.structs.replace(world.migration, metadata=about, spec=spec)


SAYS = {
    "deleted": ("Workloads", False, "was deleted by somebody; it is made again when it is gone"),
    "aborted": ("StepStalled", True, "was aborted by somebody; delete it, and it is made again"),
}


@pytest.mark.parametrize("external", [False, True], ids=["our nodes", "nodes of others"])
@pytest.mark.parametrize("how", ["deleted", "aborted"])
@pytest.mark.parametrize("when", ["before the nodes", "while workloads move"])
def test_workloads_have_not_moved_because_their_migration_is_given_up(
    external: bool, how: str, when: str
) -> None:
    world = World.of(0 if external else 1, 3, **({"type": "External"} if external else {}))
    world.server, world.stays = NEW, True
    operator, judge = Operator(world), Judge(world)
    until(world, lambda: world.migration, operator)
    if when == "while workloads move":
        world.hosts["w-2"].left_out = True
        world.hosts["w-0"].kubelet = world.hosts["w-1"].kubelet = NEW
        until(world, lambda: world.config.status.reason == "Workloads", operator)
        for _ in range(2):
            operator.round()
            world.turn()
    given_up(world, how)
    for _ in range(10):
        operator.round()
        world.turn()
    reason, stalled, words = SAYS[how]
    assert (world.config.status.reason, holds(world, "Stalled")) == (reason, stalled)
    assert words in world.config.status.message
    assert not holds(world, "WorkloadsMoved")
    assert when == "while workloads move" or not [one for one in world.rollouts if one.endswith("workers")]
    world.migration, world.stays = None, False
    if external:
        world.hosts["w-0"].kubelet = world.hosts["w-1"].kubelet = NEW
        world.hosts["w-2"].left_out = True
    world.now += timedelta(minutes=1)
    finish(world)
    assert [one for one in judge.taken if one.startswith("make WorkloadMigration")][1:]
    well(world, judge)
