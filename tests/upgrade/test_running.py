"""An upgrade that runs: its order, what people ask of it meanwhile, and what layers tell of themselves."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from shiplift.api.marks import UPGRADE_HOLD
from shiplift.api.nodes import NodePolicy, NodeRolloutStatus, RolloutPhase
from shiplift.api.upgrade import Desired, Strategy
from shiplift.api.workloads import WorkloadMigrationStatus, WorkloadPolicy
from tests.upgrade.players import Judge, Operator, finish, holds, until, well
from tests.upgrade.world import NEW, OLD, Host, World

PLANE, WORKERS = "upgrade-v1.36.3-control-plane", "upgrade-v1.36.3-workers"


def test_the_steps_follow_each_other() -> None:
    world = World.of(1, 2)
    judge = Judge(world)
    finish(world)
    assert judge.taken == [
        "put our finalizer on the UpgradeConfig",
        f"make NodeRollout {PLANE}: nodes to v1.36.3",
        "make WorkloadMigration cluster: workloads to nodes of v1.36.3",
        f"make NodeRollout {WORKERS}: nodes to v1.36.3",
        "delete WorkloadMigration cluster, which was made for the upgrade",
        f"delete NodeRollout {PLANE}",
        f"delete NodeRollout {WORKERS}",
        "take our finalizer off the UpgradeConfig",
    ]
    well(world, judge)
    entry = world.config.status.history[0]
    assert (entry.preceding_version, entry.version) == (OLD, NEW)
    assert entry.start_time is not None
    assert world.config.status.nodes.summary == "3/3"
    assert world.config.status.current_version == NEW


def test_the_strategy_is_handed_on_as_it_is() -> None:
    world = World.of(1, 1, PDBForceDrainTimeout=45)
    strategy = Strategy(nodes=NodePolicy(max_unavailable="20%"), workloads=WorkloadPolicy(soak="5s"))
    world.change(strategy=strategy)
    until(world, lambda: WORKERS in world.rollouts)
    spec = world.rollouts[WORKERS].spec
    assert (spec.max_unavailable, spec.drain_timeout, spec.on_blocked) == ("20%", "45m", "Force")
    assert world.migration is not None
    assert (world.migration.spec.soak, world.migration.spec.target) == ("5s", NEW)


def test_workers_are_not_begun_before_the_migration_has_told_whose_turn_it_is() -> None:
    world, operator = World.of(1, 1), None
    until(world, lambda: world.migration is not None)
    operator = Operator(world)
    operator.round()
    assert WORKERS not in world.rollouts
    assert "has not told yet" in world.config.status.message


def test_a_target_that_is_asked_for_meanwhile_waits() -> None:
    world = World.of(1, 2)
    judge = Judge(world)
    until(world, lambda: world.rollouts)
    world.change(desired=Desired(version="v1.37.1"))
    until(world, lambda: WORKERS in world.rollouts)
    assert world.config.status.target_version == NEW
    assert "v1.37.1 is asked for meanwhile" in world.config.status.message
    finish(world)
    assert [(one.version, one.phase) for one in world.config.status.history] == [
        ("v1.37.1", "Upgraded"),
        (NEW, "Upgraded"),
    ]
    well(world, judge, "v1.37.1")


def test_a_later_upgrade_starts_with_conditions_of_its_own() -> None:
    world = World.of(1, 1)
    finish(world)
    world.change(desired=Desired(version="v1.36.9"))
    until(world, lambda: world.config.status.target_version)
    said = {one.type for one in world.config.status.conditions}
    assert "Checked" not in said
    judge = Judge(world)
    finish(world)
    well(world, judge, "v1.36.9")


def test_the_time_of_the_start_stays_told_until_another_version_is_asked_for() -> None:
    world = World.of(1, 1)
    finish(world)
    began = world.config.status.start_time
    assert began == world.config.status.history[0].start_time
    assert began is not None
    world.change(desired=Desired(version="v1.36.9"), paused=True)
    Operator(world).round()
    assert world.config.status.start_time is None


def test_what_another_layer_told_in_the_status_stays() -> None:
    from shiplift.api.upgrade import Policy

    world = World.of(1, 1)
    until(world, lambda: world.rollouts)
    status = msgspec.structs.replace(world.config.status, policy=Policy(provider="HTTP", id="7"))
    world.publish(world.config.metadata.uid, status)
    finish(world)
    assert world.config.status.policy == Policy(provider="HTTP", id="7")


def test_where_it_was_brought_to_once_it_is_not_brought_again_by_itself() -> None:
    world = World.of(1, 1)
    finish(world)
    world.hosts["late"] = Host()
    finish(world)
    assert world.hosts["late"].kubelet == OLD
    assert "node late runs something else by now" in world.config.status.message
    world.change(retry=1)
    judge = Judge(world)
    finish(world)
    well(world, judge)
    assert world.config.status.retried == 1
    assert len(world.config.status.history) == 2


def test_a_node_that_comes_late_is_waited_for_before_the_end() -> None:
    world = World.of(1, 2)
    judge = Judge(world)
    until(world, lambda: WORKERS in world.rollouts)
    world.hosts["late"] = Host()
    finish(world)
    well(world, judge)
    assert world.hosts["late"].kubelet == NEW


# --- pause, resume ---


def test_a_pause_holds_what_runs_by_a_mark_and_nothing_is_begun() -> None:
    world = World.of(2, 2)
    until(world, lambda: world.rollouts)
    world.change(paused=True)
    finish(world)
    assert world.config.status.reason == "Paused"
    assert world.rollouts[PLANE].metadata.annotations.items() >= {UPGRADE_HOLD: "paused"}.items()
    assert not world.rollouts[PLANE].spec.paused
    assert list(world.rollouts) == [PLANE]
    world.change(paused=False)
    judge = Judge(world)
    finish(world)
    well(world, judge)


def test_a_pause_of_the_users_own_survives() -> None:
    world = World.of(1, 2)
    world.migrate(paused=True)
    finish(world)
    assert world.migration is not None
    assert world.migration.spec.paused


def test_a_migration_that_a_user_paused_is_told_of() -> None:
    world = World.of(1, 3)
    world.migrate(paused=True)
    until(world, lambda: WORKERS in world.rollouts)
    rollout = world.rollouts[WORKERS]
    status = msgspec.structs.replace(rollout.status, phase=RolloutPhase.COMPLETE, observed_generation=1)
    world.rollouts[WORKERS] = msgspec.structs.replace(rollout, status=status)
    for one in world.hosts.values():
        one.kubelet = NEW
    Operator(world).round()
    assert "WorkloadMigration cluster was paused by somebody" in world.config.status.message


def test_a_pause_while_workloads_move_holds_the_users_migration_by_a_mark_that_goes() -> None:
    world = World.of(1, 2)
    world.migrate()
    until(world, lambda: WORKERS in world.rollouts)
    world.change(paused=True)
    finish(world)
    assert world.migration is not None
    assert world.migration.metadata.annotations[UPGRADE_HOLD] == "paused"
    assert not world.migration.spec.paused
    world.change(abort=True)
    judge = Judge(world)
    finish(world)
    assert judge.residue() == []
    assert world.migration.metadata.annotations == {}


# --- failures and retry ---


def test_a_rollout_that_stopped_fails_the_upgrade_until_somebody_retries() -> None:
    world = World.of(1, 2)
    world.hosts["w-0"].fails = True
    finish(world)
    status = world.config.status
    assert (status.phase, status.reason) == ("Failed", "StepFailed")
    assert "`shiplift retry` tries again" in status.message
    assert status.history[0].phase == "Upgrading"
    world.hosts["w-0"].fails = False
    finish(world)
    assert world.config.status.reason == "StepFailed"
    world.change(retry=1)
    judge = Judge(world)
    finish(world)
    well(world, judge)
    assert world.config.status.retried == 1


def test_a_retry_of_what_fails_again_is_granted_once() -> None:
    world = World.of(1, 2)
    world.hosts["w-0"].fails = True
    finish(world)
    world.change(retry=1)
    finish(world)
    assert (world.config.status.reason, world.config.status.retried) == ("StepFailed", 1)


def test_a_rollout_that_somebody_aborts_waits_for_a_retry() -> None:
    world = World.of(1, 2)
    until(world, lambda: WORKERS in world.rollouts)
    rollout = world.rollouts[WORKERS]
    spec = msgspec.structs.replace(rollout.spec, abort=True)
    world.rollouts[WORKERS] = msgspec.structs.replace(rollout, spec=spec)
    finish(world)
    assert "was aborted by somebody" in world.config.status.message
    world.change(retry=1)
    judge = Judge(world)
    finish(world)
    well(world, judge)


def test_a_rollout_that_somebody_deletes_is_made_again() -> None:
    world = World.of(1, 2)
    until(world, lambda: WORKERS in world.rollouts)
    del world.rollouts[WORKERS]
    judge = Judge(world)
    finish(world)
    well(world, judge)


def test_a_target_that_somebody_changes_is_told_and_not_fought_over() -> None:
    world = World.of(1, 2)
    world.migrate()
    until(world, lambda: world.migration is not None and world.migration.spec.target == NEW)
    assert world.migration is not None
    spec = msgspec.structs.replace(world.migration.spec, target="v1.36.1")
    world.migration = msgspec.structs.replace(world.migration, spec=spec)
    finish(world)
    assert (
        "somebody changed the target of WorkloadMigration cluster to v1.36.1" in world.config.status.message
    )
    world.change(abort=True)
    finish(world)
    assert world.migration.spec.target == "v1.36.1"
    assert world.migration.metadata.annotations == {}


# --- abort ---


def test_an_abort_finishes_the_control_plane_first() -> None:
    world = World.of(3, 1)
    until(world, lambda: world.hosts["cp-0"].api_server == NEW)
    world.change(abort=True)
    Operator(world).round()
    assert world.config.status.message.startswith("the control plane is finished first")
    judge = Judge(world)
    finish(world)
    assert {one.api_server for one in world.hosts.values() if one.api_server} == {NEW}
    assert world.hosts["w-0"].kubelet == OLD
    assert (world.config.status.phase, world.config.status.reason) == ("Failed", "Aborted")
    assert world.config.status.history[0].phase == "Failed"
    assert judge.residue() == []


def test_an_abort_that_waits_for_a_control_plane_that_is_stuck_says_so_and_what_ends_the_wait() -> None:
    world = World.of(3, 1)
    operator = Operator(world)
    until(world, lambda: world.hosts["cp-0"].api_server == NEW, operator)
    world.stuck = "node cp-1: pod kept by PodDisruptionBudget shop/db"
    world.turn()
    world.change(abort=True)
    for _ in range(5):
        operator.round()
        world.turn()
    status = world.config.status
    assert (status.reason, holds(world, "Stalled")) == ("Aborting", True)
    assert world.stuck in status.message
    assert f"`shiplift abort rollout/{PLANE}` ends the wait" in status.message
    rollout = world.rollouts[PLANE]
    spec = msgspec.structs.replace(rollout.spec, abort=True)
    world.rollouts[PLANE] = msgspec.structs.replace(rollout, spec=spec)
    judge = Judge(world)
    finish(world)
    assert (world.config.status.reason, holds(world, "Stalled")) == ("Aborted", False)
    assert judge.residue() == []


def test_an_abort_before_the_start_begins_nothing() -> None:
    world = World.of(1, 1, abort=True)
    judge = Judge(world)
    finish(world)
    assert judge.taken == []
    assert world.config.status.message == "aborted before anything was begun"
    assert world.config.status.history == ()


def test_after_an_abort_a_new_version_starts_anew() -> None:
    world = World.of(1, 1)
    until(world, lambda: WORKERS in world.rollouts)
    world.change(abort=True)
    finish(world)
    world.change(abort=False, desired=Desired(version="v1.36.9"))
    judge = Judge(world)
    finish(world)
    well(world, judge, "v1.36.9")
    assert [one.phase for one in world.config.status.history] == ["Upgraded", "Failed"]


def test_deleted_in_the_middle_it_goes_when_all_is_given_back() -> None:
    world = World.of(1, 2)
    world.migrate()
    until(world, lambda: WORKERS in world.rollouts)
    world.delete()
    judge = Judge(world)
    finish(world)
    assert world.upgrade is None
    assert judge.residue() == []
    assert world.migration is not None


@pytest.mark.parametrize("end", ["resume", "abort", "another target"])
def test_a_pause_holds_a_migration_whose_user_had_named_our_target_until_it_is_over(end: str) -> None:
    world = World.of(1, 2)
    world.migrate(target=NEW)
    until(world, lambda: WORKERS in world.rollouts)
    world.change(paused=True)
    finish(world)
    assert world.migration is not None
    assert world.migration.metadata.annotations == {UPGRADE_HOLD: "paused"}
    assert not world.migration.spec.paused
    if end == "resume":
        world.change(paused=False)
    elif end == "abort":
        world.change(abort=True)
    else:
        spec = msgspec.structs.replace(world.migration.spec, target=OLD)
        world.migration = msgspec.structs.replace(world.migration, spec=spec)
    finish(world)
    assert world.migration.metadata.annotations == {}


def test_what_the_control_plane_ran_already_is_passed_over_and_stays_said() -> None:
    world = World.of(1, 2)
    world.hosts["cp-0"] = Host(NEW, api_server=NEW)
    until(world, lambda: WORKERS in world.rollouts)
    finish(world)
    said = {one.type: one for one in world.config.status.conditions}
    assert (said["ControlPlaneUpgraded"].reason, said["NodesUpgraded"].reason) == ("NothingToDo", "Done")
    assert said["ControlPlaneUpgraded"].message == f"the control plane ran {NEW} already"
    world = World.of(1, 1)
    finish(world)
    said = {one.type: one for one in world.config.status.conditions}
    assert said["ControlPlaneUpgraded"].reason == "Done"


def test_a_node_that_does_not_come_back_in_the_end_is_somebodys_to_repair() -> None:
    world = World.of(1, 2)
    until(world, lambda: WORKERS in world.rollouts)
    world.hosts["w-0"].ready = False
    finish(world)
    assert world.config.status.reason == "Checking"
    world.now += timedelta(minutes=10)
    Operator(world).round()
    assert world.config.status.reason == "StepStalled"
    assert "node w-0 is not Ready; repair it, or leave it out" in world.config.status.message
    world.hosts["w-0"].ready = True
    judge = Judge(world)
    finish(world)
    well(world, judge)


def test_an_end_by_deletion_is_on_record_before_the_object_may_go() -> None:
    world = World.of(1, 2)
    until(world, lambda: WORKERS in world.rollouts)
    world.delete()
    operator, seen = Operator(world), ""
    for _ in range(30):
        if world.upgrade is None:
            break
        status = world.config.status
        seen = status.history[0].phase if status.target_version is None else ""
        operator.round()
        world.turn()
    assert (world.upgrade, seen) == (None, "Failed")


@pytest.mark.parametrize("part", [PLANE, WORKERS])
def test_a_layer_that_never_looks_is_named_as_what_has_to_run(part: str) -> None:
    world = World.of(1, 2)
    until(world, lambda: part in world.rollouts)
    rollout = world.rollouts[part]
    about = msgspec.structs.replace(rollout.metadata, creation_timestamp=world.now)
    world.rollouts[part] = msgspec.structs.replace(rollout, metadata=about, status=NodeRolloutStatus())
    Operator(world).round()
    assert world.config.status.reason != "StepStalled"
    world.now += timedelta(minutes=5)
    Operator(world).round()
    assert world.config.status.reason == "StepStalled"
    assert "an operator with the layer nodes has to run" in world.config.status.message


def test_nobody_who_moves_workloads_is_named_and_nodes_stay() -> None:
    world = World.of(1, 2)
    until(world, lambda: world.migration)
    assert world.migration is not None
    about = msgspec.structs.replace(world.migration.metadata, creation_timestamp=world.now)
    world.migration = msgspec.structs.replace(
        world.migration, metadata=about, status=WorkloadMigrationStatus()
    )
    world.now += timedelta(minutes=5)
    Operator(world).round()
    assert world.config.status.reason == "StepStalled"
    assert "an operator with the layer workloads has to run" in world.config.status.message
    assert WORKERS not in world.rollouts


def test_nobody_who_moves_workloads_any_more_is_named_too() -> None:
    """The layer has looked at the user's migration once, and is gone since."""
    world = World.of(1, 2)
    world.migrate(target=OLD)
    world.turn()
    world.gone = True
    operator = Operator(world)
    until(world, lambda: world.migration is not None and world.migration.spec.target == NEW, operator)
    for _ in range(3):
        operator.round()
        world.turn()
    assert not holds(world, "Stalled")
    world.now += timedelta(minutes=5)
    operator.round()
    assert (world.config.status.reason, holds(world, "Stalled")) == ("StepStalled", True)
    assert "an operator with the layer workloads has to run" in world.config.status.message
    world.gone, judge = False, Judge(world)
    finish(world)
    well(world, judge)


def test_whoever_edits_their_migration_half_way_alarms_nobody() -> None:
    world = World.of(1, 9)
    world.migrate(target=OLD)
    operator = Operator(world)
    until(world, lambda: WORKERS in world.rollouts, operator)
    world.stuck = "slow"
    world.now += timedelta(minutes=10)
    operator.round()
    assert world.migration is not None
    about = msgspec.structs.replace(
        world.migration.metadata, generation=world.migration.metadata.generation + 1
    )
    world.migration = msgspec.structs.replace(world.migration, metadata=about)
    operator.round()
    assert "has not told yet" in world.config.status.message
    assert not holds(world, "Stalled")
