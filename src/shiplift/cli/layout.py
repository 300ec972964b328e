"""From the read model to what a terminal shows. Words carry the meaning; colour only repeats it."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from shiplift.view.cluster import (
    ClusterView,
    NodeState,
    NodeView,
    Pods,
    PodState,
    WorkloadState,
    WorkloadView,
)

_DOTS = 12
"""More pods than this are counted, not drawn one by one."""
_MAY_WRAP = ("RUNS ON", "MAY LOSE")
_STYLES = {
    NodeState.READY: "green",
    NodeState.CORDONED: "yellow",
    NodeState.NOT_READY: "red",
    NodeState.UNREACHABLE: "red",
    NodeState.LEAVING: "dim",
    PodState.READY: "green",
    PodState.STARTING: "yellow",
    PodState.UNPLACED: "yellow",
    PodState.FAILING: "red",
    PodState.LEAVING: "dim",
    WorkloadState.READY: "green",
    WorkloadState.STARTING: "yellow",
    WorkloadState.WAITING: "yellow",
    WorkloadState.FAILING: "red",
    WorkloadState.IDLE: "dim",
}


def cluster(view: ClusterView, title: str) -> RenderableType:
    """The whole cluster: what it is, its nodes, its workloads, what the glyphs mean."""
    parts = [headline(view, title), Text(), nodes(view), Text(), workloads(view), Text(), legend()]
    if view.stale:
        parts.insert(1, Text("the API server does not answer; this is how it was", style="bold red"))
    return Group(*parts)


def headline(view: ClusterView, title: str) -> Text:
    """The cluster in a line."""
    pods = view.totals.pods
    versions = ", ".join(f"{one.nodes} on {one.version}" for one in view.versions)
    facts = (
        f"Kubernetes {view.server_version}",
        f"nodes: {versions or 'none'}",
        f"pods: {pods.ready} of {pods.total} ready",
    )
    return Text.assemble((f"{title} ", "bold"), "· ", " · ".join(facts))


def nodes(view: ClusterView) -> Table:
    table = _table("NODE", "POOL", "ZONE", "VERSION", "STATE", "PODS")
    for node in view.nodes:
        table.add_row(
            node.name, node.pool or "-", node.zone or "-", node.version, _node_state(node), _pods(node.pods)
        )
    return table


def workloads(view: ClusterView) -> Table:
    table = _table("WORKLOAD", "KIND", "STATE", "READY", "PODS", "RUNS ON", "MAY LOSE")
    for one in view.workloads:
        table.add_row(
            f"{one.namespace}/{one.name}",
            one.kind,
            _state(one.state),
            f"{one.ready}/{one.desired}",
            _pods(one.pods),
            _versions(one),
            _budget(one),
        )
    return table


def legend() -> Text:
    """What the glyphs of pods mean."""
    text = Text("pods: ", style="dim")
    for state in PodState:
        text.append(f"{state.glyph} ", style=f"not dim {_STYLES[state]}").append(f"{state}  ")
    return text


def _table(*headers: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold cyan")
    for header in headers:
        table.add_column(
            header,
            no_wrap=header not in _MAY_WRAP,
            # as wide as the widest common state, or all columns would jump while pods start
            min_width=10 if header == "STATE" else None,
        )
    return table


def _state(state: NodeState | WorkloadState, more: str = "") -> Text:
    return Text(f"{state.glyph} {state}{more}", style=_STYLES[state])


def _node_state(node: NodeView) -> Text:
    """A state that wants an end is told with how long it has lasted."""
    ill = node.state in (NodeState.NOT_READY, NodeState.UNREACHABLE)
    also = ", cordoned" if ill and node.cordoned else ""
    return _state(node.state, f" {duration(node.seconds)}{also}" if ill else "")


def _pods(pods: Pods) -> Text:
    """A glyph a pod; where they are many, a number a state."""
    text = Text()
    for state in PodState:
        if number := pods.of(state):
            shown = state.glyph * number if pods.total <= _DOTS else f"{state.glyph} {number}  "
            text.append(shown, style=_STYLES[state])
    text.rstrip()
    return text if pods.total else Text("-", style="dim")


def _versions(one: WorkloadView) -> str:
    """The number of pods only where there is more than one version to tell apart."""
    if len(one.versions) == 1:
        return one.versions[0].version
    counted = [f"{on.pods}×{on.version}" for on in one.versions]  # noqa: RUF001 - "times", not the letter x
    return ", ".join(counted) or "-"


def _budget(one: WorkloadView) -> Text:
    match one.budgets:
        case ():
            return Text("no budget", style="dim")
        case (budget,):
            return Text(str(budget.allows)) if budget.allows else Text("none now", style="yellow")
        case several:
            return Text(f"none: {len(several)} budgets", style="red")


def duration(seconds: int) -> str:
    """Roughly, in one unit."""
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"
