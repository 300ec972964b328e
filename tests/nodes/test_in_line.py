"""The next worker is written down while the one before is given back, and touched when that takes pods."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.api.marks import SKIP_ROLLOUT
from shiplift.api.nodes import Hook, Hooks, NodeState
from shiplift.api.values import LabelSelector
from shiplift.engine.step import Step
from shiplift.nodes.model import Reason
from shiplift.nodes.steps import Cordon, Release
from tests.nodes.players import Fate, Operator
from tests.nodes.stage import Stage

fates = st.sampled_from(Fate)


def steps(stage: Stage) -> list[Step]:
    assert stage.operator.decision
    return list(stage.operator.decision.steps)


def given_back(stage: Stage) -> str:
    """The node that is given back by what was decided last."""
    return next((one.name for one in steps(stage) if isinstance(one, Release)), "")


def refusing(step: Step) -> Fate:
    return Fate.LOST if isinstance(step, Release) else Fate.DONE


def in_line(workers: int = 3, *, gold: bool = False, **spec: Any) -> Stage:
    """A rollout of which the first node is to be given back, which fails."""
    stage = Stage(workers, **spec)
    for node in stage.world.nodes.values() if gold else ():
        node.labels["tier"] = "gold"
    stage.until(lambda: stage.told.nodes and stage.told.nodes[0].state is NodeState.VERIFYING)
    while not given_back(stage):
        stage.operator.round(refusing)
    return stage


def test_the_next_is_cordoned_by_the_first_decision_that_sees_the_one_before_given_back() -> None:
    stage = in_line()
    assert [one.name for one in stage.told.nodes] == ["w-0", "w-1"]
    assert (stage.record("w-1").state, stage.record("w-1").reason) == (NodeState.WAITING, Reason.IN_LINE)
    assert stage.told.unavailable == 1
    stage.operator.round()
    assert (given_back(stage), stage.node("w-0").unschedulable) == ("w-0", False)
    assert not stage.node("w-1").unschedulable
    stage.operator.round()
    assert [one.name for one in steps(stage) if isinstance(one, Cordon)] == ["w-1"]
    stage.finish()
    stage.well()


def test_while_the_one_before_cannot_be_given_back_nothing_is_done_to_it_and_nothing_is_written() -> None:
    stage = in_line()
    stage.operator.round(refusing)
    before = stage.record("w-1")
    for _ in range(20):
        stage.operator.round(refusing)
        assert not any(isinstance(one, Cordon) for one in steps(stage))
        assert stage.record("w-1") == before
    stage.world.pass_time(60)
    stage.operator.round(refusing)
    (stalled,) = (one for one in stage.told.conditions if one.type == "Stalled")
    assert stalled.reason == "CannotBeDone"
    assert "node w-0: it is as it should be and is given back (cannot be done: " in stalled.message
    stage.finish()
    stage.well()


def test_only_as_many_are_in_line_as_are_given_back() -> None:
    stage = in_line(9, budget=3)
    for _ in range(5):
        stage.operator.round(refusing)
    leaving = sum(isinstance(one, Release) for one in steps(stage))
    held = [one for one in stage.told.nodes if one.token]
    assert len(held) == 3 + leaving
    assert sum(one.unschedulable for one in stage.world.nodes.values()) == 3
    stage.finish()
    stage.well()


def test_where_another_goes_down_the_one_in_line_is_let_go() -> None:
    stage = in_line(4)
    stage.node("w-3").ready = False
    stage.judge.down_before.add(stage.node("w-3").uid)
    stage.operator.round(refusing)
    assert [one.name for one in stage.told.nodes if one.token] == ["w-0"]
    stage.node("w-3").ready = True
    stage.finish()
    stage.well()


def test_one_in_line_that_goes_down_for_a_moment_has_no_slot_either() -> None:
    stage = in_line()
    waits = stage.node("w-1")
    waits.ready = False
    stage.world.touched(waits)
    for _ in range(5):
        stage.operator.round(refusing)
    waits.ready = True
    stage.world.touched(waits)
    for _ in range(5):
        stage.operator.round(refusing)
        stage.judge.look()
    assert not waits.unschedulable
    stage.finish()
    stage.well()


@pytest.mark.parametrize("leaves", ["opts out", "is not selected"])
def test_one_that_is_given_back_and_no_longer_in_scope_keeps_its_slot_until_it_is(leaves: str) -> None:
    stage = in_line(node_selector=LabelSelector(match_labels={"tier": "gold"}), gold=True)
    leaving = stage.node("w-0")
    if leaves == "opts out":
        leaving.annotations[SKIP_ROLLOUT] = "true"
    else:
        del leaving.labels["tier"]
    stage.world.touched(leaving)
    for _ in range(5):
        stage.operator.round(refusing)
        stage.judge.look()
    assert leaving.unschedulable
    assert stage.judge.cordoned == ["w-0"]
    stage.finish()
    assert stage.judge.closed() == []


@pytest.mark.parametrize("change", [{"paused": True}, {"abort": True}])
def test_paused_or_aborted_it_is_let_go_untouched(change: dict[str, bool]) -> None:
    stage = in_line()
    stage.world.change(**change)
    for _ in range(3):
        stage.operator.round()
    assert "w-1" not in stage.judge.cordoned
    assert "w-1" not in [one.name for one in stage.told.nodes if one.token]


def test_with_hooks_before_a_node_nobody_waits_in_line() -> None:
    hook = Hook(name="tell", namespace="shop", service_account_name="hooks", job={})
    stage = in_line(hooks=Hooks(before=(hook,)))
    assert [one.name for one in stage.told.nodes if one.token] == ["w-0"]
    stage.finish()
    stage.well()


@given(st.lists(st.tuples(fates, fates), min_size=1, max_size=30), st.booleans())
def test_whatever_becomes_of_writes_no_more_are_away_than_may_be(
    script: list[tuple[Fate, Fate]], dies: bool
) -> None:
    stage = in_line(4, budget=2)
    for release, other in script:
        stage.operator.round(lambda step, of=(release, other): of[not isinstance(step, Release)])
        stage.judge.look()
        if dies:
            stage.operator = Operator(stage.world)
    stage.finish()
    stage.well()
