"""`shiplift demo`: an upgrade on a real Kubernetes that exists only for that, from a policy to the report.

A small shop moves to new nodes; with `--nodes` one layer alone changes the nodes that it runs on, in place.
"""

from __future__ import annotations

import contextlib
import re
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from shiplift.cli.output import CommandError, configure_logs, say

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from shiplift.demo.plot import Play, Seen, Verdict
    from shiplift.demo.stage import Stage

app = App(
    name="demo",
    help="Watch a small shop move to new nodes, or its nodes change, on a real Kubernetes of its own.",
)
_TITLE = "shiplift demo"
_PLAIN_WIDTH = 160
"""Where no terminal limits it, nothing is cut."""
_PICTURE_WIDTH = 106
_LOOK = 0.5


@app.default
def demo(
    *,
    nodes: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    keep: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    svg: Annotated[Path | None, Parameter(show=False)] = None,
) -> None:
    """Watch a small shop move to new nodes, or its nodes change, on a real Kubernetes of its own.

    The cluster is gone when you leave.

    Parameters
    ----------
    nodes
        Change the nodes in place instead: the control plane first, then two workers at a time.
    keep
        When everything is done, keep the cluster until q or Ctrl-C, to look around in it.
    svg
        Save a picture of half-way to this file.
    """
    from rich.console import Console  # keeps --help fast

    from shiplift.cli import access
    from shiplift.demo import stage

    configure_logs()
    _treat_as_interrupt(signal.SIGTERM, signal.SIGHUP)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _PLAIN_WIDTH)
    play = _play(nodes)
    with stage.built(play, say) as running:
        last = _watch(console, play, running, svg)
        access.show(console, _picture(last))
        if last.scene is not play.last:
            say("left before the end")
            return
        verdict = running.verdict()
        access.show(console, _summary(last, verdict))
        if report := running.report():
            sys.stdout.write(f"\n{report}")
        if keep:
            _keep(running)
    if verdict.broken:
        raise CommandError(play.failed, "please report it, with the lines above")


def _play(nodes: bool) -> Play:
    from shiplift.demo import changing, moving

    return changing.PLAY if nodes else moving.PLAY


def _watch(console: Console, play: Play, running: Stage, svg: Path | None) -> Seen:
    from shiplift.cli import watching

    def is_done(seen: Seen) -> bool:
        return seen.scene is play.last

    look = _photographed(running.look, svg) if svg else running.look
    if sys.stdout.isatty() and not console.is_dumb_terminal:
        return watching.on_screen(console, look, lambda seen, _: _screen(running.kubeconfig, seen), is_done)
    return watching.in_lines(look, _told, is_done)


def _told(before: Seen | None, now: Seen) -> Iterable[str]:
    """What there is to tell where no picture can be drawn; what ends a scene is told before the next one."""
    if before:
        for then, one in zip(before.played, now.played, strict=True):
            yield from one.part.changes(then.act, one.act)
    if before is None or before.scene is not now.scene:
        yield str(now.scene)


def _screen(kubeconfig: Path, seen: Seen) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    advice = Text("q ends it and leaves nothing behind. To look at it elsewhere:\n", "dim")
    advice.append(f"export KUBECONFIG={kubeconfig}", "not dim")
    return Group(_picture(seen), advice)


def _picture(seen: Seen) -> RenderableType:
    from shiplift.cli import stage_layout
    from shiplift.demo.plot import TARGET

    acts = [
        stage_layout.Drawn(
            one.part.headline(one.act),
            one.part.picture(one.act) if one.part.picture else None,
            one.part.shows_nodes,
        )
        for one in seen.played
    ]
    return stage_layout.stage(seen.cluster, TARGET, acts, _TITLE, f"{seen.scene} · {seen.seconds} s")


def _summary(seen: Seen, verdict: Verdict) -> RenderableType:
    from rich.text import Text

    told = (*verdict.told, ("took", f"{seen.seconds} s"))
    width = max(len(about) for about, _ in told)
    return Text("\n" + "\n".join(f"{about:{width}}   {what}" for about, what in told))


def _keep(running: Stage) -> None:
    from shiplift.cli import keys, watching

    sys.stdout.flush()
    say(f"the cluster stays until q or Ctrl-C: export KUBECONFIG={running.kubeconfig}")
    say(f"hint: a kubectl for it is {running.kubectl}")
    with contextlib.suppress(KeyboardInterrupt), keys.reading() as wait:
        while wait(_LOOK) not in watching.LEAVE:
            running.check()


def _photographed(look: Callable[[], Seen], path: Path) -> Callable[[], Seen]:
    """Looks likewise, and keeps a picture of half-way."""
    taken = False

    def photographed() -> Seen:
        nonlocal taken
        seen = look()
        if seen.half_way and not taken:
            _save(seen, path)
            taken = True
        return seen

    return photographed


def _save(seen: Seen, path: Path) -> None:
    """As a file that needs no other: rich's own would load its font from the network."""
    import io

    from rich.console import Console

    console = Console(record=True, width=_PICTURE_WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(_picture(seen))
    picture = console.export_svg(title=_TITLE, unique_id="shiplift-demo")
    path.write_text(re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL))


def _treat_as_interrupt(*numbers: signal.Signals) -> None:
    """Unless we were started with them ignored, as nohup does."""
    for number in numbers:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
