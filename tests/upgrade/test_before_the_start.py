"""What keeps an upgrade from starting, what it is told as, and that nothing is changed before all is well."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from shiplift.api.nodes import NodePolicy, OnBlockedDrain
from shiplift.api.operators import OperatorVersion
from shiplift.api.upgrade import Strategy, UpgradePhase
from shiplift.api.values import Approval, Window
from shiplift.upgrade.model import Conducted, Reason
from tests.upgrade.players import Judge, Operator, finish, until, well
from tests.upgrade.world import NEW, OLD, START, Host, World


def told(world: World) -> tuple[str, str, bool]:
    """The reason, the message, and whether somebody has to help."""
    decision = Operator(world).round()
    assert not [one for one in decision.steps if not one.describe().endswith("UpgradeConfig")]
    status = world.config.status
    stalled = any(one.type == "Stalled" and one.status == "True" for one in status.conditions)
    return status.reason or "", status.message, stalled


@pytest.mark.parametrize(
    ("version", "reason", "words"),
    [
        ("v1.34.9", "VersionRefused", "v1.34.9 is below v1.35.4, which the API server of cp-0 runs"),
        ("v1.37.0", "VersionRefused", "more than one minor above v1.35.4"),
        ("v2.0.0", "VersionRefused", "more than one minor above v1.35.4"),
        ("v1.35.4-gke.1", "VersionRefused", "has no order with v1.35.4"),
        ("v1.35.5", "Starting", "from v1.35.4 to v1.35.5"),
        ("1.36.0", "Starting", "from v1.35.4 to v1.36.0"),
        ("v1.36.0-rc.1", "Starting", "from v1.35.4 to v1.36.0-rc.1"),
        ("v1.35.4", "Upgraded", "every node runs v1.35.4 already"),
    ],
)
def test_versions(version: str, reason: str, words: str) -> None:
    world = World.of(1, 2, version=version)
    if reason == "Starting":
        Operator(world).round()  # our finalizer comes first
    found, message, stalled = told(world)
    assert (found, stalled) == (reason, reason == "VersionRefused")
    assert words in message


def test_the_lowest_of_several_api_servers_counts() -> None:
    world = World.of(3, 1, version="v1.37.0")
    world.hosts["cp-1"].api_server = "v1.36.3"
    assert "more than one minor above v1.35.4" in told(world)[1]
    assert world.config.status.current_version == OLD


def test_a_kubelet_that_is_ahead_is_not_taken_back() -> None:
    world = World.of(1, 1)
    world.hosts["w-0"].kubelet = "v1.37.0"
    reason, message, _ = told(world)
    assert reason == "VersionRefused"
    assert "which the kubelet of node w-0 runs" in message
    world.hosts["w-0"].left_out = True
    assert told(world)[:1] == ("PreflightFailed",)


def test_an_api_server_of_which_nobody_knows_the_version_is_waited_for() -> None:
    world = World.of(0, 1)
    world.server = ""
    assert told(world)[:2] == (
        "UnknownVersion",
        "nobody says which version the API server that answers has",
    )


def test_a_control_plane_without_nodes_is_somebody_elses() -> None:
    world = World.of(0, 2)
    reason, message, stalled = told(world)
    assert (reason, stalled) == ("VersionRefused", True)
    assert "no control-plane node takes part" in message
    world.server = NEW
    judge = Judge(world)
    finish(world)
    well(world, judge)


def test_it_starts_when_it_is_due_and_not_before() -> None:
    world = World.of(1, 1, upgradeAt="2026-05-04T10:00:00Z")
    decision = Operator(world).round()
    assert world.config.status.message == "it starts at 2026-05-04 10:00 UTC"
    assert world.config.status.phase is UpgradePhase.PENDING
    assert decision.look_again_after == timedelta(hours=1)
    world.now = START + timedelta(hours=1)
    until(world, lambda: world.config.status.start_time)


def test_where_the_control_plane_runs_it_already_its_nodes_are_upgraded() -> None:
    world = World.of(0, 1)
    world.server = NEW
    said = f"the upgrade of nodes to {NEW} starts: the control plane runs it already"
    until(world, lambda: world.config.status.message == said)


def test_one_that_could_not_start_in_time_does_not_start_by_itself() -> None:
    world = World.of(1, 1, upgradeAt="2026-05-04T08:00:00Z", startDeadline="30m")
    reason, message, stalled = told(world)
    assert (reason, stalled, world.config.status.phase) == ("TooLate", True, "Failed")
    assert "within 30m of 2026-05-04 08:00 UTC" in message
    world.change(start_deadline="2h")
    until(world, lambda: world.config.status.start_time)


@pytest.mark.parametrize("within", [{}, {"startDeadline": "1h"}], ids=["at any time", "in time"])
@pytest.mark.parametrize(
    ("at", "said"),
    [
        ("9999-12-31T23:59:59Z", "it starts at 9999-12-31 23:59 UTC"),
        ("9999-12-31T23:59:59-12:00", "it starts at 9999-12-31 23:59 UTC-12:00"),
    ],
)
def test_a_start_at_the_end_of_all_time_is_waited_for_like_any_other(
    at: str, said: str, within: dict[str, str]
) -> None:
    world = World.of(1, 1, upgradeAt=at, **within)
    Operator(world).round()
    assert (world.config.status.reason, world.config.status.message) == ("NotDue", said)


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00+12:00"])
def test_a_start_at_the_beginning_of_all_time_is_past_like_any_other(at: str) -> None:
    assert told(World.of(1, 1, upgradeAt=at))[0] == "Starting"
    assert told(World.of(1, 1, upgradeAt=at, startDeadline="1h"))[::2] == ("TooLate", True)


def test_a_clock_that_jumps_back_after_the_start_changes_nothing() -> None:
    world = World.of(1, 1, upgradeAt="2026-05-04T08:59:00Z", startDeadline="30m")
    until(world, lambda: world.rollouts)
    began = world.config.status.start_time
    world.now = START - timedelta(days=3)
    Operator(world).round()
    assert world.config.status.start_time == began
    world.now = START + timedelta(days=3)
    judge = Judge(world)
    finish(world)
    well(world, judge)


def test_nothing_is_begun_while_no_window_is_open() -> None:
    window = Window(schedule="0 22 * * *", duration="2h")
    world = World.of(1, 1)
    world.change(windows=(window,))
    reason, message, _ = told(world)
    assert (reason, message) == (
        "WindowClosed",
        "no window is open; the next one opens at 2026-05-04 22:00 UTC",
    )
    world.now = START.replace(hour=22)
    until(world, lambda: world.rollouts)
    assert next(iter(world.rollouts.values())).spec.windows == (window,)


def test_a_window_that_closes_in_the_middle_keeps_the_next_step_from_being_begun() -> None:
    world = World.of(1, 1)
    world.change(windows=(Window(schedule="0 9 * * *", duration="1h"),))
    until(world, lambda: world.rollouts)
    world.now = START.replace(hour=11)
    finish(world)
    assert world.config.status.reason == "WindowClosed"
    assert len(world.rollouts) == 1
    world.now = (START + timedelta(days=1)).replace(hour=9)
    judge = Judge(world)
    finish(world)
    well(world, judge)


def test_a_window_that_cannot_be_read_is_named() -> None:
    world = World.of(1, 1)
    world.change(windows=(Window(schedule="0 25 * * *", duration="1h"),))
    reason, message, stalled = told(world)
    assert (reason, stalled) == ("WindowUnusable", True)
    assert "spec.windows of the UpgradeConfig" in message


def test_paused_before_the_start_it_waits() -> None:
    world = World.of(1, 1, paused=True)
    assert told(world)[0] == "Paused"
    assert world.config.status.start_time is None


# --- approval ---


def test_a_manual_upgrade_waits_for_the_approval_of_its_plan() -> None:
    world = World.of(1, 1, approval="Manual")
    assert told(world)[0] == "NeedsApproval"
    plan = world.config.status.plan
    assert plan is not None
    assert plan.path == (NEW,)
    world.approve()
    judge = Judge(world)
    finish(world)
    well(world, judge)


def test_an_approval_of_another_plan_or_version_does_not_count() -> None:
    world = World.of(1, 1, approval="Manual")
    world.approve("sha256:" + "0" * 64)
    assert "is not the one that ada approved" in told(world)[1]
    world.approve(version="v1.35.9")
    assert told(world)[1] == "ada approved v1.35.9, and the plan goes to v1.36.3"
    assert world.config.status.start_time is None


@pytest.mark.parametrize(
    ("change", "voids"),
    [
        ({"paused": False}, False),
        ({"retry": 3}, False),
        ({"notify": ()}, False),
        ({"windows": (Window(schedule="0 9 * * *", duration="1h"),)}, False),
        ({"pdb_force_drain_timeout": 30}, True),
        ({"strategy": Strategy(nodes=NodePolicy(max_unavailable=2))}, True),
    ],
)
def test_what_voids_an_approval(change: dict[str, Any], voids: bool) -> None:
    world = World.of(1, 1, approval="Manual")
    Operator(world).round()
    world.approve()
    world.change(**change)
    Operator(world).round()
    assert (world.config.status.reason == "NeedsApproval") is voids


def test_more_nodes_do_not_void_an_approval_and_time_made_stays() -> None:
    world = World.of(1, 1, approval="Manual")
    Operator(world).round()
    before = world.config.status.plan
    world.hosts["w-9"] = Host()
    world.now += timedelta(hours=2)
    Operator(world).round()
    assert world.config.status.plan == before


def test_a_plan_that_changes_in_the_middle_is_approved_again_before_the_next_step() -> None:
    world = World.of(1, 2, approval="Manual")
    Operator(world).round()
    world.approve()
    until(world, lambda: world.rollouts)
    world.change(strategy=Strategy(nodes=NodePolicy(max_unavailable=2)))
    finish(world)
    assert world.config.status.reason == "NeedsApproval"
    assert len(world.rollouts) == 1
    world.approve()
    judge = Judge(world)
    finish(world)
    well(world, judge)


def test_an_approval_that_is_asked_for_no_more_is_not_waited_for() -> None:
    world = World.of(1, 1, approval="Manual")
    Operator(world).round()
    world.change(approval=Approval.AUTOMATIC)
    until(world, lambda: world.config.status.start_time)


# --- preflight ---


def _codes(world: World) -> list[tuple[str, str]]:
    return [(one.code, one.severity) for one in world.config.status.findings]


def test_nodes_that_are_not_ready_are_mended_first() -> None:
    world = World.of(1, 2)
    world.hosts["w-1"].ready = False
    reason, message, stalled = told(world)
    assert (reason, stalled) == ("PreflightFailed", True)
    assert message.startswith("NODESNOTREADY: nodes that take part are not Ready: node w-1; repair them")
    world.hosts["w-1"].left_out = True
    assert told(world)[0] == "Starting"


def test_a_kubelet_that_would_be_too_far_behind_blocks() -> None:
    world = World.of(1, 1)
    world.hosts["old"] = Host(kubelet="v1.32.0", left_out=True)
    assert told(world)[0] == "PreflightFailed"
    assert _codes(world) == [("SKEW", "Blocker")]


def test_budgets_that_never_allow_block_unless_they_are_to_be_ignored() -> None:
    world = World.of(1, 1)
    world.never_allowed = ("PodDisruptionBudget shop/web needs 1 of 1 pods healthy: it never lets one go",)
    assert told(world)[0] == "PreflightFailed"
    assert _codes(world) == [("BUDGETS", "Blocker")]
    policy = NodePolicy(on_blocked=OnBlockedDrain.FORCE)
    world.change(strategy=Strategy(nodes=policy))
    assert told(world)[0] == "Starting"
    assert _codes(world) == [("BUDGETS", "Warning")]


@pytest.mark.parametrize(
    ("most", "blocks"), [(None, False), ("1.35.99", True), ("1.36.99", False), ("1.36.2", True)]
)
def test_an_operator_that_does_not_run_on_the_target_blocks(most: str | None, blocks: bool) -> None:
    world = World.of(1, 1)
    limit = {"maxKubernetesVersion": most} if most else {}
    strategy = {"deployments": [{"name": "boats", "spec": {}}]}
    spec = {"appType": "boats", "package": "boats", "version": "1.0.0", "installStrategy": strategy, **limit}
    about = {"name": "boats.v1.0.0", "namespace": "ops"}
    world.operators = (msgspec.convert({"metadata": about, "spec": spec}, OperatorVersion),)
    assert told(world)[0] == ("PreflightFailed" if blocks else "Starting")
    assert _codes(world) == ([("OPERATORS", "Blocker")] if blocks else [])


def test_a_migration_that_was_aborted_blocks() -> None:
    world = World.of(1, 1)
    world.migrate(target=OLD, abort=True)
    assert told(world)[0] == "PreflightFailed"
    assert _codes(world) == [("MIGRATION", "Blocker")]


def test_nodes_without_an_agent_are_named_before_anything_waits_for_them() -> None:
    world = World.of(1, 2)
    world.hosts["w-1"].agent = False
    assert told(world)[0] == "Starting"
    (found,) = world.config.status.findings
    assert (found.code, found.severity.value, found.objects) == ("AGENTS", "Warning", ("node w-1",))
    world.hosts["w-1"].left_out = True
    told(world)
    assert _codes(world) == []


def test_where_others_change_nodes_no_agent_is_missed() -> None:
    world = World.of(1, 2, type="External")
    world.hosts["w-1"].agent = False
    told(world)
    assert _codes(world) == []


def test_capacity_is_named_and_passed_over() -> None:
    world = World.of(1, 1, capacityReservation=True)
    assert told(world)[0] == "Starting"
    assert _codes(world) == [("CAPACITY", "Warning")]


def test_blockers_come_before_warnings() -> None:
    world = World.of(1, 1, capacityReservation=True)
    world.hosts["w-0"].ready = False
    told(world)
    assert _codes(world) == [("NODESNOTREADY", "Blocker"), ("CAPACITY", "Warning")]


def test_a_rollout_of_somebody_else_is_finished_first() -> None:
    from shiplift.api.base import ObjectMeta
    from shiplift.api.nodes import NodeRollout, NodeRolloutSpec

    world = World.of(1, 1)
    about = ObjectMeta(name="theirs", uid="t", generation=1)
    world.rollouts["theirs"] = NodeRollout(metadata=about, spec=NodeRolloutSpec(version=OLD, paused=True))
    assert told(world)[:2] == ("Busy", "NodeRollout theirs is under way; it is finished or deleted first")
    del world.rollouts["theirs"]
    until(world, lambda: world.rollouts)


def test_each_step_has_a_condition_of_its_own() -> None:
    world = World.of(1, 1, approval="Manual")
    told(world)
    said = {one.type: (one.status.value, one.reason) for one in world.config.status.conditions}
    assert said["Valid"] == ("True", "Done")
    assert said["Approved"] == ("False", "NeedsApproval")
    assert "Due" not in said
    world.approve()
    until(world, lambda: len(world.rollouts) == 2)
    said = {one.type: one.status.value for one in world.config.status.conditions}
    assert said["ControlPlaneUpgraded"] == "True"
    assert said["NodesUpgraded"] == "False"


def test_the_first_decision_says_when_to_look_again_where_no_event_will() -> None:
    world = World.of(1, 2)
    world.hosts["w-1"].ready = False
    decision: Conducted = Operator(world).round()
    assert decision.look_again_after == timedelta(seconds=30)
    assert decision.told is not None
    assert decision.told.status.reason == Reason.PREFLIGHT_FAILED


@pytest.mark.parametrize(
    ("runs", "mode", "words"),
    [
        (
            "v1.35.4",
            "Auto",
            "mode Inject where what installed shiplift (`helm upgrade`, or `shiplift manifests`) is",
        ),
        ("v1.35.4", "Auto", ", else in mode Template, where that is granted"),
        ("v1.35.4", "Template", ""),
        ("v1.36.1", "Auto", ""),
    ],
)
def test_the_plan_names_what_mode_inject_takes_where_the_control_plane_comes_to_know_it(
    runs: str, mode: str, words: str
) -> None:
    world = World.of(1, 1, strategy={"workloads": {"mode": mode}})
    for host in world.hosts.values():
        host.kubelet, host.api_server = runs, runs if host.api_server else ""
    Operator(world).round()
    plan = world.config.status.plan
    assert plan is not None
    assert words in plan.summary
    assert words or "Inject" not in plan.summary
