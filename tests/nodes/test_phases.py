"""While nodes of a rollout that ends are given back, its phase says that it ends."""

from __future__ import annotations

from shiplift.api.nodes import NodeState, RolloutPhase
from tests.nodes.players import STUCK
from tests.nodes.stage import Stage


def at_work() -> Stage:
    """An agent has begun, and does not come to its end."""
    stage = Stage(1)
    stage.node("w-0").fails = STUCK
    stage.until(lambda: stage.told.nodes and stage.told.nodes[0].state is NodeState.CHANGING)
    for _ in range(3):
        stage.operator.round()
    return stage


def test_one_that_is_aborted_is_aborting_until_its_nodes_are_given_back() -> None:
    stage = at_work()
    stage.world.change(abort=True)
    stage.operator.round()
    assert stage.phase() is RolloutPhase.ABORTING
    stage.node("w-0").fails = ""
    stage.finish()
    assert stage.phase() is RolloutPhase.ABORTED


def test_one_that_is_deleted_says_so() -> None:
    stage = at_work()
    stage.world.delete()
    stage.operator.round()
    assert stage.phase() is RolloutPhase.DELETING


def test_a_node_that_is_cordoned_at_this_moment_does_not_say_that_it_will_be() -> None:
    stage = Stage(1)
    stage.until(lambda: any("cordoned" in one.message for one in stage.told.nodes))
    (record,) = stage.told.nodes
    assert (record.state, record.message) == (NodeState.CORDONED, "it is being cordoned")
