"""`shiplift status`: how far each layer is and what it waits for; it needs no operator.

Every layer that has something to tell has a section. Where none has, each says how one would begin.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from shiplift.cli import access, sections
from shiplift.cli.access import Context, Kubeconfig
from shiplift.cli.eyes import Eyes
from shiplift.cli.output import CommandError, Format
from shiplift.cli.sections import Seen

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

app = App(name="status", help="Say how far workloads and nodes are on their way, and what they wait for.")
_MOST = 20
"""So many of those that wait are shown, unless all are asked for."""
_BETWEEN_LOOKS = 0.2


@app.default
def status(
    *,
    watch: Annotated[
        bool,
        Parameter(name=["--watch", "-w"], negative="", show_default=False, help="Follow it until Ctrl-C."),
    ] = False,
    until_moved: Annotated[
        bool,
        Parameter(
            negative="",
            show_default=False,
            help="Follow it until all workloads have moved and all nodes are changed; exit 1 if aborted.",
        ),
    ] = False,
    every: Annotated[
        bool,
        Parameter(
            name="--all",
            negative="",
            show_default=False,
            help="Show all workloads and nodes that wait, not only the first.",
        ),
    ] = False,
    output: Annotated[
        Format | None,
        Parameter(name=["--output", "-o"], show_default=False, help="For programs: all of it, in this form."),
    ] = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Say how far workloads and nodes are on their way, and what they wait for."""
    most = None if every else _MOST
    follow = watch or until_moved
    if output is not None and follow:
        raise CommandError("-o tells one moment", "leave -w out, or shiplift wait waits for the end")
    with access.client_of(kubeconfig, context) as client:
        eyes = Eyes(client)
        if follow:
            return _follow(eyes, most, until_moved)
    if output is not None:
        return _write(eyes, output)
    return access.show(access.terminal(), sections.picture(eyes.first, most))


def _write(eyes: Eyes, output: Format) -> None:
    from shiplift.cli import status_data

    sys.stdout.write(status_data.text(status_data.document(eyes.first, eyes.heard, eyes.now), output))


def _follow(eyes: Eyes, most: int | None, until_moved: bool) -> None:
    console = access.terminal()
    done = sections.is_over if until_moved else _goes_on
    with eyes.followed(to_the_end=until_moved) as store:
        if sys.stdout.isatty() and not console.is_dumb_terminal:
            last = on_screen(console, lambda: eyes.look(store), most, done)
        else:
            last = _in_lines(lambda: eyes.look(store), done)
    if until_moved:
        sections.check_moved(last)


def _goes_on(_seen: Seen) -> bool:
    return False


def on_screen(
    console: Console, look: Callable[[], Seen], most: int | None, done: Callable[[Seen], bool]
) -> Seen:
    """Draw until it is left or done; the last picture stays, also after Ctrl-C."""
    from shiplift.cli import watching

    drawn: list[Seen] = []

    def draw(seen: Seen, _: int) -> RenderableType:
        drawn[:] = [seen]
        return _with_a_way_out(console, seen, most)

    try:
        return watching.on_screen(console, look, draw, done)
    finally:
        for seen in drawn:
            access.show(console, sections.picture(seen, most))


def _with_a_way_out(console: Console, seen: Seen, most: int | None) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    return Group(fitting(console, seen, most, below=1), Text("q or Ctrl-C leaves", style="dim"))


_FEWER_AND_FEWER = (None, 4, 3, 2, 1)
"""Lines of each text."""


def fitting(console: Console, seen: Seen, most: int | None, below: int = 0) -> RenderableType:
    """As much as the screen has room for, with so many lines `below` it: rather all that wait with fewer
    words than some with many; and what is below them must not be lost."""

    def fits(rows: int, lines: int | None) -> bool:
        picture = sections.picture(seen, rows, lines)
        return len(console.render_lines(picture, pad=False)) <= console.height - below

    low, high = 0, min(console.height, most or console.height)
    for lines in _FEWER_AND_FEWER:
        if fits(high, lines):
            return sections.picture(seen, high, lines)
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle, 1):
            low = middle
        else:
            high = middle - 1
    return sections.picture(seen, low, 1)


def _in_lines(look: Callable[[], Seen], done: Callable[[Seen], bool]) -> Seen:
    """A line for each change, with the time, until it is done or somebody ends it."""
    before: Seen | None = None
    while True:
        seen = look()
        lines = sections.changes(before, seen)
        sys.stdout.writelines(f"{time.strftime('%H:%M:%S')} {line}\n" for line in lines)
        sys.stdout.flush()
        if done(seen):
            return seen
        before = seen
        time.sleep(_BETWEEN_LOOKS)
