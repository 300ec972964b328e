"""A view that follows the cluster: redrawn in place on a terminal, told in lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from rich.console import Console, RenderableType
from rich.live import Live

from shiplift.cli import keys
from shiplift.cli.output import TimedOutError, say

V = TypeVar("V")
_FRAME = 0.2
"""At most five pictures a second."""
_PATIENCE = 300.0
LEAVE = ("q", "Q", keys.END)
"""The keys that end a view."""


def on_screen(
    console: Console,
    look: Callable[[], V],
    draw: Callable[[V, int], RenderableType],
    done: Callable[[V], bool] | None,
) -> V:
    """Draw until q is pressed or it is done; the last view."""
    began = time.monotonic()
    with keys.reading() as wait, Live(console=console, screen=True, auto_refresh=False) as live:
        shown: tuple[V, int] | None = None
        while True:
            now = look(), int(time.monotonic() - began)
            if now != shown:
                live.update(draw(*now), refresh=True)
                shown = now
            if (done and done(now[0])) or wait(_FRAME) in LEAVE:
                return now[0]


def in_lines(
    look: Callable[[], V], tell: Callable[[V | None, V], Iterable[str]], done: Callable[[V], bool]
) -> V:
    """Say what there is to tell of the way from one view to the next, until it is done; the last view."""
    before: V | None = None
    said, quiet_since = "nothing has happened", time.monotonic()
    while True:
        view = look()
        for line in tell(before, view):
            say(line)
            said, quiet_since = line, time.monotonic()
        if done(view):
            return view
        if time.monotonic() - quiet_since > _PATIENCE:
            raise TimedOutError(
                f"nothing more for {_PATIENCE:.0f} s after: {said}",
                "is the computer very busy? try again when it is less so",
            )
        before = view
        time.sleep(_FRAME)
