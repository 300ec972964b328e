"""From the read model of rollouts to what a terminal shows. Words carry the meaning, colour repeats it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from shiplift.api.nodes import NodeState
from shiplift.face.layout import bar, duration, facts, table, to_go
from shiplift.face.wrapping import Sentence
from shiplift.nodes.face.others import MOST, ExplainedRollout
from shiplift.nodes.face.rollouts import MOST_NODES, NodeLine, RolloutsView, RolloutView, why
from shiplift.view.section import Arrival

_STYLES = {
    NodeState.QUARANTINED: "red",
    NodeState.FAILED: "red",
    NodeState.REVERTING: "red",
    NodeState.CHANGING: "green",
    NodeState.VERIFYING: "green",
}
_PHASES = {"running": "green", "paused": "yellow", "aborting": "yellow", "stopped": "red", "aborted": "red"}


def rollouts(view: RolloutsView, most: int | None, lines: int | None = None) -> RenderableType:
    """All rollouts; of each, so many nodes, and of each text so many lines."""
    parts: list[RenderableType] = []
    for one in view.rollouts:
        parts += [Text(), _rollout(one, most, lines)]
    if view.over:
        others = "1 other rollout is" if view.over == 1 else f"{view.over:,} other rollouts are"
        parts += [Text(), Text(f"{others} complete or aborted", style="dim")]
    return Group(*parts[1:])


def explained(told: ExplainedRollout) -> RenderableType:
    """All of one rollout, and its other nodes below it."""
    parts = [rollouts(told.view, None)]
    if told.others:
        made = table("OTHER NODE", "VERSION", "WAITS FOR", wraps=("OTHER NODE", "WAITS FOR"))
        for one in told.others[:MOST]:
            made.add_row(Text(one.name), Text(one.version), Sentence(one.waits_for))
        parts += [Text(), made]
    if hidden := len(told.others[MOST:]):
        parts.append(Text(f"and {hidden:,} more"))
    return Group(*parts)


def _rollout(view: RolloutView, most: int | None, lines: int | None) -> RenderableType:
    parts: list[RenderableType] = [facts(_about(view, lines))]
    shown = view.lines if most is None else view.lines[: min(most, MOST_NODES)]
    if shown:
        parts += [Text(), _table(shown, lines)]
    if hidden := len(view.lines) - len(shown):
        parts.append(Text(f"and {hidden:,} more; --all shows them"))
    if view.hints:
        hints = view.hints[: 1 if lines == 1 else None]
        parts += [Text(), *(Sentence(f"hint: {hint}", style="dim") for hint in hints)]
    return Group(*parts)


def _about(view: RolloutView, lines: int | None) -> Iterable[tuple[str, RenderableType]]:
    title = f"{view.name} {view.phase}"
    yield "Nodes", Sentence(_headline(view, title), lead=title, style=_PHASES.get(view.phase, "bold"))
    if view.nodes.total:
        counted = f"{bar(view.nodes)} {view.nodes} nodes, {view.unavailable} unavailable"
        yield "", Sentence(f"{counted}, {view.failures} failed" if view.failures else counted)
    if view.pools:
        yield "Pools", Sentence(", ".join(view.pools), lines=lines)
    if len(view.path) > 1:
        yield "Path", Sentence(" → ".join(view.path), lines=lines)
    if view.message and view.message != view.needs:
        yield "Now", Sentence(view.message, lines=None if lines is None else max(2, lines))
    if view.needs:
        yield "Needs you", Sentence(view.needs, lines=None if lines is None else max(2, lines))
    if view.window is not None:
        yield "Window", Sentence(f"the next opens in {duration(view.window)}")


def _headline(view: RolloutView, title: str) -> str:
    over = view.arrival is not Arrival.NOT_YET
    more = [
        title,
        view.wanted,
        f"pass {view.running_pass}" if view.running_pass and not over else "",
        _elapsed(view, over=over),
        f"about {to_go(view.eta)}" if view.eta and view.eta.likely > 0 else "",
    ]
    return ", ".join(one for one in more if one)


def _elapsed(view: RolloutView, *, over: bool) -> str:
    """How long it took, or has run; of one that is stopped, for how long it has been."""
    if view.phase == "stopped" and view.stopped is not None:
        return f"for {duration(view.stopped)}"
    return "" if view.seconds is None else f"{'in' if over else 'for'} {duration(view.seconds)}"


def _table(shown: Sequence[NodeLine], lines: int | None) -> Table:
    made = table("NODE", "STATE", "FOR", "WHY", wraps=("NODE", "WHY"))
    for one in shown:
        made.add_row(
            Text(one.name),
            Text(one.state.value, style=_STYLES.get(one.state, "")),
            "-" if one.seconds is None else duration(one.seconds),
            Sentence(why(one), lines=lines),
        )
    return made
