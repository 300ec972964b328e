"""An agent of which nothing is heard is told as that, with since when, long before it counts as failed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from shiplift.agent.protocol import AGENT, Agent
from shiplift.api.nodes import NodeState, RolloutPass, RolloutPhase
from shiplift.api.values import ConditionStatus
from shiplift.nodes.model import Reason
from shiplift.nodes.observe.rollouts import kept_for
from tests.nodes.face.rollouts import a_rollout
from tests.nodes.players import SILENT, STUCK, Operator
from tests.nodes.stage import Stage


def stalled(stage: Stage) -> bool:
    found = [one for one in stage.told.conditions if one.type == "Stalled"]
    return any(one.status is ConditionStatus.TRUE for one in found)


def without_agents(*names: str) -> Stage:
    """Their agents said something once, and run no more; the others do."""
    stage = Stage(3)
    for name in names:
        stage.node(name).fails = SILENT
    prepared = 3 - len(names)
    stage.until(lambda: stage.told.message.startswith(f"{prepared} of 3 nodes are prepared"))
    return stage


def later(stage: Stage, seconds: int) -> None:
    for _ in range(2):
        stage.operator.round()
    stage.world.now += timedelta(seconds=seconds)
    stage.operator.round()


def test_while_nodes_are_prepared_those_without_agent_are_named_after_half_a_minute() -> None:
    stage = without_agents("w-0", "w-2")
    later(stage, 20)
    assert "heard" not in stage.told.message
    later(stage, 15)
    assert "nothing was heard of the agent of node w-0 (and 1 more) since 09:00:" in stage.told.message
    assert "see whether it runs" in stage.told.message
    assert (stage.phase(), stage.told.running_pass) == (RolloutPhase.PENDING, RolloutPass.PREPARE)
    assert not stalled(stage), "it is waited for"
    stage.node("w-0").fails = stage.node("w-2").fails = ""
    stage.finish()
    stage.well()


def test_agents_that_prepare_and_say_so_are_waited_for_in_silence() -> None:
    stage = Stage(1)
    stage.until(lambda: stage.told.running_pass is RolloutPass.PREPARE)
    stage.node("w-0").fails = SILENT
    for beat in range(10):
        stage.node("w-0").annotations[AGENT] = Agent("1", beat).written()
        later(stage, 10)
        assert "heard" not in stage.told.message


@pytest.mark.parametrize("claims", [True, False])
def test_an_agent_that_dies_at_work_is_told_with_since_when(claims: bool) -> None:
    stage = Stage(1)
    stage.until(lambda: stage.told.running_pass is RolloutPass.WORKERS)
    stage.node("w-0").fails = STUCK if claims else SILENT
    wanted = Reason.CHANGING if claims else Reason.WAITS_FOR_AGENT
    stage.until(lambda: stage.told.nodes and stage.told.nodes[0].reason == wanted)
    later(stage, 31)
    record = stage.record("w-0")
    assert (record.state, record.reason) == (NodeState.CHANGING, "AgentUnheard")
    so = "its agent has begun, and" if claims else "its agent has not begun yet;"
    assert record.message.startswith(f"{so} nothing was heard of it since 09:00:")
    stage.node("w-0").annotations[AGENT] = Agent("1", 7).written()
    later(stage, 0)
    assert stage.record("w-0").reason == wanted, "it was heard of"


@pytest.mark.parametrize("listens", [0, 40])
def test_who_has_just_begun_to_listen_believes_what_was_told_of_its_silence(listens: int) -> None:
    """An operator that comes back, or `shiplift undo`."""
    stage = Stage(1)
    stage.until(lambda: stage.told.running_pass is RolloutPass.WORKERS)
    stage.node("w-0").fails = STUCK
    stage.until(lambda: stage.told.nodes and stage.told.nodes[0].reason == Reason.CHANGING)
    later(stage, 31)
    told = stage.record("w-0").message
    assert "nothing was heard of it since 09:00:" in told
    stage.operator = Operator(stage.world)
    later(stage, listens)
    assert (stage.record("w-0").reason, stage.record("w-0").message) == ("AgentUnheard", told)
    stage.node("w-0").annotations[AGENT] = Agent("1", 7).written()
    later(stage, 0)
    assert stage.record("w-0").message == "its agent is at work"


def test_a_pass_is_over_when_its_last_node_was_given_back() -> None:
    stage = Stage(1, 2)
    passes: list[tuple[RolloutPass | None, list[str]]] = []

    def note() -> bool:
        flying = [one.name for one in stage.told.nodes if one.state is not NodeState.WAITING]
        passes.append((stage.told.running_pass, flying))
        return stage.phase() is RolloutPhase.COMPLETE

    stage.until(note, rounds=200)
    workers = [flying for running, flying in passes if running is RolloutPass.WORKERS]
    assert workers
    assert all(not name.startswith("cp-") for flying in workers for name in flying)


@pytest.mark.parametrize(
    ("running", "seconds"), [(RolloutPass.PREPARE, 10.0), (RolloutPass.DONE, float("inf"))]
)
def test_a_view_is_not_kept_for_long_while_nodes_are_prepared(running: RolloutPass, seconds: float) -> None:
    """Heartbeats alone make no new view."""
    assert kept_for([a_rollout(running_pass=running)]) == seconds
