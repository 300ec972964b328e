"""Workloads on their way, on a terminal of 80 by 24. Words and marks carry the meaning; colour repeats."""

from __future__ import annotations

from itertools import zip_longest

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from shiplift.cli.layout import duration
from shiplift.cli.migration_layout import bar
from shiplift.view.cluster import NodeState, NodeView
from shiplift.view.movement import Movement, Stand

_DOTS = 12
"""More pods than this are counted, not drawn one by one."""
_WIDTHS = {"STATE": 10, "PODS": 5}
"""As wide as what is common in them, or all columns would jump."""
_MOVED, _BETWEEN, _LEFT = ("●", "green"), ("◐", "yellow"), ("○", "cyan")
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
    NodeState.READY: "green",
    NodeState.CORDONED: "yellow",
    NodeState.NOT_READY: "red",
    NodeState.UNREACHABLE: "red",
    NodeState.LEAVING: "dim",
}


def movement(view: Movement, title: str, now: str) -> RenderableType:
    """How far it is, who waits for whom, which node has which pods, what the marks mean."""
    parts = [*_headline(view, title, now), Text(), _movers(view), Text(), _nodes(view), Text(), _legend(view)]
    if view.cluster.stale:
        parts.insert(1, Text("the API server does not answer; this is how it was", style="bold red"))
    return Group(*parts)


def _headline(view: Movement, title: str, now: str) -> list[RenderableType]:
    versions = ", ".join(f"{one.nodes} on {one.version}" for one in view.cluster.versions)
    facts = f"control plane {view.cluster.server_version} · nodes: {versions or 'none'}"
    counted = f"{bar(view.pods)} {view.pods} pods and {view.workloads} workloads have moved"
    return [Text.assemble((title, "bold"), f" · {facts}"), Text(now), Text(counted)]


def _movers(view: Movement) -> Table:
    table = _table("WORKLOAD", "STATE", "PODS", "NOW")
    for one in view.movers:
        table.add_row(
            Text(f"{one.branch}{one.name}"),
            Text(f"{_GLYPHS[one.state]} {one.state}", style=_STYLES[one.state]),
            _marks(one.moved, one.between, one.left),
            Text(one.now, no_wrap=True, overflow="ellipsis"),
        )
    return table


def _nodes(view: Movement) -> Table:
    """Those that are to be left beside those of the target."""
    old = [node for node in view.cluster.nodes if node.version != view.target]
    new = [node for node in view.cluster.nodes if node.version == view.target]
    table = _table("OLD NODES", "STATE", "PODS", f"NODES ON {view.target}", "STATE", "PODS")
    for left, right in zip_longest(old or [None], new or [None]):
        table.add_row(*_node(left, view.target), *_node(right, view.target))
    return table


def _node(node: NodeView | None, target: str) -> tuple[Text, Text, Text]:
    if node is None:
        return Text("-", style="dim"), Text(), Text()
    ill = node.state in (NodeState.NOT_READY, NodeState.UNREACHABLE)
    state = f"{node.state} {duration(node.seconds)}" if ill else str(node.state)
    ready, other = node.pods.ready, node.pods.total - node.pods.ready
    marks = _marks(ready, other, 0) if node.version == target else _marks(0, other, ready)
    return Text(node.name), Text(state, style=_STYLES[node.state]), marks


def _marks(moved: int, between: int, left: int) -> Text:
    """A mark a pod; where they are many, numbers."""
    text = Text(no_wrap=True)
    total = moved + between + left
    for number, (mark, style) in ((moved, _MOVED), (between, _BETWEEN), (left, _LEFT)):
        if number:
            text.append(mark * number if total <= _DOTS else f"{mark} {number} ", style=style)
    text.rstrip()
    return text if total else Text("-", style="dim")


def _legend(view: Movement) -> Text:
    text = Text("pods: ", style="dim")
    for (mark, style), words in (
        (_MOVED, f"ready on {view.target}"),
        (_BETWEEN, "not ready"),
        (_LEFT, "ready on an old node"),
    ):
        text.append(f"{mark} ", style=f"not dim {style}").append(f"{words}  ")
    return text


def _table(*headers: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold cyan")
    for header in headers:
        table.add_column(header, no_wrap=header != "NOW", min_width=_WIDTHS.get(header))
    return table
