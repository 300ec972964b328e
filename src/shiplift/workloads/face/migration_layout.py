"""From the read model of a migration to what a terminal shows. Words carry the meaning, colour repeats it.

Names and messages are somebody else's: they are shown as they are, never read as markup.
"""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from shiplift.api.workloads import WorkloadState
from shiplift.face.layout import bar, duration, facts, table
from shiplift.view.values import Eta
from shiplift.workloads.face.migration import LastView, MigrationView, Phase, WaitingView

_STYLES = {
    Phase.MOVING: "green",
    Phase.PAUSED: "yellow",
    Phase.ABORTING: "yellow",
    Phase.ABORTED: "red",
    Phase.LEAVING: "yellow",
    WorkloadState.BLOCKED: "red",
    WorkloadState.MOVING: "green",
    WorkloadState.RELEASED: "green",
}


def migration(view: MigrationView, most: int | None) -> RenderableType:
    """The whole migration; of those that wait, so many of them."""
    parts: list[RenderableType] = [facts(_about(view))]
    if view.waiting:
        parts += [Text(), _waiting(view.waiting[:most])]
    parts += _not_shown(view, most)
    if view.problems:
        parts += [Text(), facts((str(one.kind), Text(one.text)) for one in view.problems[:most])]
        parts += _left_out(len(view.problems[most:]) if most is not None else 0)
    if view.hints:
        parts += [Text(), *(Text(f"hint: {hint}", style="dim") for hint in view.hints)]
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
    told = {one.text for one in view.problems}
    if view.message and view.message not in told:
        yield "Now", Text(view.message)
    if view.needs and view.needs not in {*told, view.message}:
        yield "Needs", Text(view.needs)
    if view.last and not view.workloads.total:
        yield "Last", Text(_last(view.last))


def _last(last: LastView) -> str:
    """What the move that ended last did, in a line."""
    took = f" in {duration(last.seconds)}" if last.seconds is not None else ""
    how = {"Moved": "moved", "Aborted": "aborted after"}.get(last.outcome, "given up for another after")
    counts = f"{last.workloads} workloads, {last.pods} pods, {last.moves:,} evictions"
    return f"to {last.target}, {how} {counts}{took}, {duration(last.ago)} ago"


def _headline(view: MigrationView) -> Text:
    more = [
        f"mode {view.mode}" if view.mode else "",
        f"for {duration(view.seconds)}" if view.seconds is not None else "",
        _eta(view.eta) if view.eta else "",
    ]
    text = Text(view.title, style=_STYLES.get(view.phase, "bold"))
    return text.append("".join(f", {one}" for one in more if one), style="default")


def _eta(eta: Eta) -> str:
    bounds = f" ({duration(eta.earliest)} to {duration(eta.latest)})" if eta.earliest < eta.latest else ""
    return f"about {duration(eta.likely)} to go{bounds}"


def _waves(view: MigrationView) -> str:
    waves = view.waves
    parts = [
        f"{waves.done} of {waves.total} done",
        *(f"wave {number}: {share}" for number, share in waves.open),
    ]
    return ", ".join([*parts, f"and {waves.more:,} more"] if waves.more else parts)


def _waiting(waiting: Iterable[WaitingView]) -> Table:
    lines = table("WORKLOAD", "STATE", "MOVED", "FOR", "WHY", wraps=("WORKLOAD", "WHY"))
    for one in waiting:
        lines.add_row(
            Text(str(one)),
            Text(one.state, style=_STYLES.get(one.state, "")),
            str(one.pods),
            "-" if one.seconds is None else duration(one.seconds),
            Text(one.message or one.reason or "-"),
        )
    return lines


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
