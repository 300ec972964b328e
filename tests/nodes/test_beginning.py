"""When nodes are begun, which, and what is told where none is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from shiplift.agent.protocol import AGENT, Agent
from shiplift.api.marks import CORDONED_BY, TARGET_LABEL
from shiplift.api.nodes import Canary, Hooks, NodeState, RolloutPass, RolloutPhase
from shiplift.api.values import Hook, LabelSelector, Software, Window
from shiplift.engine.claims import Claim, Target
from shiplift.facts import kinds
from shiplift.nodes.decide.decision import decide
from shiplift.nodes.model import Migration, Reason, Rolling, Unreadable
from tests.nodes.players import FAILS, Operator, tick
from tests.nodes.stage import Stage
from tests.nodes.world import NEW, OLD, START, Memory, World

NEVER = ["ControlPlane"]


def said(stage: Stage, **seen: Any) -> Rolling:
    """What is decided if the cluster is seen so."""
    view = msgspec.structs.replace(stage.world.view(Memory()), **seen)
    return decide(view, stage.world.now)


def only(decision: Rolling) -> tuple[Reason, str, bool]:
    (told,) = decision.told
    return told.reason, told.message, told.stalled


# --- refused as a whole: nothing is changed ---


@pytest.mark.parametrize(
    ("spec", "reason", "message"),
    [
        ({"version": "v1.38.0"}, Reason.VERSION_REFUSED, "v1.38.0 is more than one minor above v1.36.2"),
        ({"version": "v1.35.9"}, Reason.VERSION_REFUSED, "v1.35.9 is below v1.36.2"),
        (
            {"node_selector": LabelSelector(match_labels={"tier": "gold"})},
            Reason.NO_NODES,
            "spec.nodeSelector and spec.pools match no node",
        ),
        ({"pools": ("gold",)}, Reason.NO_NODES, "spec.nodeSelector and spec.pools match no node"),
        (
            {"windows": (Window(schedule="0 22 * * *", duration="10m"),), "expected_node_duration": "15m"},
            Reason.WINDOW_TOO_SHORT,
            "window '0 22 * * *' for 0:10:00 in UTC is shorter than the 0:15:00 that is expected",
        ),
        (
            {"windows": (Window(schedule="0 99 * * *", duration="1h"),)},
            Reason.UNREADABLE,
            "spec.windows: window",
        ),
        (
            {"windows": (Window(schedule="0 9 * * *", duration="1h", time_zone="Moon/Far"),)},
            Reason.UNREADABLE,
            "Moon",
        ),
        (
            {"canary": Canary(node_selector=LabelSelector(match_labels={"tier": "gold"}))},
            Reason.NO_NODES,
            "spec.canary.nodeSelector matches no worker",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_by_name_and_nothing_is_changed(
    spec: dict[str, Any], reason: Reason, message: str
) -> None:
    stage = Stage(2, 0 if "canary" in spec else 1)
    stage.world.change(**spec)
    stage.finish()
    (condition,) = [one for one in stage.told.conditions if one.type == "Stalled"]
    assert condition.reason == reason
    assert message in stage.told.message
    assert stage.judge.cordoned == []
    assert stage.judge.ordered == []


def test_workers_never_get_ahead_of_a_clouds_api_server() -> None:
    stage = Stage(2)
    reason, message, stalled = only(said(stage, api_servers={"the cloud": "v1.35.4"}))
    assert (reason, stalled) == (Reason.VERSION_REFUSED, True)
    assert message.startswith("v1.36.3 is ahead of the API server the cloud")


def test_of_two_rollouts_over_one_node_the_younger_is_refused() -> None:
    stage = Stage(2)
    stage.world.roll_out("later", version="v1.36.4")
    stage.finish()
    later = stage.world.rollouts["later"].status
    assert later.phase is RolloutPhase.PENDING
    assert later.message == (
        "node w-0 is in the scope of NodeRollout next too, which was there first: delete or abort next, or"
        " change a selector"
    )
    assert {one.kubelet for one in stage.world.nodes.values()} == {NEW}
    stage.world.delete()
    stage.finish()
    assert {one.kubelet for one in stage.world.nodes.values()} == {"v1.36.4"}


def test_an_unreadable_node_or_rollout_keeps_nodes_from_being_begun() -> None:
    stage = Stage(2)
    found = Unreadable(kinds.NODE, "w-9", "no uid")
    assert only(said(stage, unreadable=(found,))) == (
        Reason.UNREADABLE,
        "nothing is begun: Node w-9 cannot be read: no uid",
        True,
    )


def test_nothing_is_done_on_what_may_be_old() -> None:
    stage = Stage(2)
    stage.until(lambda: stage.judge.cordoned)
    decision = said(stage, stale=(kinds.POD,))
    assert decision.steps == ()
    assert only(decision) == (Reason.STALE_VIEW, "nothing is done: what is known of Pod may be old", False)
    assert decision.told[0].status.nodes == stage.told.nodes


# --- the path is shown, the nodes are prepared ---


def test_path_and_finalizer_are_there_before_anything_is_done() -> None:
    stage = Stage(1, 1, minor=True)
    first = said(stage)
    assert first.describe() == ("put our finalizer on NodeRollout next",)
    assert first.told[0].status.path == ("v1.37.1",)
    assert first.told[0].status.running_pass is None
    stage.until(lambda: stage.told.running_pass is RolloutPass.PREPARE)
    assert stage.judge.steps == ["SetFinalizer"]


def test_passes_follow_each_other_and_are_told_before_their_first_node() -> None:
    stage = Stage(2, 2)
    passes: list[RolloutPass | None] = []
    for _ in range(400):
        stage.operator.round()
        if stage.told.running_pass not in passes[-1:]:
            passes.append(stage.told.running_pass)
        tick(stage.world, stage.judge.look)
        if stage.phase() is RolloutPhase.COMPLETE:
            break
    assert passes == [
        None,
        RolloutPass.PREPARE,
        RolloutPass.CONTROL_PLANE,
        RolloutPass.CONTROL_PLANE_KUBELETS,
        RolloutPass.WORKERS,
        RolloutPass.DONE,
    ]
    assert stage.judge.ordered == [
        "UpgradeApply cp-0",
        "UpgradeNode cp-1",
        "Packages cp-0",
        "Packages cp-1",
        "Packages w-0",
        "Packages w-1",
    ]
    snapshot = stage.told.snapshot
    assert snapshot is not None
    assert (snapshot.machine, snapshot.path) == ("cp-0", "/var/lib/etcd.db")
    assert stage.told.complete_time is not None


def test_several_packages_are_one_order_and_need_no_version_of_kubernetes() -> None:
    wanted = (Software(name="containerd", version="1.7.24"), Software(name="runc", version="1.2.1"))
    stage = Stage(2, 1)
    stage.world.rollouts.clear()
    stage.world.roll_out(version=None, software=wanted)
    stage.finish()
    assert stage.judge.ordered == ["Packages cp-0", "Packages w-0", "Packages w-1"]
    for node in stage.world.nodes.values():
        assert (node.packages["containerd"], node.packages["runc"], node.kubelet) == ("1.7.24", "1.2.1", OLD)
    assert (stage.phase(), stage.judge.residue()) == (RolloutPhase.COMPLETE, [])


def test_a_node_that_joins_late_or_drifts_is_taken_up() -> None:
    stage = Stage(2)
    stage.finish()
    stage.well()
    stage.world.add_node("w-9")
    stage.node("w-0").kubelet = OLD
    stage.finish()
    stage.well()
    assert stage.judge.cordoned == ["w-0", "w-1", "w-0", "w-9"]


# --- budget, order, canary, windows ---


@pytest.mark.parametrize(("budget", "most"), [(1, 1), (2, 2), ("50%", 2), ("1%", 1), (9, 4)])
def test_no_more_nodes_are_away_than_the_budget_allows(budget: int | str, most: int) -> None:
    stage = Stage(4, budget=budget)
    for pod in stage.world.pods.values():
        pod.budget = ""
    at_once = 0
    for _ in range(100):
        stage.operator.round()
        tick(stage.world, stage.judge.look)
        at_once = max(at_once, sum(CORDONED_BY in one.annotations for one in stage.world.nodes.values()))
    assert at_once == most
    stage.finish()
    stage.well()


def test_nodes_that_are_down_use_the_budget_up_and_are_named() -> None:
    stage = Stage(3)
    node = stage.node("w-2")
    node.ready, node.kubelet, node.packages["kubelet"] = False, NEW, NEW[1:]
    node.packages["kubeadm"] = NEW[1:]
    stage.finish()
    assert stage.judge.cordoned == []
    assert stage.told.message.startswith("maxUnavailable is 1, and 1 unavailable: w-2; repair them, or")
    assert stage.told.unavailable == 1


def test_canary_nodes_go_first_and_soak_before_the_others_follow() -> None:
    stage = Stage(
        3, canary=Canary(nodes=1, node_selector=LabelSelector(match_labels={"tier": "gold"}), soak="20m")
    )
    stage.node("w-2").labels["tier"] = "gold"
    stage.until(lambda: stage.told.canary_start_time)
    assert stage.judge.cordoned == ["w-2"]
    began = stage.world.now
    assert stage.told.message.startswith("canary w-2: watched until 2026-05-04 09:")
    stage.until(lambda: len(stage.judge.cordoned) > 1, rounds=1300)
    assert stage.world.now - began >= timedelta(minutes=19, seconds=50)
    stage.finish()
    stage.well()


def test_a_canary_that_is_not_well_any_more_is_watched_anew() -> None:
    stage = Stage(2, canary=Canary(soak="20m"))
    stage.until(lambda: stage.told.canary_start_time)
    stage.node("w-0").ready = False
    stage.until(lambda: stage.told.canary_start_time is None)
    stage.node("w-0").ready = True
    stage.finish()
    stage.well()


def test_a_canary_that_fails_stops_the_others() -> None:
    stage = Stage(3, canary=Canary(soak="20m"), max_failures=5)
    stage.node("w-0").fails = FAILS
    stage.finish()
    assert stage.judge.cordoned == ["w-0"]
    assert stage.told.message.startswith(
        "canary node w-0 has failed: its agent says: no space left on the disk"
    )
    assert stage.phase() is RolloutPhase.STOPPED


def test_nodes_are_begun_in_windows_only_and_only_where_one_fits() -> None:
    window = Window(schedule="0 22 * * *", duration="30m")
    stage = Stage(1, windows=(window,), expected_node_duration="20m")
    stage.until(lambda: "no window is open" in stage.told.message)
    assert stage.told.next_window_time == datetime(2026, 5, 4, 22, 0, tzinfo=UTC)
    stage.world.now = datetime(2026, 5, 4, 22, 11, tzinfo=UTC)
    stage.operator.round()
    assert stage.told.nodes == ()
    assert "the next one opens at 2026-05-05 22:00 UTC" in stage.told.message
    stage.world.now = datetime(2026, 5, 5, 22, 0, tzinfo=UTC)
    stage.operator.round()
    assert [one.name for one in stage.told.nodes] == ["w-0"]


def test_how_long_a_node_takes_is_measured() -> None:
    stage = Stage(3)
    stage.finish()
    assert len(stage.told.durations) == 3
    stage.world.change(windows=(Window(schedule="0 22 * * *", duration="5m"),))
    rollout = stage.world.rollouts["next"]
    status = msgspec.structs.replace(rollout.status, durations=(100, 400, 500))
    stage.world.rollouts["next"] = msgspec.structs.replace(rollout, status=status)
    stage.node("w-0").kubelet = OLD
    assert only(said(stage))[0] is Reason.WINDOW_TOO_SHORT


def test_a_pause_begins_no_more_nodes_and_finishes_those_in_flight() -> None:
    stage = Stage(3)
    stage.until(lambda: stage.judge.cordoned)
    stage.world.change(paused=True)
    stage.finish()
    assert stage.judge.cordoned == ["w-0"]
    assert stage.node("w-0").kubelet == NEW
    assert (stage.phase(), stage.judge.closed()) == (RolloutPhase.PAUSED, [])
    stage.world.change(paused=False)
    stage.finish()
    stage.well()


# --- beside a migration of workloads ---


def test_nodes_without_held_pods_are_begun_and_others_are_not() -> None:
    stage = Stage(3)
    stage.world.migration = Migration("", "", {"w-0": "shop/db-0", "w-1": "shop/db-1"})
    stage.until(lambda: stage.node("w-2").kubelet == NEW)
    assert stage.judge.cordoned == ["w-2"]
    stage.finish()
    assert stage.told.message.startswith(
        "every node that is left holds pods whose turn has not come (node w-0"
    )
    assert stage.phase() is RolloutPhase.RUNNING
    stage.world.migration = Migration()
    stage.finish()
    stage.well()


def test_where_every_node_holds_pods_it_needs_one_more_before_anything_is_cordoned() -> None:
    stage = Stage(2)
    stage.world.migration = Migration("", "", {"w-0": "shop/db-0", "w-1": "shop/db-1"})
    stage.finish()
    assert stage.judge.cordoned == []
    assert stage.told.conditions[0].reason == Reason.NEEDS_SURGE
    stage.world.migration = Migration("", "w-1", stage.world.migration.holding)
    stage.until(lambda: stage.judge.cordoned)
    assert stage.judge.cordoned == ["w-1"]


def test_while_workloads_move_a_node_is_uncordoned_only_with_the_mark_of_their_target() -> None:
    stage = Stage(1)
    stage.world.migration = Migration(NEW)
    stage.finish()
    assert stage.judge.closed() == ["w-0"]
    assert (
        stage.record("w-0").message
        == f"it is uncordoned once it has label {TARGET_LABEL}=v1.36.3 of the migration"
    )
    stage.node("w-0").labels[TARGET_LABEL] = NEW
    stage.world.touched(stage.node("w-0"))
    stage.finish()
    stage.well()


# --- what others do, and what cannot be read ---


def test_a_cordon_by_hand_between_choice_and_cordon_is_learnt() -> None:
    stage = Stage(1)
    stage.until(lambda: stage.told.nodes)
    stage.node("w-0").unschedulable = True
    stage.world.touched(stage.node("w-0"))
    stage.finish()
    assert stage.judge.closed() == ["w-0"]
    assert (stage.phase(), stage.judge.residue()) == (RolloutPhase.COMPLETE, [])


def test_who_uncordons_before_the_claim_makes_the_drain_begin_again() -> None:
    stage = Stage(2)
    stage.until(lambda: stage.told.nodes)
    while not stage.judge.ordered:
        tick(stage.world, stage.judge.look)
        stage.operator.round()
    node = stage.node("w-0")
    node.unschedulable = False
    stage.world.touched(node)
    stage.world.add_pod("w-0")
    stage.operator.round()
    assert stage.judge.steps[-1] == "Withdraw"
    stage.finish()
    stage.well()
    assert stage.judge.cordoned == ["w-0", "w-0", "w-1"]


def test_who_uncordons_again_and_again_is_told_and_fought_ever_more_slowly() -> None:
    stage = Stage(1)
    stage.world.budgets["cart"] = 0
    times: list[datetime] = []
    for _ in range(60):
        before = len(stage.judge.cordoned)
        stage.operator.round()
        if len(stage.judge.cordoned) > before:
            times.append(stage.world.now)
        tick(stage.world, stage.judge.look)
        stage.node("w-0").unschedulable = False
        stage.world.touched(stage.node("w-0"))
    gaps = [(later - earlier).total_seconds() for earlier, later in zip(times, times[1:], strict=False)]
    assert gaps == sorted(gaps)
    assert gaps[-1] >= 15
    record = stage.record("w-0")
    assert record.reason == Reason.CONTESTED
    assert "somebody else takes back our cordon" in record.message


def test_an_order_that_somebody_strips_is_written_again_unless_it_was_claimed() -> None:
    stage = Stage(1)
    stage.until(lambda: stage.judge.ordered)
    stage.world.apply(_stripped(stage), Memory())
    stage.finish()
    stage.well()
    assert stage.judge.ordered == ["Packages w-0", "Packages w-0"]


def _stripped(stage: Stage) -> Any:
    from shiplift.nodes.steps import Withdraw

    node = stage.node("w-0")
    node.annotations.pop("node.shiplift.dev/ready", None)
    return Withdraw(node.name, node.uid, node.version, "")


def test_an_annotation_that_cannot_be_read_is_named_and_waited_for() -> None:
    stage = Stage(1)
    stage.until(lambda: stage.judge.cordoned)
    stage.node("w-0").annotations["node.shiplift.dev/outcome"] = "{"
    stage.operator.round()
    record = stage.record("w-0")
    assert record.reason == Reason.UNREADABLE
    assert record.message.startswith(
        "nothing is done to it: annotation node.shiplift.dev/outcome: '{' is no JSON"
    )
    del stage.node("w-0").annotations["node.shiplift.dev/outcome"]
    stage.finish()
    stage.well()


def test_an_agent_of_another_protocol_is_not_begun() -> None:
    stage = Stage(1)
    stage.until(lambda: stage.told.running_pass is RolloutPass.WORKERS)
    stage.world.rollouts["next"] = msgspec.structs.replace(
        stage.world.rollouts["next"], status=msgspec.structs.replace(stage.told, nodes=())
    )
    stage.node("w-0").annotations[AGENT] = Agent("9", 1, protocol=9).written()
    assert only(said(stage))[1] == "node w-0 has no agent that speaks our protocol"


def test_marks_of_a_rollout_that_is_gone_are_taken_off() -> None:
    stage = Stage(2)
    stage.until(lambda: stage.judge.ordered)
    stage.world.rollouts.clear()
    stage.world.claims.clear()
    stage.finish_without_rollout()
    assert (stage.judge.residue(), stage.judge.closed()) == ([], [])


def test_a_status_that_somebody_emptied_leaves_nothing_behind() -> None:
    stage = Stage(2)
    stage.until(lambda: stage.judge.ordered)
    rollout = stage.world.rollouts["next"]
    stage.world.rollouts["next"] = msgspec.structs.replace(
        rollout, status=msgspec.structs.replace(rollout.status, nodes=())
    )
    stage.finish()
    stage.well()


def test_a_token_in_the_status_that_allows_nothing_here_is_none() -> None:
    stage = Stage(2)
    stage.until(lambda: stage.judge.cordoned)
    rollout = stage.world.rollouts["next"]
    broken = tuple(msgspec.structs.replace(one, token="x.y") for one in rollout.status.nodes)
    stage.world.rollouts["next"] = msgspec.structs.replace(
        rollout, status=msgspec.structs.replace(rollout.status, nodes=broken)
    )
    stage.finish()
    stage.well()


# --- the control plane ---


def test_while_somebody_else_has_claimed_the_control_plane_none_of_it_is_begun() -> None:
    stage = Stage(1, 1)
    claim = Claim("remove-machine", Target(kinds.NODE, "cp-7", "uid-7", "1"), 1, START)
    stage.world.claims["remove-machine"] = claim
    stage.finish()
    assert stage.told.message == "Node cp-7 is being changed by somebody else: claim remove-machine"
    assert stage.judge.ordered == []
    stage.world.claims.clear()
    stage.finish()
    stage.well()


def test_where_claims_cannot_be_read_no_control_plane_is_begun() -> None:
    stage = Stage(1, 1)
    stage.until(lambda: stage.told.snapshot)
    decision = said(stage, claims=None)
    assert only(decision)[1] == "the claims on the control plane cannot be read"
    assert decision.told[0].status.nodes == ()


def test_a_control_plane_node_that_is_down_is_waited_for() -> None:
    stage = Stage(1, 3)
    down = stage.node("cp-2")
    down.ready, down.kubelet, down.api_server = False, NEW, NEW
    down.packages |= {"kubelet": NEW[1:], "kubeadm": NEW[1:]}
    stage.finish()
    assert stage.told.message == "control-plane node cp-2 is down: no other is touched until it is Ready"
    assert stage.judge.ordered == []
    down.ready = True
    stage.world.touched(down)
    stage.finish()
    stage.well()


def test_a_control_plane_node_that_was_chosen_waits_for_one_that_went_down_since() -> None:
    stage = Stage(1, 3)
    stage.until(lambda: any(one.name == "cp-1" for one in stage.told.nodes))
    stage.node("cp-0").ready = False
    stage.world.touched(stage.node("cp-0"))
    stage.finish()
    assert stage.record("cp-1").message == "control-plane node cp-0 is down"
    assert stage.judge.ordered == ["UpgradeApply cp-0"]
    stage.node("cp-0").ready = True
    stage.world.touched(stage.node("cp-0"))
    stage.finish()
    stage.well()


def test_a_control_plane_whose_version_nobody_tells_is_not_planned_for() -> None:
    stage = Stage(1, 1)
    assert only(said(stage, api_servers={"the server": NEW}))[1] == (
        "the agent of control-plane node cp-0 does not say which version its API server has"
    )


# --- hooks ---


def _hook(name: str) -> Hook:
    return Hook(name=name, namespace="shop", service_account_name="hooks", job={})


def test_hooks_run_around_each_node_and_are_removed() -> None:
    stage = Stage(1, hooks=Hooks(before=(_hook("noout"), _hook("tell")), after=(_hook("noout"),)))
    stage.finish()
    made = [one for one in stage.judge.steps if one in {"MakeHook", "Cordon", "Release", "DeleteHook"}]
    assert made == ["MakeHook", "MakeHook", "Cordon", "MakeHook", "Release", *["DeleteHook"] * 3]
    stage.well()


def test_a_hook_that_fails_before_a_node_leaves_it_alone() -> None:
    stage = Stage(1, hooks=Hooks(before=(_hook("noout"),)))
    stage.world.failing_hooks.add("noout")
    stage.finish()
    record = stage.record("w-0")
    assert (record.state, record.reason) == (NodeState.FAILED, Reason.HOOK_FAILED)
    assert record.message == "hook noout: failed"
    assert stage.judge.cordoned == []


def test_a_hook_that_fails_after_a_node_puts_it_back() -> None:
    stage = Stage(1, hooks=Hooks(after=(_hook("check"),)))
    stage.world.failing_hooks.add("check")
    stage.finish()
    record = stage.record("w-0")
    assert (record.state, record.reason) == (NodeState.FAILED, Reason.HOOK_FAILED)
    assert stage.node("w-0").kubelet == OLD
    assert stage.judge.closed() == []


def test_the_world_is_played_by_one_operator_at_a_time() -> None:
    world = World()
    world.add_node("w-0")
    assert not Operator(world).round()
