"""From the explanation of one node to what a terminal shows. Words carry the meaning, colour repeats it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from shiplift.face.layout import duration, facts, table
from shiplift.face.wrapping import Sentence
from shiplift.nodes.face.explanation import Explanation, Software


def explanation(one: Explanation) -> RenderableType:
    """All about one node."""
    parts: list[RenderableType] = [facts(_who(one))]
    if one.software:
        parts += [Text(), _software(one.software)]
    told = [*_labelled("Blocked by", one.blocked_by), *_labelled("Would help", one.unblocked_by)]
    if told:
        parts += [Text(), facts(told)]
    return Group(*parts)


def _labelled(label: str, lines: Sequence[str]) -> Iterable[tuple[str, RenderableType]]:
    """The label once, before the first of them."""
    return zip((label, *("" for _ in lines[1:])), map(Sentence, lines), strict=False)


def _who(one: Explanation) -> Iterable[tuple[str, RenderableType]]:
    cordoned = f", cordoned by {one.cordon}" if one.cordon else ""
    yield "Node", Text(f"{one.name}, {one.version}, {'Ready' if one.ready else 'not Ready'}{cordoned}")
    yield "Agent", Text(one.agent)
    if one.rollout:
        yield "Rollout", Text(f"{one.rollout}: {one.wanted}")
    if one.line:
        since = f" for {duration(one.line.seconds)}" if one.line.seconds is not None else ""
        yield "State", Text(f"{one.line.state.value}{since}")
    yield "Waits for", Sentence(one.waits_for)
    if one.next:
        yield "Next", Sentence(one.next)


def _software(found: Iterable[Software]) -> Table:
    lines = table("SOFTWARE", "HAS", "SHOULD HAVE")
    for one in found:
        style = "" if one.fits else "yellow"
        lines.add_row(Text(one.name), Text(one.current or "-"), Text(one.wanted or "-", style=style))
    return lines
