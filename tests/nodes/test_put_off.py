"""What was allowed when a node was chosen may not be any more: windows, pauses, canaries, versions."""

from __future__ import annotations

from datetime import timedelta

import pytest

from shiplift.agent.protocol import OUTCOME, current_key
from shiplift.api.nodes import Canary, NodeState, RolloutPass, RolloutPhase
from shiplift.api.values import LabelSelector, Window
from shiplift.engine.api_servers import API_SERVER
from shiplift.nodes.model import Reason
from tests.nodes.players import Operator, agents
from tests.nodes.stage import ABOVE, Stage, decided, told
from tests.nodes.world import NEW, OLD

MORNING = Window(schedule="0 9 * * *", duration="10m")


def _chosen(stage: Stage) -> None:
    """Its first node is written down, and nothing was done to it yet."""
    stage.until(lambda: any(one.state is NodeState.CORDONED for one in stage.told.nodes))
    assert stage.judge.closed() == []


def test_a_node_that_was_chosen_is_not_begun_when_its_window_has_closed() -> None:
    stage = Stage(2, windows=(MORNING,))
    _chosen(stage)
    stage.world.pass_time(5 * 3600)
    stage.operator = Operator(stage.world)
    for _ in range(5):
        stage.operator.round()
    assert (stage.judge.closed(), stage.told.nodes) == ([], ())
    assert "no window is open" in stage.told.message


def test_a_node_that_was_chosen_is_not_begun_while_the_rollout_is_paused() -> None:
    stage = Stage(2)
    _chosen(stage)
    stage.world.change(paused=True)
    for _ in range(5):
        stage.operator.round()
    assert (stage.judge.closed(), stage.told.nodes, stage.phase()) == ([], (), RolloutPhase.PAUSED)


def test_a_slow_node_does_not_make_every_window_too_short() -> None:
    stage = Stage(3, windows=(Window(schedule="0 9 * * *", duration="2h"),))
    stage.until(lambda: any(one.state is NodeState.DRAINING for one in stage.told.nodes))
    stage.world.pass_time(3 * 3600)
    stage.until(lambda: not stage.told.nodes, 200)
    assert stage.told.durations[0] > timedelta(hours=2).total_seconds()
    stage.world.pass_time(21 * 3600)
    stage.finish()
    stage.well()


@pytest.mark.parametrize("paused", [False, True])
@pytest.mark.parametrize("had", [(), ("w-3",)])
def test_a_canary_that_is_down_when_its_time_is_over_holds_the_others_back(
    paused: bool, had: tuple[str, ...]
) -> None:
    """Also where another node has had the version all along."""
    stage = Stage(5, budget=2, canary=Canary(nodes=1, soak="15m"))
    for name in had:
        other = stage.node(name)
        other.kubelet, other.packages = NEW, dict.fromkeys(other.packages, NEW[1:])
    agents(stage.world)
    stage.until(lambda: stage.told.canary_start_time is not None)
    stage.world.change(paused=paused)
    stage.operator.round()
    node = stage.node("w-0")
    node.ready = False
    stage.world.touched(node)
    stage.world.pass_time(1200)
    stage.operator = Operator(stage.world)
    stage.operator.round()
    stage.world.change(paused=False)
    for _ in range(5):
        stage.operator.round()
    assert stage.judge.cordoned == ["w-0"]
    node.ready = True
    stage.world.touched(node)
    for _ in range(5):
        stage.operator.round()
    assert stage.judge.cordoned == ["w-0"]
    assert stage.told.canary_start_time == stage.world.now, "it is watched for the whole time again"
    stage.finish()
    stage.well()


def test_what_was_prepared_for_another_version_is_prepared_again() -> None:
    stage = Stage(2)
    stage.world.server = "v1.36.9"
    done = lambda: all("Prepare" in one.annotations.get(OUTCOME, "") for one in stage.world.nodes.values())  # noqa: E731
    stage.until(done)
    stage.world.change(version="v1.36.9")
    stage.operator.round()
    steps = decided(stage).describe()
    assert all(one.startswith("order Prepare") for one in steps), steps
    assert all("1.36.9" in one for one in steps)
    for _ in range(2):
        stage.operator.round()
    assert (stage.told.running_pass, stage.judge.cordoned) == (RolloutPass.PREPARE, []), (
        "it is not answered yet"
    )


# --- versions that nobody knows ---


def test_an_api_server_that_does_not_answer_is_waited_for() -> None:
    stage = Stage(2, minor=True)
    stage.world.server = ""
    for _ in range(12):
        stage.operator.round()
    assert told(decided(stage))[:2] == (
        Reason.WAITS_FOR_AGENT,
        "the API server does not say which version it has",
    )
    assert stage.judge.steps == []


def test_an_agent_of_the_control_plane_that_is_silent_is_waited_for_and_not_refused() -> None:
    stage = Stage(1, 2, minor=True)
    del stage.node("cp-1").annotations[current_key(API_SERVER)]
    stage.world.server = OLD
    reason, message, stalled = told(decided(stage))
    assert (reason, stalled) == (Reason.WAITS_FOR_AGENT, False)
    assert "control-plane node cp-1" in message


def test_a_silent_control_plane_that_takes_no_part_is_waited_for_where_others_speak() -> None:
    stage = Stage(2, 2, minor=True)
    for node in stage.world.nodes.values():
        node.labels["role"] = "worker" if not node.control_plane else "head"
    stage.world.change(node_selector=LabelSelector(match_labels={"role": "worker"}))
    stage.node("cp-0").annotations[current_key(API_SERVER)] = ABOVE
    del stage.node("cp-1").annotations[current_key(API_SERVER)]
    stage.world.server = ABOVE
    assert told(decided(stage))[0] is Reason.WAITS_FOR_AGENT
    del stage.node("cp-0").annotations[current_key(API_SERVER)]
    assert told(decided(stage))[0] is not Reason.WAITS_FOR_AGENT, "nobody has agents there"
