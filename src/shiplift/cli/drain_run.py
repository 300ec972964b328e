"""A drain that runs: told line by line, and on a terminal with a picture of what is left below the lines.

Whatever ends it before its end, nothing more is evicted then and the node is put back as it was found.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from shiplift.cli.output import CommandError, TimedOutError, say
from shiplift.drain.telling import Standing, Teller, counted, left
from shiplift.view.values import plain

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

    from shiplift.drain.cordon import Cordon
    from shiplift.drain.draining import Draining
    from shiplift.drain.plan import Plan

_LOOK = 1.0
"""Seconds after which a drain looks again though nothing has changed."""
_LEAST = 0.2
"""Seconds between two looks, however much changes."""
_MOST_ROWS = 10
_AS_FOUND = "the node is as it was found; what was evicted is evicted"


class End(NamedTuple):
    """How many pods went, and how many stay."""

    gone: int
    stay: int


def run(work: Draining, cordon: Cordon, node: str, limit: float) -> None:
    """Cordon the node and empty it; without a limit of seconds, for as long as it takes."""
    began = time.monotonic()
    with _interruptible(), _left_as_found(work, cordon, node):
        cordon.take()
        work.begin()
        _line(f"{node} {'is cordoned' if cordon.ours else 'was cordoned already'}")
        with _shown() as screen:
            end = _follow(work, screen, node, limit)
    say(
        f"node {node} is drained after {time.monotonic() - began:.0f} s: {counted(end.gone)} went,"
        f" {end.stay} stay; {_opened_by(cordon, node)}"
    )


def _opened_by(cordon: Cordon, node: str) -> str:
    """A node of a rollout is not to be uncordoned by hand: it may be changed at this moment."""
    if cordon.rollout:
        return f"NodeRollout {cordon.rollout} opens it again when it is through with it"
    return f"kubectl uncordon {node} opens it again"


def _follow(work: Draining, screen: Screen, node: str, limit: float) -> End:
    teller, began, stale = Teller(), time.monotonic(), False
    while True:
        found, now = work.look(), time.time()
        if work.stale is not stale:
            stale = work.stale
            screen.say("the API server does not answer: nothing is evicted" if stale else "it answers again")
        for line in teller.lines(found, now, evicts=not stale):
            screen.say(line)
        if found.over and not stale:
            return End(teller.gone, len(found.left))
        screen.draw(teller.standing(found, now))
        _check(found, node, limit, time.monotonic() - began)
        work.send(found)
        time.sleep(_LEAST)
        work.wait(_LOOK)


def _check(found: Plan, node: str, limit: float, passed: float) -> None:
    if found.stuck:
        raise CommandError(f"node {node} cannot be drained: {plain(left(found))}", _AS_FOUND)
    if limit and passed >= limit:
        late = f"node {node} is not drained after {limit:.0f} s"
        raise TimedOutError(f"{late}: {plain(left(found))}", _AS_FOUND)


@contextlib.contextmanager
def _interruptible() -> Generator[None]:
    """A terminal that is closed, or somebody who ends us, is as good as Ctrl-C."""
    signals = [one for one in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(one) != signal.SIG_IGN]
    before = {one: signal.signal(one, signal.default_int_handler) for one in signals}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


@contextlib.contextmanager
def _left_as_found(work: Draining, cordon: Cordon, node: str) -> Generator[None]:
    try:
        yield
    except BaseException:
        try:
            work.stop()
            if told := cordon.put_back():
                _line(told)
        except BaseException:
            say(f"node {node} may still be cordoned: kubectl uncordon {node} opens it")
            raise
        raise


# --- what is seen


class Screen(Protocol):
    """Where a drain is told."""

    def say(self, line: str) -> None: ...
    def draw(self, standing: Sequence[Standing]) -> None: ...


@contextlib.contextmanager
def _shown() -> Generator[Screen]:
    """On a terminal with a picture that changes in place, elsewhere in lines alone."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    if not sys.stderr.isatty() or console.is_dumb_terminal:
        yield _Lines()
        return
    from rich.live import Live

    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield _Picture(live)


class _Lines:
    def say(self, line: str) -> None:
        _line(line)

    def draw(self, standing: Sequence[Standing]) -> None:
        """Lines tell all."""


class _Picture:
    """What is left, below the lines."""

    def __init__(self, live: Live) -> None:
        self._live = live

    def say(self, line: str) -> None:
        from rich.text import Text

        self._live.console.print(Text(_timed(line)))

    def draw(self, standing: Sequence[Standing]) -> None:
        self._live.update(picture(standing), refresh=True)


def picture(standing: Sequence[Standing]) -> Table:
    """A row for each of the first pods that are left, and how many more there are."""
    from shiplift.face import layout
    from shiplift.face.wrapping import Sentence

    table = layout.table("POD", "WHAT", "FOR", "WHY", wraps=("WHY",))
    for one in standing[:_MOST_ROWS]:
        why = Sentence(plain(one.why), lines=2)
        table.add_row(plain(one.pod), one.what, layout.duration(one.seconds), why)
    if len(standing) > _MOST_ROWS:
        table.add_row(f"and {len(standing) - _MOST_ROWS} more", "", "", "")
    return table


def _line(text: str) -> None:
    say(_timed(text))


def _timed(text: str) -> str:
    return f"{time.strftime('%H:%M:%S')} {plain(text)}"
