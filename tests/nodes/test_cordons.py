"""Whose a cordon is: ours is taken back whoever takes our mark off, and one by hand stays."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shiplift.api.marks import CORDONED_BY
from shiplift.api.nodes import NodeState, OnBlockedDrain, RolloutPhase
from shiplift.engine.step import Step
from shiplift.nodes.steps import Allow
from tests.nodes.players import Fate, Operator, finish, tick
from tests.nodes.stage import Stage

_DRAINED_ON = (NodeState.DRAINING, NodeState.CHANGING, NodeState.VERIFYING)


def _finish(stage: Stage) -> None:
    """By the same operator: what it has done itself it knows."""
    finish(stage.world, stage.judge.look, stage.operator)


def _step(stage: Stage, holds: Callable[[], object], *, publishes: bool = True) -> None:
    """Round by round, and nothing happens after the last."""
    for _ in range(200):
        stage.operator.round(publishes=publishes)
        if holds():
            return
        tick(stage.world, stage.judge.look)
    raise AssertionError(f"not so: {stage.told}")


def _state(stage: Stage, state: NodeState) -> Callable[[], bool]:
    return lambda: any(one.name == "w-0" and one.state is state for one in stage.told.nodes)


def _given_back(stage: Stage) -> Callable[[], bool]:
    return lambda: "w-0" in stage.judge.cordoned and not stage.node("w-0").unschedulable


def _strip(stage: Stage, *, all_of_it: bool = False) -> None:
    notes = stage.node("w-0").annotations
    for key in [key for key in notes if all_of_it or key == CORDONED_BY]:
        del notes[key]
    stage.world.touched(stage.node("w-0"))


def _cordon(stage: Stage) -> None:
    stage.node("w-0").unschedulable = True
    stage.world.touched(stage.node("w-0"))


def test_a_mark_that_somebody_takes_off_at_once_leaves_the_cordon_ours() -> None:
    stage = Stage(3)
    _step(stage, lambda: stage.judge.cordoned)
    assert stage.record("w-0").state is NodeState.CORDONED
    _strip(stage)
    _finish(stage)
    stage.well()


@pytest.mark.parametrize("dies", [False, True])
@pytest.mark.parametrize("all_of_it", [False, True])
@pytest.mark.parametrize("state", _DRAINED_ON)
def test_so_does_one_that_goes_later_alone_or_with_all_that_is_ours(
    state: NodeState, all_of_it: bool, dies: bool
) -> None:
    stage = Stage(3)
    _step(stage, _state(stage, state))
    _strip(stage, all_of_it=all_of_it)
    if dies:
        stage.operator = Operator(stage.world)
    _finish(stage)
    stage.well()


def test_so_does_one_of_a_node_that_has_failed_and_is_about_to_be_given_back() -> None:
    stage = Stage(1)
    stage.node("w-0").fails = "fails"
    _step(stage, _state(stage, NodeState.FAILED))
    assert stage.judge.closed() == ["w-0"]
    _strip(stage)
    _finish(stage)
    assert (stage.judge.closed(), stage.phase()) == ([], RolloutPhase.STOPPED)


@pytest.mark.parametrize("dies", [False, True])
def test_who_cordons_a_node_right_after_it_was_given_back_finds_it_cordoned(dies: bool) -> None:
    stage = Stage(3)
    _step(stage, _given_back(stage))
    assert stage.judge.closed() == []
    _cordon(stage)
    if dies:
        stage.operator = Operator(stage.world)
    _finish(stage)
    assert (stage.judge.closed(), stage.phase()) == (["w-0"], RolloutPhase.COMPLETE)
    assert stage.judge.residue() == []


@pytest.mark.parametrize("state", [NodeState.DRAINING, NodeState.CHANGING])
def test_so_does_who_cordons_it_while_nothing_can_be_written_down(state: NodeState) -> None:
    stage = Stage(3)
    _step(stage, _state(stage, state))
    _step(stage, _given_back(stage), publishes=False)
    _cordon(stage)
    stage.operator = Operator(stage.world)
    _finish(stage)
    assert (stage.judge.closed(), stage.phase()) == (["w-0"], RolloutPhase.COMPLETE)


@pytest.mark.parametrize("dies", [False, True])
@pytest.mark.parametrize("deleted", [False, True])
def test_so_does_who_cordons_it_when_it_is_given_back_unchanged(deleted: bool, dies: bool) -> None:
    stage = Stage(3)
    stage.world.budgets["cart"] = 0
    _step(stage, _state(stage, NodeState.DRAINING))
    if deleted:
        stage.world.delete()
    else:
        stage.world.change(abort=True)
    _step(stage, _given_back(stage))
    _cordon(stage)
    if dies:
        stage.operator = Operator(stage.world)
    _finish(stage)
    assert (stage.judge.closed(), stage.judge.residue()) == (["w-0"], [])
    assert deleted == (not stage.world.rollouts)


def test_that_it_is_given_back_unchanged_is_written_down_first() -> None:
    stage = Stage(3)
    stage.world.budgets["cart"] = 0
    _step(stage, _state(stage, NodeState.DRAINING))
    stage.world.change(abort=True)
    for _ in range(3):
        stage.operator.round(publishes=False)
    assert stage.judge.closed() == ["w-0"]
    _strip(stage)
    stage.operator = Operator(stage.world)
    _finish(stage)
    assert (stage.judge.closed(), stage.phase()) == ([], RolloutPhase.ABORTED)


# --- how long a node is drained ---


def _no_order(step: Step) -> Fate:
    """The API server never answers to the order that would change the node."""
    changes = isinstance(step, Allow) and step.order.token.operation.wants_cordon
    return Fate.LOST if changes else Fate.DONE


def test_an_order_that_is_refused_is_told() -> None:
    stage = Stage(2)
    for _ in range(60):
        stage.operator.round(_no_order)
        tick(stage.world, stage.judge.look)
    record = stage.record("w-0")
    assert record.state is NodeState.CHANGING
    assert "(cannot be done: order Packages of node w-0" in record.message


def test_a_node_that_is_never_empty_for_long_is_drained_no_longer_than_one_that_never_is() -> None:
    """Whenever it is empty, and before its agent has the order, the next pod comes."""
    stage = Stage(2, drain_timeout="1m", on_blocked=OnBlockedDrain.QUARANTINE)
    seen: list[NodeState] = []
    for _ in range(150):
        stage.operator.round(_no_order)
        tick(stage.world, stage.judge.look)
        seen += [one.state for one in stage.told.nodes if one.name == "w-0"]
        if seen[-2:] == [NodeState.CHANGING] * 2:
            stage.world.add_pod("w-0")
    assert seen.count(NodeState.CHANGING) > 5
    assert seen[-1] is NodeState.QUARANTINED


def test_a_cordon_of_an_earlier_attempt_that_somebody_took_back_says_nothing_of_a_later_one() -> None:
    stage = Stage(3)
    stage.node("w-0").fails = "refuses"
    _step(stage, _state(stage, NodeState.FAILED))
    _strip(stage, all_of_it=True)
    stage.node("w-0").unschedulable, stage.node("w-0").fails = False, ""
    stage.world.touched(stage.node("w-0"))
    stage.world.change(paused=True)
    _step(stage, _state(stage, NodeState.WAITING))
    stage.world.change(paused=False)
    _step(stage, lambda: any(one.name == "w-0" and one.token for one in stage.told.nodes))
    _cordon(stage)
    _finish(stage)
    assert (stage.judge.closed(), stage.phase()) == (["w-0"], RolloutPhase.COMPLETE)
