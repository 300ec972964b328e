"""Nodes on their way, on a terminal of 80 columns. Words and marks carry the meaning; colour repeats."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from shiplift.api.nodes import RolloutPass
from shiplift.face.layout import bar, marks, table
from shiplift.nodes.face.standing import NodeStand, Stand, Standing
from shiplift.nodes.model import PASSES

_WIDTHS = {"VERSION": 7, "STATE": 11, "PODS": 5}
"""As wide as what is common in them, or all columns would jump."""
_GLYPHS = {Stand.READY: "-", Stand.WAITING: "·", Stand.FAILED: "✗", Stand.CHANGED: "✓"}
_STYLES = {Stand.READY: "", Stand.WAITING: "dim", Stand.FAILED: "red", Stand.CHANGED: "green"}
_AT_WORK = ("→", "yellow")


def headline(view: Standing) -> str:
    """How far it is, and what happens in the pass that runs."""
    told = f"{bar(view.changed)} {view.changed} nodes are changed to {view.target}"
    running = view.rollout.running_pass if view.rollout and not view.moved else ""
    return f"{told}, pass {running}\n{PASSES[RolloutPass(running)]}" if running else told


def nodes(view: Standing) -> Table:
    """Which node runs what, where it is on its way, what runs on it."""
    headers = ("NODE", "VERSION", "API SERVER", "STATE", "PODS", "NOW")
    lines = table(*headers, wraps=("NOW",), widths=_WIDTHS, overflow="ellipsis")
    for one in view.nodes:
        glyph, style = _GLYPHS.get(one.state, _AT_WORK[0]), _STYLES.get(one.state, _AT_WORK[1])
        lines.add_row(
            Text(one.name),
            _version(one.version, view.target),
            _version(one.api_server, view.target),
            Text(f"{glyph} {one.state}", style=style),
            _pods(one, view.target),
            Text(one.now, no_wrap=True, overflow="ellipsis"),
        )
    return lines


def _version(version: str, target: str) -> Text:
    return Text(version or "-", style="green" if version == target else "" if version else "dim")


def _pods(one: NodeStand, target: str) -> Text:
    here = one.version == target
    return marks(one.ready_pods if here else 0, one.other_pods, 0 if here else one.ready_pods)
