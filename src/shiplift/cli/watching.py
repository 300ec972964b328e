"""A view that follows the cluster: redrawn in place on a terminal, told in lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from rich.console import Console, RenderableType
from rich.live import Live

from shiplift.cli import keys
from shiplift.cli.output import TimedOutError, say
from shiplift.view.cluster import ClusterView

V = TypeVar("V")
_FRAME = 0.2
"""At most five pictures a second."""
_LINE = 1.0
_PATIENCE = 120.0


def on_screen(
    console: Console, look: Callable[[], V], draw: Callable[[V, int], RenderableType], seconds: float | None
) -> V:
    """Draw until q is pressed or the time is over; the last view."""
    began = time.monotonic()
    with keys.reading() as wait, Live(console=console, screen=True, auto_refresh=False) as live:
        shown: tuple[V, int] | None = None
        while True:
            elapsed = time.monotonic() - began
            now = look(), int(elapsed)
            if now != shown:
                live.update(draw(*now), refresh=True)
                shown = now
            if (seconds is not None and elapsed >= seconds) or wait(_FRAME) in ("q", "Q", keys.END):
                return now[0]


def in_lines(
    look: Callable[[], ClusterView], done: Callable[[ClusterView], bool], seconds: float | None
) -> ClusterView:
    """Say how far it is until all is done, or for the time given; the last view."""
    began = time.monotonic()
    said, quiet_until = "", 0.0
    while True:
        view, elapsed = look(), time.monotonic() - began
        line = f"{view.totals.pods.ready} of {view.totals.pods.total} pods ready"
        over = elapsed >= seconds if seconds is not None else done(view)
        if line != said and (over or elapsed >= quiet_until):
            say(line)
            said, quiet_until = line, elapsed + _LINE
        if over:
            return view
        if seconds is None and elapsed > _PATIENCE:
            raise TimedOutError(
                f"{line} after {_PATIENCE:.0f} s", "is the computer very busy? try again when it is less so"
            )
        time.sleep(_FRAME)
