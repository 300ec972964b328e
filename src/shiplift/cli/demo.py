"""`shiplift demo`: a small shop moves to new nodes, on a real Kubernetes that exists only for that."""

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

    from shiplift.demo.plot import Seen
    from shiplift.demo.stage import Stage
    from shiplift.demo.witness import Verdict

app = App(name="demo", help="Watch a small shop move to new nodes, on a real Kubernetes of its own.")
_TITLE = "shiplift demo"
_PLAIN_WIDTH = 160
"""Where no terminal limits it, nothing is cut."""
_PICTURE_WIDTH = 90
_LOOK = 0.5


@app.default
def demo(
    *,
    keep: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    svg: Annotated[Path | None, Parameter(show=False)] = None,
) -> None:
    """Watch a small shop move to new nodes, on a real Kubernetes of its own, which is gone when you leave.

    Parameters
    ----------
    keep
        When everything has moved, keep the cluster until q or Ctrl-C, to look around in it.
    svg
        Save a picture of half-way to this file.
    """
    from rich.console import Console  # keeps --help fast

    from shiplift.cli import access
    from shiplift.demo import stage

    configure_logs()
    _treat_as_interrupt(signal.SIGTERM, signal.SIGHUP)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _PLAIN_WIDTH)
    with stage.built(say) as running:
        last = _watch(console, running, svg)
        access.show(console, _picture(last))
        if not _is_done(last):
            say("left before the end")
            return
        verdict = running.verdict()
        access.show(console, _summary(last, verdict))
        if keep:
            _keep(running)
    _check(verdict)


def _watch(console: Console, running: Stage, svg: Path | None) -> Seen:
    from shiplift.cli import watching

    look = _photographed(running.look, svg) if svg else running.look
    if sys.stdout.isatty() and not console.is_dumb_terminal:
        return watching.on_screen(console, look, lambda seen, _: _screen(running.kubeconfig, seen), _is_done)
    return watching.in_lines(look, _told, _is_done)


def _is_done(seen: Seen) -> bool:
    return seen.scene is type(seen.scene).DONE


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

    acts = [stage_layout.Drawn(one.part.headline(one.act), one.part.picture(one.act)) for one in seen.played]
    return stage_layout.stage(seen.cluster, TARGET, acts, _TITLE, f"{seen.scene} · {seen.seconds} s")


def _summary(seen: Seen, verdict: Verdict) -> RenderableType:
    from rich.text import Text

    times = "each once" if verdict.once_each else "not each once"
    order = (
        f"not kept by {', '.join(verdict.early)}" if verdict.early else "kept: each after all that it needs"
    )
    lines = (
        f"moves   {verdict.moves} for {verdict.pods} pods: {times}",
        f"order   {order}",
        "left    nothing: no label, budget or placement of ours",
        f"took    {seen.seconds} s",
    )
    return Text("\n" + "\n".join(lines))


def _check(verdict: Verdict) -> None:
    """What was promised was seen."""
    if verdict.early or not verdict.once_each:
        raise CommandError("the shop did not move as it should", "please report it, with the lines above")


def _keep(running: Stage) -> None:
    from shiplift.cli import keys, watching

    sys.stdout.flush()
    say(f"the cluster stays until q or Ctrl-C: export KUBECONFIG={running.kubeconfig}")
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
