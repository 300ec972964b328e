"""Statuses are written when it matters, each for itself, and Events only for what was written."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest

from shiplift.api.base import ObjectMeta
from shiplift.api.nodes import (
    NodeRollout,
    NodeRolloutSpec,
    NodeRolloutStatus,
    NodeState,
    NodeStatus,
    RolloutPhase,
)
from shiplift.engine.barrier import Barrier, Seen
from shiplift.engine.decision import Requeue
from shiplift.engine.layer import Retry
from shiplift.facts.kinds import NODE, NODE_ROLLOUT, Kind
from shiplift.kube.client import Client
from shiplift.kube.errors import Conflict, ServerError
from shiplift.kube.events import Recorder, Regarding
from shiplift.kube.statuses import Pace
from shiplift.nodes.model import Reason, Rolling, Told
from shiplift.nodes.tell.publish import Publisher

RECORD = NodeStatus(name="a", uid="u", state=NodeState.WAITING)


class Server:
    """Takes statuses, or refuses them; hears Events."""

    def __init__(self) -> None:
        self.now = 100.0
        self.written: list[tuple[str, dict[str, Any]]] = []
        self.refuses: dict[str, Exception] = {}
        self.events: list[tuple[Regarding, str]] = []
        self.publisher = Publisher(
            cast("Client", self), cast("Recorder", self), lambda: Pace(lambda: self.now), lambda: self.now
        )

    def patch(self, kind: Kind, name: str, patch: dict[str, Any], *_: Any, **given: Any) -> Server:
        assert (kind, given["subresource"]) == (NODE_ROLLOUT, "status")
        assert (given["uid"], given["resource_version"]) == (f"uid-{name}", "7")
        if name in self.refuses:
            raise self.refuses[name]
        self.written.append((name, patch["status"]))
        return self

    @property
    def barrier(self) -> Barrier:
        return Seen(NODE_ROLLOUT, 8)

    def record(self, regarding: Regarding, reason: str, _note: str, **_: Any) -> None:
        self.events.append((regarding, reason))

    def tell(self, *told: Told) -> list[Barrier | Requeue]:
        return list(self.publisher.publish(Rolling(told=told)))


def told(before: NodeRolloutStatus, after: NodeRolloutStatus, name: str = "r") -> Told:
    about = ObjectMeta(name=name, uid=f"uid-{name}", resource_version="7")
    rollout = NodeRollout(metadata=about, spec=NodeRolloutSpec(version="v1.36.3"), status=before)
    return Told(rollout, after, Reason.ROLLING, "")


NOTHING = NodeRolloutStatus()


def test_what_is_told_already_is_not_written() -> None:
    server = Server()
    assert server.tell(told(NOTHING, NOTHING)) == []
    assert server.written == []


def test_the_status_is_written_and_has_to_be_seen_before_the_next_decision() -> None:
    server = Server()
    assert server.tell(told(NOTHING, NodeRolloutStatus(nodes=(RECORD,)))) == [Seen(NODE_ROLLOUT, 8)]
    assert server.written == [("r", {"nodes": ({"name": "a", "uid": "u", "state": "Waiting"},)})]
    assert server.events == [(Regarding(NODE, "a", uid="u"), "RolloutBegun")]


def test_records_are_written_at_once_and_words_once_a_second() -> None:
    server = Server()
    server.tell(told(NOTHING, NodeRolloutStatus(message="one")))
    server.now += 0.1
    (later,) = server.tell(told(NodeRolloutStatus(message="one"), NodeRolloutStatus(message="two")))
    assert isinstance(later, Requeue)
    assert server.tell(told(NodeRolloutStatus(message="one"), NodeRolloutStatus(nodes=(RECORD,)))) == [
        Seen(NODE_ROLLOUT, 8)
    ]
    assert len(server.written) == 2


@pytest.mark.parametrize(
    ("before", "after", "at_once"),
    [
        (NodeState.CORDONED, NodeState.DRAINING, False),
        (NodeState.DRAINING, NodeState.CHANGING, True),
        (NodeState.CHANGING, NodeState.VERIFYING, True),
        (NodeState.CHANGING, NodeState.QUARANTINED, True),
    ],
)
def test_how_far_a_drain_is_is_written_later_and_how_far_a_node_is_at_once(
    before: NodeState, after: NodeState, at_once: bool
) -> None:
    server = Server()
    old, new = (
        NodeRolloutStatus(nodes=(msgspec.structs.replace(RECORD, state=state),)) for state in (before, after)
    )
    server.tell(told(NOTHING, old))
    server.now += 0.1
    (later,) = server.tell(told(old, new))
    assert isinstance(later, Seen) is at_once


def test_rollouts_have_a_pace_each() -> None:
    server = Server()
    after = NodeRolloutStatus(message="one")
    server.tell(told(NOTHING, after, "r"))
    assert server.tell(told(NOTHING, after, "s")) == [Seen(NODE_ROLLOUT, 8)]


def test_whoever_changed_the_rollout_meanwhile_is_seen_by_the_next_look() -> None:
    server = Server()
    server.refuses["r"] = Conflict("somebody was faster", status=409)
    assert server.tell(told(NOTHING, NodeRolloutStatus(phase=RolloutPhase.COMPLETE))) == []
    assert server.events == []


def test_a_status_that_is_refused_keeps_no_other_from_being_told() -> None:
    server = Server()
    server.refuses["r"] = ServerError("a webhook says no", status=500)
    after = NodeRolloutStatus(phase=RolloutPhase.COMPLETE, message="done")
    with pytest.raises(Retry, match=r"NodeRollout r: .*a webhook says no"):
        server.tell(told(NOTHING, after, "r"), told(NOTHING, after, "s"))
    assert [name for name, _ in server.written] == ["s"]
    assert server.events == [(Regarding(NODE_ROLLOUT, "s", uid="uid-s"), "Complete")]


def test_a_status_that_is_refused_again_and_again_is_told_by_one_event() -> None:
    server = Server()
    server.refuses["r"] = ServerError("a policy says no", status=500)
    after = NodeRolloutStatus(phase=RolloutPhase.COMPLETE, message="done")
    for _ in range(5):
        with pytest.raises(Retry):
            server.tell(told(NOTHING, after, "r"))
    assert server.events == [(Regarding(NODE_ROLLOUT, "r", uid="uid-r"), "CannotTell")]


BLOCKED = NodeRolloutStatus(
    nodes=(
        NodeStatus(name="a", uid="u", state=NodeState.DRAINING, reason="DrainBlocked", message="1 pod left"),
    )
)


def test_a_drain_that_is_blocked_for_long_is_told_once_and_again_when_it_happens_again() -> None:
    server = Server()
    for seconds in (0, 14, 1, 100):
        server.now += seconds
        server.tell(told(BLOCKED, BLOCKED))
        assert len(server.events) == (1 if seconds in (1, 100) else 0)
    assert server.events == [(Regarding(NODE, "a", uid="u"), "DrainBlocked")]
    server.now += 6
    server.tell(told(NOTHING, NOTHING))
    server.tell(told(BLOCKED, BLOCKED))
    server.now += 15
    server.tell(told(BLOCKED, BLOCKED))
    assert len(server.events) == 2


def test_a_drain_that_is_tried_again_in_between_is_blocked_all_the_time() -> None:
    server = Server()
    for _ in range(17):
        server.tell(told(BLOCKED, BLOCKED))
        server.tell(told(NOTHING, NOTHING))
        server.now += 1
    assert server.events == [(Regarding(NODE, "a", uid="u"), "DrainBlocked")]
