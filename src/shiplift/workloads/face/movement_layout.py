"""Workloads on their way, on a terminal of 80 columns. Words and marks carry the meaning; colour repeats."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from shiplift.face.layout import bar, marks, table
from shiplift.workloads.face.movement import Movement, Stand

_WIDTHS = {"STATE": 10, "PODS": 5}
"""As wide as what is common in them, or all columns would jump."""
_GLYPHS = {
    Stand.STARTING: "…",
    Stand.READY: "-",
    Stand.HELD: "·",
    Stand.MOVING: "→",
    Stand.BLOCKED: "✗",
    Stand.ARRIVED: "✓",
}
_STYLES = {
    Stand.STARTING: "yellow",
    Stand.READY: "",
    Stand.HELD: "dim",
    Stand.MOVING: "yellow",
    Stand.BLOCKED: "red",
    Stand.ARRIVED: "green",
}


def headline(view: Movement) -> str:
    """How far it is."""
    return f"{bar(view.pods)} {view.pods} pods and {view.workloads} workloads have moved"


def movers(view: Movement) -> Table:
    """Who waits for whom."""
    lines = table("WORKLOAD", "STATE", "PODS", "NOW", wraps=("NOW",), widths=_WIDTHS, overflow="ellipsis")
    for one in view.movers:
        lines.add_row(
            Text(f"{one.branch}{one.name}"),
            Text(f"{_GLYPHS[one.state]} {one.state}", style=_STYLES[one.state]),
            marks(one.moved, one.between, one.left),
            Text(one.now, no_wrap=True, overflow="ellipsis"),
        )
    return lines
