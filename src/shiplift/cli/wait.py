"""`shiplift wait`: until all workloads have moved and all nodes are changed.

Scripts are told by the exit code how it ended:

0    every workload is on nodes of the target, every node of a rollout runs what it should
1    it will not come to that: aborted, deleted, no node to move to is in scope, or nothing is under way
2    it could not be waited for: the API server is away, an option is wrong, or nobody expected it
3    stalled: for longer than --patience it has gone on only if somebody helps, or no operator has run
124  not done within --timeout
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated

from cyclopts import App, Parameter

from shiplift.cli import access, sections
from shiplift.cli.access import Context, Kubeconfig
from shiplift.cli.eyes import Eyes
from shiplift.cli.output import CommandError, StalledError, TimedOutError, say
from shiplift.cli.sections import Seen

_BETWEEN_LOOKS = 0.5
app = App(
    name="wait",
    help="Wait until all workloads have moved and all nodes are changed; the exit code tells how it ended.",
    help_epilogue="Exit codes: 0 done; 1 aborted, deleted, nothing to move to, or nothing is under way; 2"
    " it could not be waited for; 3 stalled for longer than --patience, it goes on only if somebody helps;"
    " 124 not done within --timeout.",
)


@app.default
def wait(
    *,
    timeout: Annotated[str, Parameter(help="How long at most, as 90s, 15m or 1h30m.")] = "1h",
    patience: Annotated[str, Parameter(help="How long it may be stalled before the wait ends.")] = "2m",
    quiet: Annotated[
        bool, Parameter(name=["--quiet", "-q"], negative="", show_default=False, help="Do not tell changes.")
    ] = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Wait until all workloads have moved and all nodes are changed; the exit code tells how it ended."""
    limits = _seconds("--timeout", timeout), _seconds("--patience", patience)
    waiting = Waiting(*limits, time.monotonic)
    with access.client_of(kubeconfig, context) as client:
        eyes = Eyes(client)
        with eyes.followed(to_the_end=True) as store:
            last = _follow(lambda: eyes.look(store), waiting, _untold if quiet else _told)
    say(f"done: {sections.done(last)}")


def _seconds(option: str, text: str) -> float:
    from shiplift.api.values import duration

    try:
        return duration(text).total_seconds()
    except ValueError as error:
        raise CommandError(f"{option} {text!r} is no time", "for example 90s, 15m or 1h30m") from error


Tell = Callable[[Seen | None, Seen], None]


def _follow(look: Callable[[], Seen], waiting: Waiting, tell: Tell) -> Seen:
    before: Seen | None = None
    while True:
        seen = look()
        tell(before, seen)
        if waiting.is_over(seen):
            return seen
        before = seen
        time.sleep(_BETWEEN_LOOKS)


def _told(before: Seen | None, seen: Seen) -> None:
    for line in sections.changes(before, seen):
        say(f"{time.strftime('%H:%M:%S')} {line}")


def _untold(_before: Seen | None, _seen: Seen) -> None:
    pass


class Waiting:
    """Judges each look: done, or why the wait ends without that."""

    def __init__(self, timeout: float, patience: float, clock: Callable[[], float]) -> None:
        self._timeout, self._patience, self._clock = timeout, patience, clock
        self._began = clock()
        self._stalled_since: float | None = None

    def is_over(self, seen: Seen) -> bool:
        """Whether all is done; an error where it will not be, or not in time."""
        if sections.is_over(seen):
            sections.check_moved(seen)
            return True
        now, why = self._clock(), stalled(seen)
        self._stalled_since = (self._stalled_since or now) if why else None
        if self._stalled_since is not None and now - self._stalled_since >= self._patience:
            raise StalledError(f"stalled: {why}", "shiplift status tells all; then wait again")
        if now - self._began >= self._timeout:
            raise TimedOutError(
                f"not done in {self._timeout:.0f} s{f': {why}' if why else ''}",
                "shiplift status tells how far it is; --timeout gives it longer",
            )
        return False


def stalled(seen: Seen) -> str:
    """Why it goes on only if somebody helps; empty while it goes on by itself."""
    if seen.stale:
        return "the API server does not answer"
    if seen.silent is not None:
        return "no operator runs"
    stuck = next((one.section.stalled for one in seen.told if one.section and one.section.stalled), "")
    return stuck or seen.doubt
