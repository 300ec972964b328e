"""What `shiplift local nodes list` says of a node."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from shiplift.local.nodes import POOL_LABEL, Ready, readiness


class NodeState(StrEnum):
    """How a node is; the worst that holds."""

    READY = "Ready"
    CORDONED = "cordoned"
    NOT_READY = "NotReady"


class Node(msgspec.Struct, frozen=True):
    """What `list` says of one node."""

    name: str
    version: str
    state: NodeState
    pool: str
    zone: str
    architecture: str
    capacity: str
    taints: str

    def line(self, *, wide: bool) -> str:
        return "\t".join([self.name, self.version, self.state, *(self._more() if wide else ())]) + "\n"

    def _more(self) -> tuple[str, ...]:
        return self.pool, self.zone or "-", self.architecture, self.capacity, self.taints or "-"


def node_row(found: dict[str, Any]) -> Node:
    labels, status = found["metadata"].get("labels", {}), found["status"]
    there, info = status.get("allocatable", {}), status["nodeInfo"]
    return Node(
        found["metadata"]["name"],
        info["kubeletVersion"],
        _state(found),
        labels.get(POOL_LABEL, ""),
        labels.get("topology.kubernetes.io/zone", ""),
        info["architecture"],
        "/".join(there.get(what, "?") for what in ("cpu", "memory", "pods")),
        ",".join(map(_taint_text, found["spec"].get("taints", []))),
    )


def _taint_text(taint: dict[str, str]) -> str:
    value = taint.get("value", "")
    return f"{taint['key']}{'=' if value else ''}{value}:{taint['effect']}"


def _state(found: dict[str, Any]) -> NodeState:
    if readiness(found) is not Ready.TRUE:
        return NodeState.NOT_READY
    return NodeState.CORDONED if found["spec"].get("unschedulable") else NodeState.READY
