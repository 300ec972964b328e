"""`shiplift demo`: a small shop on a real Kubernetes that exists only while somebody looks at it."""

from __future__ import annotations

import functools
import re
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from shiplift.cli.output import CommandError, configure_logs, say

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from shiplift.demo.stage import Stage
    from shiplift.view.cluster import ClusterView

app = App(name="demo", help="Watch a small shop start on a real Kubernetes of its own.")
_TITLE = "shiplift demo"
_PLAIN_WIDTH = 160
"""Where no terminal limits it, nothing is cut."""
_PICTURE_WIDTH = 90


@app.default
def demo(*, seconds: float | None = None, svg: Annotated[Path | None, Parameter(show=False)] = None) -> None:
    """Watch a small shop start on a real Kubernetes of its own, which is gone when you leave.

    Parameters
    ----------
    seconds
        Leave after this long. If not given: on a terminal, stay until q or Ctrl-C; elsewhere, leave as
        soon as everything runs.
    svg
        Save the last picture to this file.
    """
    from rich.console import Console  # keeps --help fast

    from shiplift.demo import stage

    if seconds is not None and not 0 <= seconds <= 86_400:
        raise CommandError(f"{seconds:g} is no time to stay", "from 0 to 86400 seconds")
    configure_logs()
    _treat_as_interrupt(signal.SIGTERM, signal.SIGHUP)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _PLAIN_WIDTH)
    with stage.built(say) as running:
        last = _watch(console, running, seconds)
    console.print(_picture(last))
    if svg:
        _save(last, svg)


def _watch(console: Console, running: Stage, seconds: float | None) -> ClusterView:
    from shiplift.cli import watching
    from shiplift.demo.stage import is_open

    if sys.stdout.isatty() and not console.is_dumb_terminal:
        draw = functools.partial(_screen, running.kubeconfig)
        return watching.on_screen(console, running.view, draw, seconds)
    return watching.in_lines(running.view, is_open, seconds)


def _screen(kubeconfig: Path, view: ClusterView, elapsed: int) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    advice = Text(f"\n{elapsed} s. q ends it and leaves nothing behind. To play with it elsewhere:\n", "dim")
    advice.append(f"export KUBECONFIG={kubeconfig}", "not dim")
    return Group(_picture(view), advice)


def _picture(view: ClusterView) -> RenderableType:
    from shiplift.cli import layout

    return layout.cluster(view, _TITLE)


def _save(view: ClusterView, path: Path) -> None:
    """As a file that needs no other: rich's own would load its font from the network."""
    import io

    from rich.console import Console

    console = Console(record=True, width=_PICTURE_WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(_picture(view))
    picture = console.export_svg(title=_TITLE, unique_id="shiplift-demo")
    path.write_text(re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL))


def _treat_as_interrupt(*numbers: signal.Signals) -> None:
    """Unless we were started with them ignored, as nohup does."""
    for number in numbers:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
