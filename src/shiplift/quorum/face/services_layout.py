"""From the read model of quorum services to a terminal. Words carry the meaning, colour repeats it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from shiplift.api.quorum import MemberState
from shiplift.face.layout import bar, duration, facts, table
from shiplift.face.wrapping import Sentence
from shiplift.quorum.face.services import ServerLine, ServicesView, ServiceView
from shiplift.view.section import Arrival

_STYLES = {MemberState.UNKNOWN: "red", MemberState.NEW: "green", MemberState.RECREATED: "green"}
_MOST = 16


def services(view: ServicesView, most: int | None, lines: int | None = None) -> RenderableType:
    """All services; servers of those that are under way, or of all where everything is asked for."""
    parts: list[RenderableType] = []
    for one in view.services:
        whole = most is None or one.arrival is not Arrival.MOVED
        parts += [Text(), _service(one, most if whole else 0, lines)]
    return Group(*parts[1:])


def service(view: ServiceView) -> RenderableType:
    return _service(view, None, None)


def _service(view: ServiceView, most: int | None, lines: int | None) -> RenderableType:
    parts: list[RenderableType] = [facts(_about(view, lines))]
    shown = view.lines if most is None else view.lines[: min(most, _MOST)]
    if shown:
        parts += [Text(), _table(shown, lines)]
    if most and (hidden := len(view.lines) - len(shown)):
        parts.append(Text(f"and {hidden:,} more; --all shows them"))
    if view.hints:
        hints = view.hints[: 1 if lines == 1 else None]
        parts += [Text(), *(Sentence(f"hint: {hint}", style="dim") for hint in hints)]
    return Group(*parts)


def _about(view: ServiceView, lines: int | None) -> Iterable[tuple[str, RenderableType]]:
    moved = view.arrival is Arrival.MOVED
    style = "red" if view.stalled else "green" if moved else "bold"
    since = f", for {duration(view.seconds)}" if view.seconds is not None else ""
    yield "Service", Sentence(f"{view.full_name} {view.step}{since}", lead=view.full_name, style=style)
    if view.servers.total:
        run = f"{bar(view.servers)} {view.servers} servers run {view.target or 'what is wanted'}"
        older = f", the oldest {view.current}" if not moved and view.current else ""
        yield "", Sentence(run + older)
    yield "Image", Sentence(view.image, lines=lines)
    if view.verified and lines is None:
        yield "Checked", Sentence(view.verified)
    two = None if lines is None else max(2, lines)
    if view.message and view.message != view.stalled and not moved:
        yield "Now", Sentence(view.message, lines=two)
    if view.stalled:
        yield "Needs you", Sentence(f"{view.reason}: {view.stalled}", lines=two)
    if view.switched is not None and lines is None:
        yield "Switched", Sentence(f"{duration(view.switched)} ago")


def _table(shown: Sequence[ServerLine], lines: int | None) -> Table:
    made = table("SERVER", "STATE", "VERSION", "SAYS", wraps=("SAYS",))
    for one in shown:
        made.add_row(
            Text(one.pod),
            Text(one.state.value, style=_STYLES.get(one.state, "")),
            Text(one.version or "-"),
            Sentence(one.message or "-", lines=lines),
        )
    return made
