"""The stage of the demo, on a terminal of 80 by 24. Words and marks carry the meaning; colour repeats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from shiplift.face.layout import BETWEEN, LEFT, MOVED, duration, marks, table
from shiplift.view.cluster import ClusterView, NodeState, NodeView

_WIDTHS = {"STATE": 10, "PODS": 5}
"""As wide as what is common in them, or all columns would jump."""
_STYLES = {
    NodeState.READY: "green",
    NodeState.CORDONED: "yellow",
    NodeState.NOT_READY: "red",
    NodeState.UNREACHABLE: "red",
    NodeState.LEAVING: "dim",
}


class Drawn(NamedTuple):
    """What a layer plays: a line that says how far it is, and its picture."""

    headline: str
    picture: RenderableType | None
    shows_nodes: bool = False


def stage(cluster: ClusterView, target: str, acts: Sequence[Drawn], title: str, now: str) -> RenderableType:
    """How far it is, what each layer does, which node has which pods, what the marks mean."""
    apart = not any(act.shows_nodes for act in acts)
    parts = [
        *_headline(cluster, title, now, server=apart),
        *(Text(act.headline) for act in acts),
        Text(),
        *_separated(act.picture for act in acts if act.picture is not None),
        *((_nodes(cluster, target), Text()) if apart else ()),
        _legend(target),
    ]
    if cluster.stale:
        parts.insert(1, Text("the API server does not answer; this is how it was", style="bold red"))
    return Group(*parts)


def _headline(cluster: ClusterView, title: str, now: str, *, server: bool) -> list[RenderableType]:
    """Where the nodes of the control plane are shown, these say which version it has."""
    versions = ", ".join(f"{one.nodes} on {one.version}" for one in cluster.versions)
    about = f" · control plane {cluster.server_version}" if server else ""
    return [Text.assemble((title, "bold"), f"{about} · nodes: {versions or 'none'}"), Text(now)]


def _separated(pictures: Iterable[RenderableType]) -> Iterable[RenderableType]:
    for picture in pictures:
        yield picture
        yield Text()


def _nodes(cluster: ClusterView, target: str) -> Table:
    """Those that are to be left beside those of the target."""
    old = [node for node in cluster.nodes if node.version != target]
    new = [node for node in cluster.nodes if node.version == target]
    headers = ("OLD NODES", "STATE", "PODS", f"NODES ON {target}", "STATE", "PODS")
    lines = table(*headers, widths=_WIDTHS, overflow="ellipsis")
    for left, right in zip_longest(old or [None], new or [None]):
        lines.add_row(*_node(left, target), *_node(right, target))
    return lines


def _node(node: NodeView | None, target: str) -> tuple[Text, Text, Text]:
    if node is None:
        return Text("-", style="dim"), Text(), Text()
    ill = node.state in (NodeState.NOT_READY, NodeState.UNREACHABLE)
    state = f"{node.state} {duration(node.seconds)}" if ill else str(node.state)
    ready, other = node.pods.ready, node.pods.total - node.pods.ready
    pods = marks(ready, other, 0) if node.version == target else marks(0, other, ready)
    return Text(node.name), Text(state, style=_STYLES[node.state]), pods


def _legend(target: str) -> Text:
    text = Text("pods: ", style="dim")
    for (mark, style), words in (
        (MOVED, f"ready on {target}"),
        (BETWEEN, "not ready"),
        (LEFT, "ready on an old node"),
    ):
        text.append(f"{mark} ", style=f"not dim {style}").append(f"{words}  ")
    return text
