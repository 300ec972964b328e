"""`shiplift undo` says which node and which agent it waits for."""

from __future__ import annotations

from shiplift.api.nodes import NodeState, NodeStatus
from shiplift.nodes.face.undo import waits
from shiplift.nodes.model import Reason, Rolling, Told
from tests.nodes.face.rollouts import a_record, a_rollout

TOKEN = "Packages.1.uid-r.uid-a"


def rolling(*records: NodeStatus, reason: Reason = Reason.ABORTING, message: str = "") -> Rolling:
    rollout = a_rollout(*records)
    return Rolling(told=(Told(rollout, rollout.status, reason, message),))


def test_the_node_and_what_it_waits_for_is_named() -> None:
    at_work = a_record("a", NodeState.CHANGING, message="its agent has begun", token=TOKEN)
    failed = a_record("b", NodeState.FAILED, message="it failed")
    assert waits(rolling(at_work, failed)) == "waits for node a: its agent has begun"


def test_of_an_agent_that_is_not_heard_of_it_is_said_what_ends_the_wait() -> None:
    dead = a_record("a", NodeState.CHANGING, message="nothing was heard", token=TOKEN, reason="AgentUnheard")
    assert waits(rolling(dead)) == (
        "waits for node a: nothing was heard (start its agent again, which finishes or reverts; where that"
        " machine is gone for good, `kubectl delete node a`)"
    )


def test_where_no_node_is_in_flight_the_rollout_says_what_it_waits_for() -> None:
    assert waits(rolling(message="what is known of Node may be old")) == (
        "waits for NodeRollout r: what is known of Node may be old"
    )


def test_where_nothing_is_under_way_there_is_nothing_to_say() -> None:
    assert waits(Rolling()) == ""
