"""A node that fails is put back, or quarantined and named; after too many, the rollout stops."""

from __future__ import annotations

import msgspec
import pytest

from shiplift.agent import protocol
from shiplift.agent.protocol import CHANGES_ALLOWED
from shiplift.api.marks import CORDONED_BY
from shiplift.api.nodes import NodeState, OnBlockedDrain, Reboot, RolloutPhase
from shiplift.drain.own import Own
from shiplift.nodes.model import Drain, Reason
from shiplift.nodes.steps import Allow, Force
from tests.nodes.players import FAILS, NEVER_READY, REFUSES, SILENT, STUCK, WRONG, Fate, Operator, tick
from tests.nodes.stage import ABOVE, Stage, decided, told
from tests.nodes.world import NEW, OLD


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        (FAILS, Reason.AGENT_FAILED),
        (WRONG, Reason.WRONG_VERSION),
        (NEVER_READY, Reason.NOT_READY),
    ],
)
def test_a_node_that_fails_within_a_minor_is_put_back_and_given_back(how: str, reason: Reason) -> None:
    stage = Stage(3)
    stage.node("w-0").fails = how
    stage.finish()
    record = stage.record("w-0")
    assert (record.state, record.reason) == (NodeState.FAILED, reason)
    assert "its versions from before were put back" in record.message
    assert (stage.node("w-0").kubelet, stage.node("w-0").packages["kubelet"]) == (OLD, OLD[1:])
    assert record.attempt == 2
    assert (stage.judge.residue("w-0"), stage.judge.closed()) == ([], [])


def test_a_node_that_fails_across_a_minor_is_quarantined() -> None:
    stage = Stage(2, 1, minor=True)
    stage.node("w-0").fails = FAILS
    stage.finish()
    record = stage.record("w-0")
    assert (record.state, record.reason) == (NodeState.QUARANTINED, Reason.AGENT_FAILED)
    assert "no space left on the disk; it is not put back across minors" in record.message
    assert stage.judge.closed() == ["w-0"]
    assert stage.node("w-0").annotations[CORDONED_BY] == "next"
    assert CHANGES_ALLOWED not in stage.node("w-0").annotations
    assert stage.node("w-1").kubelet == OLD


def test_after_too_many_failures_it_stops_and_says_which_node_and_what_to_do() -> None:
    stage = Stage(3)
    stage.node("w-0").fails = FAILS
    stage.finish()
    told = stage.told
    assert (told.phase, told.failures) == (RolloutPhase.STOPPED, 1)
    assert told.message == (
        "1 node failed (it stops at 1); node w-0: its agent says: no space left on the disk; its versions"
        " from before were put back; once that is mended, `shiplift resume rollout/next` tries it again"
    )
    assert [stage.node(name).kubelet for name in ("w-1", "w-2")] == [OLD, OLD]
    assert {one.type: (one.status.value, one.reason) for one in told.conditions} == {
        "Ready": ("False", "Stopped"),
        "Stalled": ("True", "Stopped"),
    }


def test_below_that_the_others_are_changed_and_it_says_so_at_the_end() -> None:
    stage = Stage(3, max_failures=2)
    stage.node("w-0").fails = FAILS
    stage.finish()
    assert [stage.node(name).kubelet for name in ("w-0", "w-1", "w-2")] == [OLD, NEW, NEW]
    assert stage.phase() is RolloutPhase.STOPPED
    assert stage.told.message.startswith("1 node failed (it stops at 2); node w-0")


def test_a_pause_says_that_somebody_has_looked() -> None:
    stage = Stage(3)
    stage.node("w-0").fails = FAILS
    stage.finish()
    stage.node("w-0").fails = ""
    stage.world.change(paused=True)
    stage.finish()
    assert (stage.phase(), stage.told.failures) == (RolloutPhase.PAUSED, 0)
    assert stage.record("w-0").state is NodeState.WAITING
    stage.world.change(paused=False)
    stage.finish()
    stage.well()


def test_a_quarantined_node_is_tried_again_too_and_uncordoned_then() -> None:
    stage = Stage(1, 1, minor=True)
    stage.node("w-0").fails = FAILS
    stage.finish()
    stage.node("w-0").fails = ""
    stage.world.change(paused=True)
    stage.finish()
    assert stage.judge.closed() == ["w-0"]
    stage.world.change(paused=False)
    stage.finish()
    stage.well()


def test_a_quarantined_node_that_somebody_uncordons_is_failed_and_carries_nothing_of_ours() -> None:
    stage = Stage(2, 1, minor=True)
    stage.node("w-0").fails = FAILS
    stage.finish()
    stage.node("w-0").unschedulable = False
    stage.world.touched(stage.node("w-0"))
    stage.finish()
    assert stage.record("w-0").state is NodeState.FAILED
    assert stage.judge.residue("w-0") == []


def test_an_agent_that_never_begins_fails_its_node_after_the_timeout() -> None:
    stage = Stage(2, node_timeout="5m")
    stage.until(lambda: stage.told.nodes)
    began = stage.world.now
    stage.node("w-0").fails = SILENT
    stage.finish()
    record = stage.record("w-0")
    assert (record.state, record.reason) == (NodeState.FAILED, Reason.AGENT_SILENT)
    assert record.message == "its agent did not begin for 300 s; see whether it runs"
    assert (stage.world.now - began).total_seconds() > 300
    assert (stage.judge.residue("w-0"), stage.judge.closed()) == ([], [])


def test_an_agent_that_has_begun_is_waited_for_and_counts_as_failed() -> None:
    stage = Stage(2, node_timeout="5m")
    stage.node("w-0").fails = STUCK
    stage.finish()
    record = stage.record("w-0")
    assert (record.state, record.reason) == (NodeState.CHANGING, Reason.TIMED_OUT)
    assert stage.judge.closed() == ["w-0"]
    assert stage.phase() is RolloutPhase.STOPPED
    stage.node("w-0").fails = ""
    stage.finish()
    stage.well()


def test_an_abort_waits_for_the_agent_that_has_begun() -> None:
    stage = Stage(2)
    stage.node("w-0").fails = STUCK
    stage.until(lambda: "Packages" in stage.node("w-0").claimed)
    stage.world.change(abort=True)
    stage.finish()
    assert stage.judge.closed() == ["w-0"]
    assert "what has begun there is finished first: w-0" in stage.told.message
    stage.node("w-0").fails = ""
    stage.finish()
    assert (stage.phase(), stage.judge.closed(), stage.judge.residue()) == (RolloutPhase.ABORTED, [], [])
    assert [stage.node(name).kubelet for name in ("w-0", "w-1")] == [NEW, OLD]


def test_what_an_agent_refuses_changes_nothing() -> None:
    stage = Stage(2)
    stage.node("w-0").fails = REFUSES
    stage.finish()
    record = stage.record("w-0")
    assert (record.state, record.attempt) == (NodeState.FAILED, 1)
    assert stage.judge.ordered == ["Packages w-0"]
    assert (stage.judge.residue("w-0"), stage.judge.closed()) == ([], [])


def test_a_control_plane_that_fails_stops_everything_and_is_not_cordoned() -> None:
    stage = Stage(2, 3, max_failures=5)
    stage.node("cp-1").fails = FAILS
    stage.finish()
    assert stage.record("cp-1").state is NodeState.FAILED
    assert stage.phase() is RolloutPhase.STOPPED
    assert [stage.node(f"cp-{one}").api_server for one in range(3)] == [NEW, OLD, OLD]
    assert (stage.judge.residue("cp-1"), stage.judge.closed()) == ([], [])


def test_a_node_that_was_down_before_is_no_failure_and_is_tried_again_when_it_is_back() -> None:
    stage = Stage(3)
    stage.node("w-1").ready = False
    stage.node("w-1").fails = SILENT
    stage.judge.down_before = {stage.node("w-1").uid}
    stage.finish()
    record = stage.record("w-1")
    assert (record.state, record.reason) == (NodeState.SKIPPED, Reason.DOWN_BEFORE)
    assert stage.told.failures == 0
    assert stage.judge.cordoned == ["w-1"], "the one that is down goes first, and uses up the budget"
    stage.node("w-1").ready, stage.node("w-1").fails = True, ""
    stage.world.touched(stage.node("w-1"))
    stage.finish()
    stage.well()


def test_a_node_that_is_down_and_whose_agent_answers_is_mended_first() -> None:
    stage = Stage(3)
    stage.node("w-2").ready = False
    stage.judge.down_before = {stage.node("w-2").uid}
    stage.finish()
    assert stage.judge.cordoned == ["w-2", "w-0", "w-1"]
    stage.well()


def test_a_restart_that_was_asked_for_and_did_not_happen_fails_the_node() -> None:
    stage = Stage(1, reboot=Reboot.ALWAYS)
    stage.finish()
    record = stage.record("w-0")
    assert record.reason == Reason.NOT_READY
    assert "its boot id is the one from before" in record.message


def test_a_version_that_somebody_takes_off_a_node_is_unknown_and_not_wrong() -> None:
    stage = Stage(1)
    stage.until(lambda: stage.told.nodes and stage.told.nodes[0].state is NodeState.VERIFYING)
    del stage.node("w-0").annotations[protocol.current_key("kubeadm")]
    (record,) = decided(stage).told[0].status.nodes
    assert (record.state, record.message) == (
        NodeState.VERIFYING,
        "its agent does not say which kubeadm it has",
    )
    stage.finish()
    stage.well()


def test_a_ready_that_is_left_over_from_before_is_not_believed() -> None:
    stage = Stage(1, node_timeout="5m")
    stage.node("w-0").renews = False
    stage.until(lambda: any(one.state is NodeState.VERIFYING for one in stage.told.nodes))
    stage.world.pass_time(120)
    stage.operator.round()
    assert "Release" not in stage.judge.steps
    assert stage.record("w-0").message == "it has not renewed its Lease yet"
    stage.node("w-0").renews = True
    stage.finish()
    stage.well()


def test_a_kubelet_that_never_renews_its_lease_fails_its_node() -> None:
    stage = Stage(1, node_timeout="5m")
    stage.node("w-0").renews = False
    stage.until(lambda: any(one.state is NodeState.REVERTING for one in stage.told.nodes), rounds=500)
    assert stage.record("w-0").reason == Reason.NOT_READY
    assert stage.record("w-0").message == "it has not renewed its Lease yet 300 s after its agent was through"


def test_who_leads_after_a_long_outage_looks_before_it_fails_a_node() -> None:
    stage = Stage(1)
    stage.until(lambda: any(one.state is NodeState.VERIFYING for one in stage.told.nodes))
    stage.world.pass_time(7200)
    stage.operator = Operator(stage.world)
    stage.operator.round()
    assert stage.record("w-0").state is NodeState.VERIFYING
    stage.finish()
    stage.well()


def test_an_agent_has_its_time_from_when_its_order_is_there() -> None:
    """Somebody's webhook kept the order off the node for longer than an agent may take."""
    stage = Stage(1, node_timeout="1m")
    stage.until(lambda: stage.told.nodes and stage.told.nodes[0].state is NodeState.DRAINING)
    stage.node("w-0").fails = SILENT
    for _ in range(150):
        stage.operator.round(lambda step: Fate.LOST if isinstance(step, Allow) else Fate.DONE)
        tick(stage.world, stage.judge.look)
    assert stage.record("w-0").state is NodeState.CHANGING
    stage.until(lambda: stage.judge.ordered)
    stage.operator.round()
    stage.node("w-0").fails = ""
    stage.finish()
    stage.well()


# --- drains that are blocked ---


def _blocked(on_blocked: OnBlockedDrain | None) -> Stage:
    stage = Stage(2, drain_timeout="10m", on_blocked=on_blocked)
    stage.world.budgets["cart"] = 0
    stage.finish()
    return stage


def test_a_blocked_drain_waits_and_names_the_budget_and_the_pod() -> None:
    stage = _blocked(None)
    record = stage.record("w-0")
    assert (record.state, record.reason) == (NodeState.DRAINING, Reason.DRAIN_TIMED_OUT)
    assert record.message == "1 pod left: pod shop/pod-2 is kept by PodDisruptionBudget shop/cart"
    assert [(one.pod, one.budget) for one in record.blockers] == [("shop/pod-2", "shop/cart")]
    stage.world.budgets["cart"] = 1
    stage.finish()
    stage.well()


def test_a_node_that_can_never_be_emptied_is_not_cordoned_and_named() -> None:
    stage = Stage(1)
    stage.world.never["w-0"] = "pod shop/bare: nobody brings it back"
    stage.until(lambda: told(decided(stage))[2])
    stage.operator.round()
    text = "node w-0: it is not cordoned, since no wait helps: pod shop/bare: nobody brings it back"
    assert (stage.told.message, stage.judge.cordoned) == (text, [])
    stage.world.never.clear()
    stage.finish()
    stage.well()


def test_it_keeps_no_other_from_being_begun_and_does_not_count_as_away() -> None:
    stage = Stage(3)
    stage.world.never["w-0"] = "pod shop/bare: nobody brings it back"
    stage.finish()
    assert [stage.node(name).kubelet for name in ("w-0", "w-1", "w-2")] == [OLD, NEW, NEW]
    assert (stage.judge.cordoned, stage.told.unavailable, _stalled(stage)) == (["w-1", "w-2"], 0, True)
    record = stage.record("w-0")
    assert (record.state, record.reason) == (NodeState.WAITING, Reason.DRAIN_BLOCKED)
    stage.world.never["w-0"] = "pod shop/other: nobody brings it back"
    stage.operator.round()
    assert "pod shop/other" in stage.record("w-0").message
    stage.world.never.clear()
    stage.finish()
    stage.well()


def test_what_stops_a_node_that_is_not_cordoned_yet_is_told_in_words() -> None:
    stage = Stage(1)
    stage.until(lambda: stage.told.nodes)
    record = msgspec.structs.replace(stage.record("w-0"), message="")
    status = msgspec.structs.replace(stage.told, nodes=(record,))
    stage.world.rollouts["next"] = msgspec.structs.replace(stage.world.rollouts["next"], status=status)
    never = Drain(left=1, never="pod shop/web: its budget never lets one go")
    reason, message, stalled = told(decided(stage, drains={record.uid: never}))
    assert (reason, stalled) == (Reason.DRAIN_BLOCKED, True)
    assert message == "node w-0: no wait helps: pod shop/web: its budget never lets one go"


def _stalled(stage: Stage) -> bool:
    return any(one.type == "Stalled" and one.status == "True" for one in stage.told.conditions)


def test_a_drain_that_takes_too_long_needs_somebody() -> None:
    stage = Stage(1, drain_timeout="10m")
    stage.world.budgets["cart"] = 0
    stage.until(lambda: stage.told.nodes and stage.told.nodes[0].reason == Reason.DRAIN_BLOCKED)
    assert not _stalled(stage)
    stage.until(lambda: stage.told.nodes[0].reason == Reason.DRAIN_TIMED_OUT, rounds=700)
    assert (_stalled(stage), stage.phase()) == (True, RolloutPhase.RUNNING)
    stage.world.budgets["cart"] = 1
    stage.finish()
    stage.well()


def test_force_ends_pods_that_a_budget_keeps_but_only_after_the_timeout() -> None:
    stage = Stage(2, drain_timeout="10m", on_blocked=OnBlockedDrain.FORCE)
    stage.world.budgets["cart"] = 0
    began = stage.world.now
    stage.until(lambda: "Force" in stage.judge.steps, rounds=700)
    assert (stage.world.now - began).total_seconds() >= 600
    stage.finish()
    stage.well()


@pytest.mark.parametrize(("ready", "forced"), [(0, 0), (1, 1)])
def test_the_last_pod_of_the_operator_that_runs_is_not_forced(ready: int, forced: int) -> None:
    stage = Stage(1, drain_timeout="10m", on_blocked=OnBlockedDrain.FORCE)
    stage.world.budgets["cart"] = 0
    stage.until(lambda: stage.told.nodes and stage.told.nodes[0].reason == Reason.DRAIN_BLOCKED)
    stage.world.pass_time(600)
    (uid,) = (pod.uid for pod in stage.world.pods.values() if pod.budget == "cart")
    own = Own(uid, "shop/own", places={uid: "w-0", "other": "w-1"}, ready=ready)
    found = decided(stage, own=own, unnoticed={}, watched={})
    assert sum(isinstance(step, Force) for step in found.steps) == forced
    (record,) = found.told[0].status.nodes
    assert ("pod shop/own is not forced" in record.message) is not bool(forced)


def test_who_leads_after_a_long_outage_drains_before_it_forces_anything() -> None:
    stage = Stage(2, drain_timeout="1m", on_blocked=OnBlockedDrain.FORCE)
    for _ in range(4):
        stage.world.add_pod("w-0", "cart")
    stage.until(lambda: stage.told.nodes and stage.told.nodes[0].state is NodeState.DRAINING)
    stage.world.pass_time(600)
    stage.operator = Operator(stage.world)
    stage.finish()
    assert "Force" not in stage.judge.steps
    stage.well()


def test_quarantine_keeps_the_node_that_could_not_be_drained() -> None:
    stage = _blocked(OnBlockedDrain.QUARANTINE)
    record = stage.record("w-0")
    assert (record.state, record.reason) == (NodeState.QUARANTINED, Reason.DRAIN_TIMED_OUT)
    assert "after 600 s" in record.message
    assert stage.judge.closed() == ["w-0"]
    assert stage.judge.ordered == []


def test_stop_gives_the_node_back_and_stops() -> None:
    stage = _blocked(OnBlockedDrain.STOP)
    assert stage.record("w-0").state is NodeState.FAILED
    assert (stage.phase(), stage.judge.closed(), stage.judge.ordered) == (RolloutPhase.STOPPED, [], [])
    assert "1 pod left after 600 s" in stage.told.message


# --- preparing ---


def test_a_node_that_cannot_be_prepared_stops_it_before_anything_is_cordoned() -> None:
    stage = Stage(2)
    node = stage.node("w-1")
    stage.until(lambda: CHANGES_ALLOWED in node.annotations)
    _answered(stage, "w-1", protocol.Result.FAILED)
    stage.until(lambda: stage.phase() is RolloutPhase.STOPPED and "cannot be prepared" in stage.told.message)
    assert stage.judge.cordoned == []
    stage.world.change(paused=True)
    stage.finish()
    assert stage.judge.residue() == []
    stage.world.change(paused=False)
    stage.finish()
    stage.well()


def _answered(stage: Stage, name: str, result: protocol.Result) -> None:
    node = stage.node(name)
    order = protocol.order_of(node.annotations)
    assert order is not None
    node.annotations[protocol.READY] = protocol.Readiness(True, str(order.token)).written()
    node.annotations[protocol.OUTCOME] = protocol.Outcome(
        str(order.token), result, "no such package"
    ).written()
    stage.world.touched(node)


def test_an_agent_that_is_not_there_is_named_before_anything_is_cordoned() -> None:
    stage = Stage(2, node_timeout="5m")
    stage.node("w-1").fails = SILENT
    stage.finish()
    assert "does the agent of node w-1 run?" in stage.told.message
    assert stage.judge.cordoned == []
    assert ABOVE not in stage.told.path
