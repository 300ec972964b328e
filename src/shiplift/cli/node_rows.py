"""What `shiplift local nodes list` says of a node."""

from __future__ import annotations

from collections.abc import Sequence
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

    def cells(self, *, wide: bool) -> tuple[str, ...]:
        return self.name, self.version, self.state, *(self._more() if wide else ())

    def _more(self) -> tuple[str, ...]:
        return self.pool, self.zone or "-", self.architecture, self.capacity, self.taints or "-"


_HEADING = ("NAME", "VERSION", "STATE")
_WIDE = ("POOL", "ZONE", "ARCHITECTURE", "CPU/MEMORY/PODS", "TAINTS")


def table(nodes: Sequence[Node], *, wide: bool, aligned: bool) -> str:
    """A line each: under a heading for people, with tabs and without one for programs."""
    rows = [node.cells(wide=wide) for node in nodes]
    if not aligned:
        return "".join("\t".join(row) + "\n" for row in rows)
    rows = [_HEADING + (_WIDE if wide else ()), *rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "".join(f"{line}\n" for line in lines)


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
