"""From the read models of a migration to what a terminal shows. Words carry the meaning, colour repeats it.

Names and messages are somebody else's: they are shown as they are, never read as markup.
"""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from shiplift.api.workloads import Turn, WorkloadState
from shiplift.cli.layout import duration
from shiplift.view.explanation import Explanation, Neighbour, OnNode, Standing
from shiplift.view.migration import Eta, MigrationView, Phase, Share, WaitingView

_BAR = 20
_STYLES = {
    Phase.MOVING: "green",
    Phase.PAUSED: "yellow",
    Phase.ABORTING: "yellow",
    Phase.ABORTED: "red",
    Phase.LEAVING: "yellow",
    WorkloadState.BLOCKED: "red",
    WorkloadState.MOVING: "green",
    WorkloadState.RELEASED: "green",
    Standing.MOVED: "green",
    Standing.NOT_YET: "yellow",
    Standing.MISSING: "red",
}
_TURNS = {
    Turn.HELD: "held: new pods keep off the nodes of the target",
    Turn.RELEASED: "released: new pods go to nodes of the target",
}


def migration(view: MigrationView, most: int | None, stale: bool = False) -> RenderableType:
    """The whole migration; of those that wait, so many of them."""
    parts: list[RenderableType] = [_facts(_about(view))]
    if stale:
        parts.insert(0, Text("the API server does not answer; this is how it was", style="bold red"))
    elif view.silent is not None:
        silence = f"no operator has been heard of for {duration(view.silent)}; this is how it was"
        parts.insert(0, Text(silence, style="bold red"))
    if view.waiting:
        parts += [Text(), _waiting(view.waiting[:most])]
    parts += _not_shown(view, most)
    if view.problems:
        parts += [Text(), _facts((str(one.kind), Text(one.text)) for one in view.problems[:most])]
        parts += _left_out(len(view.problems[most:]) if most is not None else 0)
    if view.hints:
        parts += [Text(), *(Text(f"hint: {hint}", style="dim") for hint in view.hints)]
    return Group(*parts)


def explanation(one: Explanation) -> RenderableType:
    """All about one workload."""
    parts: list[RenderableType] = [_facts(_who(one)), Text(), _pods(one.pods)]
    if one.needs:
        parts += [Text(), _neighbours("DEPENDS ON", one.needs)]
    if one.needed_by:
        parts += [Text(), _neighbours("NEEDED BY", one.needed_by)]
    if not (one.needs or one.needed_by):
        parts += [Text(), Text("it depends on nothing, and nothing depends on it")]
    parts += [Text(), _budgets(one)]
    if one.unblocked_by:
        labels = ("Unblocked when", *("and" for _ in one.unblocked_by[1:]))
        parts += [Text(), _facts(zip(labels, map(Text, one.unblocked_by), strict=True))]
    return Group(*parts)


def _about(view: MigrationView) -> Iterable[tuple[str, Text]]:
    yield "Workloads", _headline(view)
    if view.workloads.total:
        counted = f"{bar(view.workloads)} {view.workloads} workloads, {view.pods} pods"
        yield "", Text(f"{counted}, {view.moves:,} evictions" if view.moves else counted)
    if view.versions:
        nodes = (f"{one.nodes} on {one.version}{' (target)' * one.target}" for one in view.versions)
        yield "Nodes", Text(", ".join(nodes))
    if view.waves.total:
        yield "Waves", Text(_waves(view))
    if view.message and view.message not in {one.text for one in view.problems}:
        yield "Now", Text(view.message)


def _headline(view: MigrationView) -> Text:
    facts = [
        f"mode {view.mode}" if view.mode else "",
        f"for {duration(view.seconds)}" if view.seconds is not None else "",
        _eta(view.eta) if view.eta else "",
    ]
    text = Text(view.title, style=_STYLES.get(view.phase, "bold"))
    return text.append("".join(f", {fact}" for fact in facts if fact), style="default")


def _eta(eta: Eta) -> str:
    bounds = f" ({duration(eta.earliest)} to {duration(eta.latest)})" if eta.earliest < eta.latest else ""
    return f"about {duration(eta.likely)} to go{bounds}"


def bar(share: Share) -> str:
    """Full only when all is done, empty only when nothing is."""
    filled = share.done * _BAR // share.total if share.total else 0
    filled = min(max(filled, bool(share.done)), _BAR)
    return f"[{'#' * filled}{'-' * (_BAR - filled)}]"


def _waves(view: MigrationView) -> str:
    waves = view.waves
    parts = [
        f"{waves.done} of {waves.total} done",
        *(f"wave {number}: {share}" for number, share in waves.open),
    ]
    return ", ".join([*parts, f"and {waves.more:,} more"] if waves.more else parts)


def _waiting(waiting: Iterable[WaitingView]) -> Table:
    table = _table("WORKLOAD", "STATE", "MOVED", "FOR", "WHY")
    for one in waiting:
        table.add_row(
            _name(one.namespace, one.kind, one.name),
            Text(one.state, style=_STYLES.get(one.state, "")),
            str(one.pods),
            "-" if one.seconds is None else duration(one.seconds),
            Text(one.message or one.reason or "-"),
        )
    return table


def _not_shown(view: MigrationView, most: int | None) -> list[Text]:
    hidden = len(view.waiting[most:]) if most is not None else 0
    lines = _left_out(hidden, view.unlisted)
    if view.unlisted and not hidden:
        lines.append(Text(f"and {view.unlisted:,} more, which are only counted"))
    return lines


def _left_out(hidden: int, untold: int = 0) -> list[Text]:
    """What was left out here, and what nobody can show."""
    if not hidden:
        return []
    shown = f"{hidden:,} of them" if untold else "them"
    return [Text(f"and {hidden + untold:,} more; --all shows {shown}")]


def _who(one: Explanation) -> Iterable[tuple[str, Text]]:
    yield one.kind, Text(f"{one.namespace}/{one.name}, {one.ready} of {one.desired} pods ready")
    since = f" for {duration(one.line.seconds)}" if one.line and one.line.seconds is not None else ""
    moved = f", {one.line.pods} pods moved" if one.line else ""
    yield "State", Text(f"{one.phase}{since}{moved}")
    if one.line and one.line.message:
        yield "Why", Text(one.line.message)
    if one.turn:
        yield "Turn", Text(_TURNS[one.turn])


def _pods(pods: Iterable[OnNode]) -> RenderableType:
    table = _table("PODS ON", "VERSION", "READY", "NOTE")
    for one in pods:
        version = f"{one.version or '-'}{' (target)' * one.target}"
        table.add_row(Text(one.node or "no node"), version, f"{one.ready}/{one.total}", Text(one.note))
    return table if table.row_count else Text("it has no pods")


def _neighbours(title: str, neighbours: Iterable[Neighbour]) -> Table:
    table = _table(title, "MOVED", "DECLARED BY")
    for one in neighbours:
        moved = f"{one.standing}, {one.pods} pods" if one.pods else str(one.standing)
        table.add_row(
            _name(one.namespace, one.kind, one.name),
            Text(moved, style=_STYLES.get(one.standing, "")),
            Text(f"{one.origin} (soft)" if one.soft else one.origin),
        )
    return table


def _budgets(one: Explanation) -> RenderableType:
    if not one.budgets:
        return Text("no PodDisruptionBudget covers it")
    table = _table("BUDGET", "NEEDS", "HAS", "MAY LOSE")
    for budget in one.budgets:
        name = f"{budget.name} (holds it for us)" if budget.holds else budget.name
        table.add_row(Text(name), str(budget.needs), str(budget.has), str(budget.allows))
    return table


def _name(namespace: str, kind: str, name: str) -> Text:
    return Text(f"{kind} {namespace}/{name}")


def _facts(facts: Iterable[tuple[str, Text]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in facts:
        table.add_row(Text(label, style="bold cyan"), value)
    return table


_MAY_WRAP = ("WORKLOAD", "WHY", "PODS ON", "NOTE", "DEPENDS ON", "NEEDED BY", "DECLARED BY", "BUDGET")


def _table(*headers: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold cyan")
    for header in headers:
        table.add_column(header, no_wrap=header not in _MAY_WRAP, overflow="fold")
    return table
