"""How many nodes are away at once, which come first, and when: budget, canary, windows, pause."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from shiplift.api.marks import CORDONED_BY
from shiplift.api.nodes import Canary, RolloutPhase
from shiplift.api.values import LabelSelector, Window
from shiplift.nodes.model import Reason
from shiplift.nodes.steps import NodeStep
from tests.nodes.players import FAILS, Fate, tick
from tests.nodes.stage import Stage, decided, told
from tests.nodes.world import NEW, OLD


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
    assert [one.reason for one in stage.told.conditions if one.type == "Stalled"] == ["TooManyAway"]


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


def test_a_window_that_is_closed_says_nothing_of_a_duration_that_nobody_knows() -> None:
    stage = Stage(1, windows=(Window(schedule="0 22 * * *", duration="30m"),))
    stage.until(lambda: "window" in stage.told.message)
    assert stage.told.message == "no window is open; the next one opens at 2026-05-04 22:00 UTC"


def test_a_window_that_is_refused_is_not_waited_for() -> None:
    window = Window(schedule="0 22 * * *", duration="1h")
    stage = Stage(1, windows=(window,), expected_node_duration="2h30m")
    stage.finish()
    assert stage.told.message == (
        "spec.windows of NodeRollout next: window '0 22 * * *' for 1h in UTC is shorter than the 2h30m that"
        " is expected; let it last at least 2h30m, or lower expectedNodeDuration"
    )
    assert stage.told.next_window_time is None


def test_how_long_a_node_takes_is_measured() -> None:
    stage = Stage(3)
    stage.finish()
    assert len(stage.told.durations) == 3
    stage.world.change(windows=(Window(schedule="0 22 * * *", duration="5m"),))
    rollout = stage.world.rollouts["next"]
    status = msgspec.structs.replace(rollout.status, durations=(100, 400, 500))
    stage.world.rollouts["next"] = msgspec.structs.replace(rollout, status=status)
    stage.node("w-0").kubelet = OLD
    reason, message, stalled = told(decided(stage))
    assert (reason, stalled) == (Reason.WINDOW_CLOSED, False), "what was measured keeps nobody out for ever"
    assert "for the 2m30s that a node takes" in message


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


def test_a_node_that_was_chosen_is_let_go_when_another_goes_down_before_its_cordon() -> None:
    stage = Stage(3)
    stage.until(lambda: stage.told.nodes)
    stage.node("w-2").ready = False
    stage.world.touched(stage.node("w-2"))
    stage.judge.down_before = {stage.node("w-2").uid}
    stage.operator.round()
    assert stage.judge.cordoned == []
    stage.finish()
    assert stage.judge.cordoned[0] == "w-2"
    stage.well()


def test_what_the_control_plane_took_does_not_let_others_follow_a_canary_that_goes_down() -> None:
    stage = Stage(3, 3, canary=Canary(nodes=1, soak="20m"))
    stage.until(lambda: stage.told.canary_start_time, 400)
    canary = next(name for name in stage.judge.cordoned if name.startswith("w-"))
    stage.node(canary).ready = False
    stage.world.touched(stage.node(canary))
    stage.judge.down_before.add(stage.node(canary).uid)
    for _ in range(30):
        stage.operator.round()
        stage.world.pass_time(60)
    assert [name for name in stage.judge.cordoned if name.startswith("w-")] == [canary]


def test_of_many_nodes_that_are_down_no_more_are_held_than_the_budget_allows() -> None:
    stage = Stage(4)
    for name in ("w-1", "w-2", "w-3"):
        stage.node(name).ready = False
    stage.judge.down_before = {one.uid for one in stage.world.nodes.values() if not one.ready}
    held = 0
    for _ in range(60):
        stage.operator.round()
        held = max(held, sum(CORDONED_BY in one.annotations for one in stage.world.nodes.values()))
        tick(stage.world, stage.judge.look)
    assert held == 1
    stage.finish()
    stage.well()


def test_an_estimate_goes_by_what_the_last_nodes_took() -> None:
    """Not by the time since the start: a rollout that was stopped for an hour goes on as fast as before."""
    stage = Stage(4)
    stage.until(lambda: len(stage.told.durations) == 2)
    stage.world.change(paused=True)
    stage.until(lambda: not stage.told.nodes)
    stage.world.pass_time(3600)
    stage.world.change(paused=False)
    stage.until(lambda: stage.told.eta)
    assert stage.told.eta is not None
    longest = max(stage.told.durations)
    assert stage.told.eta.latest is not None
    assert (stage.told.eta.latest - stage.world.now).total_seconds() <= longest


def test_there_is_no_estimate_while_every_node_in_flight_is_held_up() -> None:
    stage = Stage(4)
    stage.until(lambda: len(stage.told.durations) == 2 and stage.told.eta)
    stage.world.budgets["cart"] = 0
    stage.until(lambda: stage.told.nodes and stage.told.nodes[0].reason == Reason.DRAIN_BLOCKED)
    assert stage.told.eta is not None, "it may be over in a moment"
    stage.until(lambda: stage.told.eta is None, 20)
    stage.world.budgets["cart"] = 1
    stage.until(lambda: stage.told.eta is not None, 10)


def test_there_is_no_estimate_while_a_node_cannot_be_written() -> None:
    stage = Stage(4)
    stage.until(lambda: len(stage.told.durations) == 2 and stage.told.eta)
    refused = lambda step: Fate.LOST if isinstance(step, NodeStep) else Fate.DONE  # noqa: E731
    for _ in range(40):
        stage.operator.round(refused)
        tick(stage.world, stage.judge.look)
    assert "cannot be done" in stage.told.nodes[0].message
    assert stage.told.eta is None
