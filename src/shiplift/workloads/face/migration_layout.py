"""From the read model of a migration to what a terminal shows. Words carry the meaning, colour repeats it.

Names and messages are somebody else's: they are shown as they are, never read as markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from shiplift.api.workloads import MoveOutcome, WorkloadState
from shiplift.face.layout import bar, duration, facts, table, to_go
from shiplift.face.wrapping import Sentence
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


_LONGEST_NAME = 40
_BESIDE_NAMES = 52
"""Columns that a table needs beside the names."""


def migration(view: MigrationView, most: int | None, lines: int | None = None) -> RenderableType:
    """The whole migration; of those that wait, so many of them, and of each text so many lines."""
    parts: list[RenderableType] = [facts(_about(view, lines))]
    if view.waiting[:most]:
        parts += [Text(), _Waiting(view.waiting[:most], lines)]
    parts += _not_shown(view, most)
    if problems := view.problems[:most]:
        parts += [Text(), facts((str(one.kind), Sentence(one.text, lines=lines)) for one in problems)]
    parts += _left_out(len(view.problems[most:]) if most is not None else 0)
    if view.hints:
        hints = view.hints[: 1 if lines == 1 else None]
        parts += [Text(), *(Sentence(f"hint: {hint}", style="dim") for hint in hints)]
    return Group(*parts)


def _about(view: MigrationView, lines: int | None) -> Iterable[tuple[str, RenderableType]]:
    yield "Workloads", _headline(view)
    if view.workloads.total:
        counted = f"{bar(view.workloads)} {view.workloads} workloads, {view.pods} pods"
        yield "", Sentence(f"{counted}, {view.moves:,} evictions" if view.moves else counted)
    if view.versions:
        nodes = (f"{one.nodes} on {one.version}{' (target)' * one.target}" for one in view.versions)
        yield "Nodes", Sentence(", ".join(nodes), lines=lines)
    if view.waves.total or view.waves.outside:
        yield "Waves", Sentence(_waves(view), lines=lines)
    told = {one.text for one in view.problems}
    if view.message and view.message not in told:
        yield "Now", Sentence(view.message, lines=_at_least(2, lines))
    if view.needs and view.needs not in {*told, view.message} and view.phase is not Phase.PAUSED:
        yield "Needs", Sentence(_needs(view), lines=_at_least(2, lines))
    if view.last and not view.workloads.total:
        yield "Last", Sentence(_last(view.last))


def _at_least(few: int, lines: int | None) -> int | None:
    """What the whole is about is not cut as short as the rest."""
    return None if lines is None else max(few, lines)


def _needs(view: MigrationView) -> str:
    """What has to happen first; what a line below says is not said twice."""
    first = view.waiting[0] if view.waiting else None
    if first is None or not view.needs.startswith(f"{first}: {first.message}"):
        return view.needs
    more = f" and {view.blocked - 1:,} more" if view.blocked > 1 else ""
    return f"somebody who helps {first}{more}"


_ENDED = {
    MoveOutcome.MOVED: "moved",
    MoveOutcome.ABORTED: "aborted after",
    MoveOutcome.DELETED: "ended by the deletion of its WorkloadMigration after",
    MoveOutcome.REPLACED: "given up for another after",
}


def _last(last: LastView) -> str:
    """What the move that ended last did, in a line."""
    took = f" in {duration(last.seconds)}" if last.seconds is not None else ""
    how = _ENDED[MoveOutcome(last.outcome)]
    counts = f"{last.workloads} workloads, {last.pods} pods, {last.moves:,} evictions"
    return f"to {last.target}, {how} {counts}{took}, {duration(last.ago)} ago"


def _headline(view: MigrationView) -> Sentence:
    more = [
        view.title,
        f"mode {view.mode}" if view.mode else "",
        f"for {duration(view.seconds)}" if view.seconds is not None else "",
        f"about {to_go(view.eta)}" if view.eta else "",
    ]
    text = ", ".join(one for one in more if one)
    return Sentence(text, lead=view.title, style=_STYLES.get(view.phase, "bold"))


def _waves(view: MigrationView) -> str:
    waves = view.waves
    parts = [
        f"{waves.done} of {waves.total} done",
        *(f"wave {number}: {share}" for number, share in waves.open),
        *([f"and {waves.more:,} more"] if waves.more else []),
    ]
    if waves.outside:
        parts.append(f"{waves.outside:,} workloads in none: they wait for a cycle, or for what is missing")
    return ", ".join(parts)


class _Waiting:
    """Those that wait: a table where there is room for one, else the name of each, and below it the rest."""

    def __init__(self, waiting: Sequence[WaitingView], lines: int | None) -> None:
        self._waiting, self._lines = waiting, lines

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterable[RenderableType]:
        names = max(len(str(one)) for one in self._waiting)
        if options.max_width >= min(names, _LONGEST_NAME) + _BESIDE_NAMES:
            yield self._table()
        else:
            yield from (part for one in self._waiting for part in self._stacked(one))

    def _table(self) -> Table:
        lines = table("WORKLOAD", "STATE", "MOVED", "FOR", "WHY", wraps=("WORKLOAD", "WHY"))
        for one in self._waiting:
            lines.add_row(
                Text(str(one)),
                Text(one.state, style=_STYLES.get(one.state, "")),
                str(one.pods),
                _time(one),
                Sentence(_why(one), lines=self._lines),
            )
        return lines

    def _stacked(self, one: WaitingView) -> Iterable[RenderableType]:
        since = f" for {_time(one)}" if one.seconds is not None else ""
        text = f"{one.state}{since}, {one.pods} moved: {_why(one)}"
        yield Sentence(str(one))
        yield Padding(
            Sentence(text, lines=self._lines, lead=one.state, style=_STYLES.get(one.state, "")), (0, 0, 0, 2)
        )


def _time(one: WaitingView) -> str:
    return "-" if one.seconds is None else duration(one.seconds)


def _why(one: WaitingView) -> str:
    return one.message or one.reason or "-"


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
