"""What is told of nodes that are added, and which of them are waited for."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

import pytest

from shiplift.kube.client import Client
from shiplift.local import nodes
from shiplift.local.components import Layout
from shiplift.local.errors import LocalError
from shiplift.local.nodes import Nodes, Pool
from shiplift.local.stages import NODE_READY

READY = {"conditions": [{"type": "Ready", "status": "True"}]}


def node(number: int, *, ready: bool = True, let_down: str = "") -> dict[str, Any]:
    about = {"name": f"node-{number}", "annotations": {NODE_READY: let_down} if let_down else {}}
    return {"metadata": about, "spec": {}, "status": READY if ready else {}}


class Cluster:
    """Its nodes are those that it was made with."""

    def __init__(self, *there: dict[str, Any]) -> None:
        self.layout = Layout(Path("/nowhere"))
        self._there = there

    @contextlib.contextmanager
    def client(self) -> Generator[Client]:
        yield cast("Client", self)

    @contextlib.contextmanager
    def locked(self, *_: Any) -> Generator[None]:
        yield

    def list(self, *_: Any) -> tuple[dict[str, Any], ...]:
        return self._there


def nodes_of(*there: dict[str, Any]) -> Nodes:
    return Nodes(cast("nodes.Home", Cluster(*there)))


@pytest.mark.parametrize(
    ("there", "wanted", "said"),
    [
        (0, 3, "adding 3 nodes"),
        (0, 1, "adding 1 node"),
        (3, 4, "adding 1 node to 3"),
        (3, 6, "adding 3 nodes to 3"),
        (3, 2, "no node is added: 3 are there"),
    ],
)
def test_only_what_is_added_is_said_to_be_added(there: int, wanted: int, said: str) -> None:
    found = nodes_of(*map(node, range(there)))
    assert found.to_be_added(Pool(count=wanted)) == said


@pytest.mark.parametrize("let_down", ["False", "Unknown"])
def test_a_node_that_somebody_has_let_down_is_not_waited_for(let_down: str) -> None:
    nodes_of(node(0), node(1, ready=False, let_down=let_down)).wait_schedulable(Pool(count=2))


def test_the_node_that_is_not_ready_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "_TIMEOUT", 0.0)
    found = nodes_of(node(0), node(1, ready=False), node(2, ready=False))
    with pytest.raises(LocalError, match="for node-1 and 1 more to be ready"):
        found.wait_schedulable(Pool(count=3))
    with pytest.raises(LocalError, match="for node-1 to be ready"):
        found.wait_schedulable(Pool(count=2))
