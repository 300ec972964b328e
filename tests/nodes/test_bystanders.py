"""What others do to nodes meanwhile, and what cannot be read."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise

import msgspec
import pytest

from shiplift.agent.protocol import (
    AGENT,
    CHANGES_ALLOWED,
    OUTCOME,
    READY,
    Agent,
    Operation,
    Outcome,
    Readiness,
    Result,
)
from shiplift.api.marks import CORDONED_BEFORE
from shiplift.api.nodes import NodeRolloutStatus, NodeState, RolloutPass, RolloutPhase
from shiplift.api.values import LabelSelector
from shiplift.nodes.model import Member, Reason
from shiplift.nodes.steps import Withdraw
from tests.nodes.players import SILENT, Operator, agents, tick
from tests.nodes.stage import Stage, decided, told
from tests.nodes.world import NEW, OLD, Memory


def test_a_cordon_by_hand_between_choice_and_cordon_is_learnt() -> None:
    stage = Stage(1)
    stage.until(lambda: stage.told.nodes)
    stage.node("w-0").unschedulable = True
    stage.world.touched(stage.node("w-0"))
    stage.finish()
    assert stage.judge.closed() == ["w-0"]
    assert (stage.phase(), stage.judge.residue()) == (RolloutPhase.COMPLETE, [])


def _cordoned_before() -> Stage:
    stage = Stage(1)
    stage.node("w-0").unschedulable = True
    stage.world.touched(stage.node("w-0"))
    stage.until(lambda: stage.judge.ordered)
    return stage


def test_a_cordon_from_before_outlives_a_status_that_somebody_empties() -> None:
    stage = _cordoned_before()
    rollout = stage.world.rollouts["next"]
    stage.world.rollouts["next"] = msgspec.structs.replace(rollout, status=NodeRolloutStatus())
    stage.finish()
    assert (stage.phase(), stage.judge.closed(), stage.judge.residue()) == (
        RolloutPhase.COMPLETE,
        ["w-0"],
        [],
    )


def test_a_cordon_from_before_outlives_a_rollout_that_vanishes() -> None:
    stage = _cordoned_before()
    stage.world.rollouts.clear()
    stage.finish_without_rollout()
    assert (stage.judge.closed(), stage.judge.residue()) == (["w-0"], [])


def test_whoever_had_cordoned_it_before_and_lets_it_go_finds_it_uncordoned() -> None:
    """As a `shiplift drain` does that is ended meanwhile."""
    stage = _cordoned_before()
    stage.node("w-0").annotations[CORDONED_BEFORE] = "false"
    stage.world.touched(stage.node("w-0"))
    stage.finish()
    stage.well()


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
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(times)]
    assert gaps == sorted(gaps)
    assert gaps[-1] >= 15
    record = stage.record("w-0")
    assert record.reason == Reason.CONTESTED
    assert "somebody else takes back our cordon" in record.message
    (stalled,) = [one for one in stage.told.conditions if one.type == "Stalled"]
    assert (stalled.status, stalled.reason, stage.phase()) == ("True", "Contested", RolloutPhase.RUNNING)
    assert "somebody else takes back our cordon" in stage.told.message
    assert stage.told.eta is None


def test_an_order_that_somebody_strips_is_written_again_unless_it_was_claimed() -> None:
    stage = Stage(1)
    stage.until(lambda: stage.judge.ordered)
    node = stage.node("w-0")
    node.annotations.pop(READY, None)
    stage.world.apply(Withdraw(node.name, node.uid, node.version, ""), Memory())
    stage.finish()
    stage.well()
    assert stage.judge.ordered == ["Packages w-0", "Packages w-0"]


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


@pytest.mark.parametrize(
    ("spoken", "help_"),
    [
        (0, "install the shiplift-agent of this release"),
        (9, "upgrade shiplift in the cluster first"),
    ],
)
def test_an_agent_of_another_protocol_is_not_begun(spoken: int, help_: str) -> None:
    stage = Stage(1)
    stage.until(lambda: stage.told.running_pass is RolloutPass.WORKERS)
    stage.world.rollouts["next"] = msgspec.structs.replace(
        stage.world.rollouts["next"], status=msgspec.structs.replace(stage.told, nodes=())
    )
    stage.node("w-0").annotations[AGENT] = Agent("9.0", 1, protocol=spoken).written()
    reason, message, stalled = told(decided(stage))
    assert (reason, stalled) == (Reason.UNREADABLE, True)
    assert message == (
        f"node w-0: annotation node.shiplift.dev/agent: agent 9.0 speaks protocol {spoken},"
        f" and the operator 1: {help_}"
    )


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


def test_a_pod_that_came_back_after_the_drain_is_asked_to_go_before_the_order_is_written_again() -> None:
    stage = Stage(2)
    stage.until(lambda: stage.told.nodes)
    while not stage.judge.ordered:
        tick(stage.world, stage.judge.look)
        stage.operator.round()
    node = stage.node("w-0")
    stage.world.apply(Withdraw(node.name, node.uid, node.version, ""), Memory())
    stage.world.add_pod("w-0")
    stage.operator.round()
    assert stage.judge.steps[-1] == "Evict"
    stage.finish()
    stage.well()


def test_a_node_that_is_no_longer_chosen_is_given_back_unchanged_unless_its_agent_has_begun() -> None:
    stage = Stage(3, budget=2)
    stage.world.budgets["cart"] = 0
    stage.until(lambda: len([one for one in stage.told.nodes if one.state is NodeState.DRAINING]) == 2)
    stage.node("w-2").labels["pool"] = "b"
    stage.world.touched(stage.node("w-2"))
    stage.world.change(node_selector=LabelSelector(match_labels={"pool": "b"}))
    stage.until(lambda: stage.judge.closed() == ["w-2"])
    stage.world.budgets["cart"] = 1
    stage.finish()
    assert [stage.node(name).kubelet for name in ("w-0", "w-1", "w-2")] == [OLD, OLD, NEW]
    assert (stage.phase(), stage.judge.closed(), stage.judge.residue()) == (RolloutPhase.COMPLETE, [], [])


def test_where_there_was_nothing_to_do_at_first_nodes_are_prepared_all_the_same() -> None:
    stage = Stage(2)
    for one in stage.world.nodes.values():
        one.kubelet, one.packages = NEW, dict.fromkeys(one.packages, NEW[1:])
    agents(stage.world)
    stage.finish()
    assert (stage.phase(), stage.judge.cordoned) == (RolloutPhase.COMPLETE, [])
    stage.world.change(version="v1.36.4")
    stage.until(lambda: stage.told.running_pass is RolloutPass.WORKERS)
    assert {one.order.token.operation for one in _members(stage) if one.order} == {Operation.PREPARE}
    stage.target = "v1.36.4"
    stage.finish()
    stage.well()


def _members(stage: Stage) -> list[Member]:
    return [one.member() for one in stage.world.nodes.values()]


def test_the_record_of_a_node_that_was_replaced_ends_with_it() -> None:
    stage = Stage(2)
    stage.until(lambda: stage.judge.cordoned)
    old = stage.node("w-0").uid
    stage.world.pods = {uid: pod for uid, pod in stage.world.pods.items() if pod.node != "w-0"}
    stage.world.add_node("w-0")
    stage.operator.round()
    assert old not in {one.uid for one in stage.told.nodes}
    stage.finish()
    stage.well()


def test_without_the_policy_that_keeps_nodes_to_their_own_nothing_is_begun() -> None:
    stage = Stage(1)
    decision = decided(stage, distrust="ValidatingAdmissionPolicy shiplift-node-trust is gone")
    why = (
        "nothing is begun: ValidatingAdmissionPolicy shiplift-node-trust is gone, so a node could give itself"
        " orders; apply again what installed shiplift (docs/install.md)"
    )
    assert told(decision) == (Reason.NODES_NOT_TRUSTED, why, True)
    assert (decision.steps, decision.look_again_after) == ((), timedelta(seconds=10))
    stage.finish()
    stage.well()


def test_what_is_in_flight_when_that_policy_goes_is_finished() -> None:
    stage = Stage(1)
    stage.until(lambda: stage.judge.ordered)
    before = decided(stage)
    assert decided(stage, distrust="it is gone").steps == before.steps


@pytest.mark.parametrize("dies", [False, True])
@pytest.mark.parametrize("answers", [False, True])
def test_an_abort_waits_for_an_agent_of_which_the_record_alone_says_that_it_has_begun(
    dies: bool, answers: bool
) -> None:
    stage = Stage(1, node_timeout="2m")
    stage.until(lambda: stage.told.nodes and stage.record("w-0").reason == Reason.CHANGING)
    node, token = stage.node("w-0"), stage.record("w-0").token
    stage.world.change(abort=True)
    for key in (READY, CHANGES_ALLOWED):
        node.annotations.pop(key, None)
    stage.world.touched(node)
    if dies:
        stage.operator = Operator(stage.world)
    for _ in range(100):
        stage.operator.round()
        stage.world.pass_time()
    assert (stage.judge.closed(), stage.phase()) == (["w-0"], RolloutPhase.ABORTING)
    assert "its agent had begun" in stage.record("w-0").message
    assert stage.judge.ordered == ["Packages w-0"], "it is not ordered once more"
    if answers:
        node.annotations[READY] = Readiness(True, str(token)).written()
        node.annotations[OUTCOME] = Outcome(str(token), Result.FAILED, "no").written()
        stage.world.touched(node)
    stage.finish()
    assert (stage.judge.closed(), stage.phase()) == ([], RolloutPhase.ABORTED)
    assert stage.judge.residue() == []


def test_an_abort_does_not_wait_for_an_agent_that_never_began() -> None:
    stage = Stage(1, node_timeout="30m")
    stage.until(lambda: stage.judge.cordoned)
    stage.node("w-0").fails = SILENT
    stage.until(lambda: stage.told.nodes and stage.record("w-0").reason == Reason.AGENT_UNHEARD, 120)
    stage.world.change(abort=True)
    stage.until(lambda: stage.phase() is RolloutPhase.ABORTED, 5)
    assert stage.judge.closed() == []
