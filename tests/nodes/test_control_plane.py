"""Control-plane nodes: one at a time, claimed, and only while all others are up."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from shiplift.api.nodes import NodeState, RolloutPass, RolloutPhase
from shiplift.api.values import ConditionStatus
from shiplift.drain.own import Own
from shiplift.engine.claims import Claim, Target
from shiplift.facts import kinds
from shiplift.nodes.model import Reason
from tests.nodes.players import SILENT, tick
from tests.nodes.stage import Stage, decided, told
from tests.nodes.world import NEW, START


def test_while_somebody_else_has_claimed_the_control_plane_none_of_it_is_begun() -> None:
    stage = Stage(1, 1)
    claim = Claim("remove-machine", Target(kinds.NODE, "cp-7", "uid-7", "1"), 1, START)
    stage.world.claims["remove-machine"] = claim
    told = "Node cp-7 is being changed by somebody else: claim remove-machine"
    stage.until(lambda: stage.told.message == told)
    assert stage.judge.ordered == []
    stage.world.pass_time(1800)
    stage.operator.round()
    assert "there is no such node: take shiplift.dev/claims off ConfigMap" in stage.told.message
    assert [one.type for one in stage.told.conditions if one.status is ConditionStatus.TRUE] == ["Stalled"]
    stage.world.claims.clear()
    stage.finish()
    stage.well()


def test_where_claims_cannot_be_read_no_control_plane_is_begun() -> None:
    stage = Stage(1, 1)
    stage.until(lambda: stage.told.snapshot)
    decision = decided(stage, claims=None)
    why = (
        "ConfigMap shiplift-control-plane of the operator's namespace, which says who changes the control"
        " plane, cannot be read: where it is gone, apply again what installed shiplift (docs/install.md);"
        " where its annotation shiplift.dev/claims is no JSON, take it off once nobody changes the control"
        " plane"
    )
    assert told(decision) == (Reason.NOT_CLAIMED, why, False)
    assert decision.look_again_after == timedelta(seconds=2)
    stage.world.publish(decision.told[0].rollout, decision.told[0].status)
    assert told(decided(stage, claims=None)) == (Reason.NOT_CLAIMED, why, True)
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
    assert told(decided(stage, api_servers={"cp-0": "", "the server": NEW}))[1] == (
        "the agent of control-plane node cp-0 does not say which version its API server has"
    )


def test_one_that_is_drained_is_not_changed_while_another_is_down() -> None:
    stage = Stage(1, 3)
    stage.world.add_pod("cp-1", "kept")
    stage.world.budgets["kept"] = 0
    stage.until(lambda: stage.node("cp-1").unschedulable, 200)
    other = stage.node("cp-2")
    other.ready = False
    stage.world.touched(other)
    ordered = len(stage.judge.ordered)
    stage.world.budgets["kept"] = 1
    for _ in range(20):
        stage.operator.round()
        tick(stage.world, stage.judge.look)
    assert len(stage.judge.ordered) == ordered
    assert stage.record("cp-1").reason == Reason.NO_HEALTHY_CONTROL_PLANE
    assert stage.record("cp-1").message == "control-plane node cp-2 is down"
    stage.world.pass_time(300)
    stage.operator.round()
    assert [one.reason for one in stage.told.conditions if one.type == "Stalled"] == ["ControlPlaneUnhealthy"]
    other.ready = True
    stage.world.touched(other)
    stage.finish()
    stage.well()


def test_a_copy_of_etcd_that_does_not_come_is_told_and_then_needs_somebody() -> None:
    stage = Stage(1, 1)
    stage.until(lambda: stage.told.running_pass is RolloutPass.CONTROL_PLANE)
    stage.node("cp-0").fails = SILENT
    stage.until(lambda: stage.told.message == "etcd is being copied on node cp-0")
    for _ in range(2):
        stage.operator.round()
    stage.world.pass_time(40)
    stage.operator.round()
    assert "nothing was heard of the agent of node cp-0 since" in stage.told.message
    stage.world.pass_time(1800)
    stage.operator.round()
    assert stage.told.message.startswith("etcd is being copied on node cp-0, and its agent has not been")
    assert [one.type for one in stage.told.conditions if one.status is ConditionStatus.TRUE] == ["Stalled"]
    stage.node("cp-0").fails = ""
    stage.finish()
    stage.well()


def test_the_change_of_the_control_plane_that_runs_is_named_and_no_other() -> None:
    stage = Stage(1, 2)
    seen: list[str] = []
    while stage.phase() is not RolloutPhase.COMPLETE:
        stage.operator.round()
        name = stage.told.operation.name if stage.told.operation else ""
        seen += [name] if name not in seen[-1:] else []
        tick(stage.world, stage.judge.look)
    assert [one for one in seen if one] == ["UpgradeApply of node cp-0", "UpgradeNode of node cp-1"]


def test_the_next_node_waits_until_somebody_leads_the_controllers_again() -> None:
    """Who led them ran on the node that was changed: until another does, no pod would be replaced, and
    Services would lead to pods that are gone."""
    stage = Stage(1, control_planes=3)
    stage.until(lambda: any(one.state is NodeState.VERIFYING for one in stage.told.nodes))
    stage.world.led = False
    for _ in range(30):
        stage.operator.round()
        tick(stage.world)
    verified = next(one for one in stage.told.nodes if one.state is NodeState.VERIFYING)
    assert verified.message == "nobody leads as kube-controller-manager yet"
    assert stage.judge.ordered == [f"UpgradeApply {verified.name}"]
    stage.world.led = True
    stage.finish()
    stage.well()


def test_a_worker_does_not_wait_for_controllers() -> None:
    stage = Stage(1)
    stage.world.led = False
    stage.finish()
    stage.well()


def test_the_one_that_the_operator_runs_on_comes_last() -> None:
    stage = Stage(1, 3)
    stage.until(lambda: stage.told.nodes)
    rollout = stage.world.rollouts["next"]
    empty = msgspec.structs.replace(rollout.status, nodes=())
    stage.world.rollouts["next"] = msgspec.structs.replace(rollout, status=empty)
    own = Own("own", places={"own": "cp-0", "other": "cp-1"})
    (record,) = decided(stage, own=own).told[0].status.nodes
    assert record.name == "cp-2"
