"""What all pictures on a terminal have in common. Words carry the meaning, colour repeats it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from rich.console import OverflowMethod, RenderableType
from rich.table import Table
from rich.text import Text

from shiplift.view.values import Eta, Share

_BAR = 20
_NARROW = 0.2
"""Bounds that are apart by less than this part of what is likely say nothing."""
_DOTS = 12
"""More pods than this are counted, not drawn one by one."""
MOVED, BETWEEN, LEFT = ("●", "green"), ("◐", "yellow"), ("○", "cyan")
"""The marks of pods: ready on the target, not ready, ready elsewhere."""


def duration(seconds: int) -> str:
    """Roughly, in one unit."""
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"


def expected(eta: Eta) -> str:
    """When it is likely to end, and between which bounds."""
    return f"{duration(eta.likely)}{_bounds(eta)}"


def to_go(eta: Eta) -> str:
    """The same of what is under way."""
    return f"{duration(eta.likely)} to go{_bounds(eta)}"


def _bounds(eta: Eta) -> str:
    """Only where they say more than what is likely does."""
    narrow = eta.latest - eta.earliest <= max(eta.likely * _NARROW, 1)
    first, last = duration(eta.earliest), duration(eta.latest)
    return "" if narrow or first == last else f" ({first} to {last})"


def bar(share: Share) -> str:
    """Full only when all is done, empty only when nothing is."""
    filled = share.done * _BAR // share.total if share.total else 0
    filled = min(max(filled, bool(share.done)), _BAR)
    return f"[{'#' * filled}{'-' * (_BAR - filled)}]"


def marks(moved: int, between: int, left: int) -> Text:
    """A mark a pod; where they are many, numbers."""
    text = Text(no_wrap=True)
    total = moved + between + left
    for number, (mark, style) in ((moved, MOVED), (between, BETWEEN), (left, LEFT)):
        if number:
            text.append(mark * number if total <= _DOTS else f"{mark} {number} ", style=style)
    text.rstrip()
    return text if total else Text("-", style="dim")


def facts(told: Iterable[tuple[str, RenderableType]]) -> Table:
    """A line each: what it is about, and what is said of it."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for label, value in told:
        grid.add_row(Text(label, style="bold cyan"), value)
    return grid


def table(
    *headers: str,
    wraps: Collection[str] = (),
    widths: Mapping[str, int] | None = None,
    overflow: OverflowMethod = "fold",
) -> Table:
    """Columns without lines between them; those named may wrap, `widths` are the least that they have."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold cyan")
    for header in headers:
        least = (widths or {}).get(header)
        made.add_column(header, no_wrap=header not in wraps, min_width=least, overflow=overflow)
    return made
