"""`shiplift resume` of a rollout that is stopped: paused, resumed when the operator has seen that."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest

from shiplift.api.nodes import NodeRollout, NodeState, NodeStatus, RolloutPhase
from shiplift.cli.output import CommandError
from shiplift.cli.rollout_retry import SECONDS, try_again
from shiplift.facts.kinds import NODE, NODE_ROLLOUT, Kind
from shiplift.kube.client import Client
from tests.nodes.face.rollouts import a_record, a_rollout

PREPARE = "Prepare.1.uid-r.uid-a"


class Server:
    """An API server with one rollout, and an operator that sees a pause after so many looks, and takes orders
    off after three more."""

    def __init__(self, rollout: NodeRollout, sees: int = 2) -> None:
        self.rollout, self._sees = rollout, sees
        self.node: dict[str, Any] = {"metadata": {"name": "a", "uid": "uid-a"}}
        self.written: list[bool] = []
        self.now = 0.0

    def patch(self, kind: Kind, name: str, body: dict[str, Any], uid: str) -> None:
        assert (kind, name, uid) == (NODE_ROLLOUT, "r", "uid-r")
        about = msgspec.structs.replace(
            self.rollout.metadata, generation=self.rollout.metadata.generation + 1
        )
        self.written.append(body["spec"]["paused"])
        spec = msgspec.structs.replace(self.rollout.spec, paused=body["spec"]["paused"])
        self.rollout = msgspec.structs.replace(self.rollout, metadata=about, spec=spec)

    def list(self, kind: Kind) -> list[dict[str, Any]]:
        return [self.node] if kind == NODE else [msgspec.to_builtins(self.rollout)]

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self._sees -= 1
        if self._sees == 0:
            self._see()
        if self._sees == -3:
            self.node["metadata"].pop("annotations", None)

    def _see(self) -> None:
        """Failed nodes wait for their next turn."""
        nodes = tuple(
            msgspec.structs.replace(one, state=NodeState.WAITING) for one in self.rollout.status.nodes
        )
        status = msgspec.structs.replace(
            self.rollout.status,
            observed_generation=self.rollout.metadata.generation,
            nodes=nodes,
            phase=RolloutPhase.PAUSED,
        )
        self.rollout = msgspec.structs.replace(self.rollout, status=status)

    def resume(self) -> None:
        try_again(cast("Client", self), self.rollout, lambda: self.now, self.sleep)


def stopped(*records: NodeStatus) -> NodeRollout:
    return a_rollout(*records, phase=RolloutPhase.STOPPED, stalled="1 node failed")


@pytest.mark.parametrize("state", [NodeState.FAILED, NodeState.QUARANTINED])
def test_it_is_paused_until_that_is_seen(state: NodeState, capsys: pytest.CaptureFixture[str]) -> None:
    server = Server(stopped(a_record("a", state)))
    server.resume()
    assert server.written == [True, False]
    assert "resumed: what has failed is tried again" in capsys.readouterr().err


def test_what_failed_before_any_node_is_waited_for_until_its_order_is_off() -> None:
    server = Server(stopped())
    order = {"node.shiplift.dev/changes-allowed": f'{{"protocol":1,"token":"{PREPARE}"}}'}
    server.node["metadata"]["annotations"] = order
    server.resume()
    assert (server.written, server.now) == ([True, False], 2.5)


def test_where_no_operator_sees_it_that_is_said_and_what_to_do() -> None:
    server = Server(stopped(a_record("a", NodeState.FAILED)), sees=1000)
    with pytest.raises(CommandError) as caught:
        server.resume()
    assert server.written == [True]
    assert server.now == SECONDS
    assert "NodeRollout r is paused, and no operator has seen that in 30 s" in caught.value.message
    assert "then `shiplift resume rollout/r` goes on" in (caught.value.hint or "")


def test_what_has_not_failed_is_left_and_why_it_does_not_go_on_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    server = Server(a_rollout(phase=RolloutPhase.PENDING, stalled="v1.34.0 is below v1.35.4"))
    server.resume()
    assert server.written == []
    assert capsys.readouterr().err == (
        "it was not paused, and nothing of it has failed\n"
        "hint: it does not go on because of something else: v1.34.0 is below v1.35.4\n"
    )
