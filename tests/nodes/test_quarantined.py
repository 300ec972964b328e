"""A quarantined node stays cordoned, whatever becomes of its rollout, until somebody has seen to it."""

from __future__ import annotations

import msgspec
import pytest

from shiplift.agent.protocol import CHANGES_ALLOWED
from shiplift.api.marks import CORDONED_BY, QUARANTINED_BY
from shiplift.api.nodes import NodeState, OnBlockedDrain, RolloutPhase
from shiplift.api.values import LabelSelector
from shiplift.facts import kinds
from shiplift.nodes.model import Unreadable
from tests.nodes.players import FAILS, REFUSES, SILENT
from tests.nodes.stage import ABOVE, Stage, decided
from tests.nodes.world import Memory


def _quarantined() -> Stage:
    """Its first worker has failed across minors."""
    stage = Stage(3, minor=True)
    stage.world.server = ABOVE
    stage.node("w-0").fails = FAILS
    stage.finish()
    assert stage.record("w-0").state is NodeState.QUARANTINED
    return stage


def _is_left(stage: Stage) -> None:
    """Cordoned, and named by whom; nothing else of the rollout is on it."""
    node = stage.node("w-0")
    assert (node.unschedulable, node.annotations.get(QUARANTINED_BY)) == (True, "next")
    assert CORDONED_BY not in node.annotations


def test_of_a_rollout_that_is_aborted_and_then_deleted() -> None:
    stage = _quarantined()
    stage.world.change(abort=True)
    stage.finish()
    assert (stage.phase(), stage.record("w-0").state) == (RolloutPhase.ABORTED, NodeState.QUARANTINED)
    _is_left(stage)
    stage.world.delete()
    stage.finish_without_rollout()
    _is_left(stage)


def test_of_a_rollout_that_is_paused_and_then_aborted() -> None:
    stage = _quarantined()
    stage.world.change(paused=True)
    stage.until(lambda: stage.record("w-0").state is NodeState.WAITING)
    stage.world.change(abort=True)
    stage.finish()
    assert stage.record("w-0").state is NodeState.QUARANTINED
    assert "quarantined: w-0" in stage.told.message
    _is_left(stage)


def test_of_a_rollout_that_is_deleted() -> None:
    stage = _quarantined()
    stage.world.delete()
    stage.finish_without_rollout()
    _is_left(stage)


@pytest.mark.parametrize("paused", [False, True])
def test_of_a_rollout_that_is_no_longer_about_it(paused: bool) -> None:
    """Somebody changes the selector, and says that it has been seen to."""
    stage = _quarantined()
    for one in ("w-1", "w-2"):
        stage.node(one).labels["pool"] = "b"
        stage.world.touched(stage.node(one))
    stage.world.change(node_selector=LabelSelector(match_labels={"pool": "b"}), paused=paused)
    stage.until(lambda: not [one for one in stage.told.nodes if one.name == "w-0"])
    stage.world.change(paused=False)
    stage.finish()
    assert stage.phase() is RolloutPhase.COMPLETE
    _is_left(stage)


def test_whose_mark_somebody_took_off_is_tried_again_and_uncordoned() -> None:
    stage = _quarantined()
    del stage.node("w-0").annotations[CORDONED_BY]
    stage.node("w-0").fails = ""
    stage.world.touched(stage.node("w-0"))
    stage.until(lambda: stage.node("w-0").annotations.get(CORDONED_BY) == "next")
    stage.world.change(paused=True)
    stage.until(lambda: stage.record("w-0").state is NodeState.WAITING)
    stage.world.change(paused=False)
    stage.finish()
    stage.well()


def test_of_another_rollout_is_named_as_that() -> None:
    stage = _quarantined()
    stage.world.change(node_selector=LabelSelector(match_labels={"pool": "none"}))
    stage.world.roll_out("later", version=ABOVE)
    found = {one.rollout.metadata.name: one for one in decided(stage).told}
    assert "is at work on another order" not in found["later"].message


def test_the_next_rollout_that_changes_it_uncordons_it() -> None:
    stage = _quarantined()
    stage.world.delete()
    stage.finish_without_rollout()
    stage.node("w-0").fails = ""
    stage.world.roll_out(version=ABOVE)
    stage.finish()
    stage.well()
    assert QUARANTINED_BY not in stage.node("w-0").annotations


def test_of_a_rollout_that_cannot_be_read_nothing_is_taken_back() -> None:
    stage = _quarantined()
    blind = decided(stage, rollouts=(), unreadable=(Unreadable(kinds.NODE_ROLLOUT, "next", "a new field"),))
    assert blind.steps == ()
    assert "uncordon node w-0" in decided(stage, rollouts=()).describe(), "where it is gone all is"


def test_the_record_of_a_node_that_cannot_be_read_stays() -> None:
    stage = _quarantined()
    members = {name: one for name, one in stage.world.view(Memory()).members.items() if name != "w-0"}
    lost = decided(stage, members=members, unreadable=(Unreadable(kinds.NODE, "w-0", "too long"),))
    (record,) = lost.told[0].status.nodes
    assert (record.name, record.before) == ("w-0", stage.record("w-0").before)
    assert record.message == "Node w-0 cannot be read: too long"


def test_a_machine_that_is_replaced_because_it_failed_is_a_failure_all_the_same() -> None:
    stage = _quarantined()
    del stage.world.nodes["w-0"]
    stage.world.add_node("w-0")
    stage.finish()
    assert (stage.phase(), stage.told.failures) == (RolloutPhase.STOPPED, 1)
    assert "its node is gone since" in stage.record("w-0").message
    assert stage.judge.cordoned == ["w-0"]
    stage.world.change(paused=True)
    stage.until(lambda: not stage.told.nodes)
    stage.world.change(paused=False)
    stage.finish()
    stage.well()


def test_a_status_that_somebody_edits_is_made_sense_of() -> None:
    for state in NodeState:
        stage = Stage(2)
        stage.until(lambda stage=stage: any(one.state is NodeState.CHANGING for one in stage.told.nodes))
        rollout = stage.world.rollouts["next"]
        nodes = tuple(
            msgspec.structs.replace(one, token=None, state=state, reason="Whatever")
            for one in rollout.status.nodes
        )
        status = msgspec.structs.replace(rollout.status, nodes=nodes)
        stage.world.rollouts["next"] = msgspec.structs.replace(rollout, status=status)
        assert decided(stage).told, state


def test_a_reason_that_is_not_known_here_stays_told() -> None:
    stage = Stage(2)
    stage.node("w-0").fails = FAILS
    stage.until(lambda: any(one.state is NodeState.REVERTING for one in stage.told.nodes))
    rollout = stage.world.rollouts["next"]
    nodes = tuple(msgspec.structs.replace(one, reason="Whatever") for one in rollout.status.nodes)
    status = msgspec.structs.replace(rollout.status, nodes=nodes)
    stage.world.rollouts["next"] = msgspec.structs.replace(rollout, status=status)
    stage.finish()
    assert (stage.record("w-0").state, stage.record("w-0").reason) == (NodeState.FAILED, "Whatever")


def test_who_uncordons_it_by_hand_is_believed_and_a_later_cordon_is_not_ours() -> None:
    stage = _quarantined()
    stage.world.delete()
    stage.finish_without_rollout()
    node = stage.node("w-0")
    node.unschedulable, node.fails = False, ""
    stage.world.touched(node)
    stage.finish_without_rollout()
    assert QUARANTINED_BY not in node.annotations
    node.unschedulable = True
    stage.world.touched(node)
    stage.world.roll_out(version=ABOVE)
    stage.finish()
    assert (stage.phase(), stage.judge.closed()) == (RolloutPhase.COMPLETE, ["w-0"])


def test_one_that_could_not_be_drained_is_left_without_the_order_that_prepared_it() -> None:
    blocked = OnBlockedDrain.QUARANTINE
    stage = Stage(2, drain_timeout="1m", on_blocked=blocked)
    stage.world.budgets["cart"] = 0
    stage.until(lambda: stage.told.nodes and stage.told.nodes[0].state is NodeState.QUARANTINED, 120)
    assert CHANGES_ALLOWED in stage.node("w-0").annotations
    stage.world.delete()
    stage.finish_without_rollout()
    assert stage.world.rollouts == {}
    assert CHANGES_ALLOWED not in stage.node("w-0").annotations
    _is_left(stage)


def _tried_again(stage: Stage, *, later: bool) -> None:
    """By the same rollout, after somebody has looked, or by the next one; a budget keeps its drain."""
    stage.world.budgets["cart"] = 0
    stage.world.add_pod("w-0", "cart")
    if later:
        stage.world.delete()
        stage.finish_without_rollout()
        stage.world.roll_out(version=ABOVE)
    else:
        stage.world.change(paused=True)
        stage.until(lambda: stage.record("w-0").state is NodeState.WAITING)
        stage.world.change(paused=False)
    stage.until(lambda: [one.name for one in stage.told.nodes if one.state is NodeState.DRAINING] == ["w-0"])


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("deleted", [False, True])
def test_and_that_is_tried_again_and_not_changed_stays_so(later: bool, deleted: bool) -> None:
    stage = _quarantined()
    _tried_again(stage, later=later)
    if deleted:
        stage.world.delete()
        stage.finish_without_rollout()
        assert stage.world.rollouts == {}
    else:
        stage.world.change(abort=True)
        stage.finish()
        assert (stage.phase(), stage.record("w-0").state) == (RolloutPhase.ABORTED, NodeState.QUARANTINED)
        assert "quarantined: w-0" in stage.told.message
    _is_left(stage)


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("fails", [REFUSES, SILENT])
def test_and_whose_agent_then_never_begins_stays_so(later: bool, fails: str) -> None:
    stage = _quarantined()
    _tried_again(stage, later=later)
    stage.node("w-0").fails = fails
    stage.world.budgets["cart"] = 1
    stage.finish()
    assert stage.judge.closed() == ["w-0"]
    assert stage.record("w-0").state is NodeState.QUARANTINED
    stage.world.delete()
    stage.finish_without_rollout()
    _is_left(stage)


def test_and_that_is_no_longer_chosen_while_it_is_tried_again_stays_so() -> None:
    stage = _quarantined()
    _tried_again(stage, later=True)
    stage.world.change(node_selector=LabelSelector(match_labels={"pool": "none"}))
    stage.finish()
    assert stage.told.nodes == ()
    _is_left(stage)


def test_and_whose_mark_goes_while_it_waits_to_be_tried_again_is_uncordoned_once_it_is_changed() -> None:
    stage = _quarantined()
    stage.node("w-0").fails = ""
    stage.world.change(paused=True)
    stage.until(lambda: stage.record("w-0").state is NodeState.WAITING)
    del stage.node("w-0").annotations[CORDONED_BY]
    stage.world.touched(stage.node("w-0"))
    stage.world.change(paused=False)
    stage.finish()
    stage.well()
