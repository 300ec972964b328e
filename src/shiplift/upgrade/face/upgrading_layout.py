"""From the read model of the upgrade to what a terminal shows. Words carry the meaning, colour repeats it."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.text import Text

from shiplift.face.layout import bar, duration, expected, facts
from shiplift.face.wrapping import Sentence
from shiplift.upgrade.face.upgrading import UpgradeView
from shiplift.view.section import Arrival

_PHASES = {
    "upgrading": "green",
    "upgraded": "green",
    "paused": "yellow",
    "aborting": "yellow",
    "failed": "red",
    "aborted": "red",
}


def upgrade(view: UpgradeView, _most: int | None, lines: int | None = None) -> RenderableType:
    parts: list[RenderableType] = [facts(_about(view, lines))]
    if view.hints:
        parts += [Text(), *(Sentence(f"hint: {hint}", style="dim") for hint in view.hints)]
    return Group(*parts)


def _about(view: UpgradeView, lines: int | None) -> Iterable[tuple[str, RenderableType]]:
    most = None if lines is None else max(2, lines)
    yield "Upgrade", Sentence(_headline(view), lead=view.phase, style=_PHASES.get(view.phase, "bold"))
    if view.nodes.total and view.arrival is Arrival.NOT_YET:
        yield "", Sentence(f"{bar(view.nodes)} {view.nodes} nodes")
    if view.steps:
        yield "Steps", Sentence(", ".join(f"{name} {'done' if done else 'now'}" for name, done in view.steps))
    if view.plan and not view.steps:
        yield "Plan", Sentence(view.plan, lines=most)
    for one in view.findings:
        yield "Preflight", Sentence(one, lines=most)
    if view.stalled:
        yield "Needs you", Sentence(view.stalled, lines=most)
    elif view.message:
        yield "Now", Sentence(view.message, lines=most)


def _headline(view: UpgradeView) -> str:
    way = f"from {view.came_from} to {view.target}" if view.came_from else f"to {view.target}"
    if view.came_from == view.target:
        way = f"at {view.target}"
    word = "in" if view.arrival is not Arrival.NOT_YET else "for"
    more = [f"{view.phase} {way}", f"{word} {duration(view.seconds)}" if view.seconds is not None else ""]
    if view.eta is not None:
        more.append(f"nodes in about {expected(view.eta)}")
    return ", ".join(one for one in more if one)
