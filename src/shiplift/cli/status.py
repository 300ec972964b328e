"""`shiplift status`: how far each layer is and what it waits for; it needs no operator.

Every layer that has something to tell has a section. Where none has, the first says how one would begin.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from shiplift.cli import access, sections
from shiplift.cli.access import Context, Kubeconfig
from shiplift.cli.hearing import Ear
from shiplift.cli.sections import Parts, Seen, Told

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from shiplift.facts.kinds import Kind
    from shiplift.kube.client import Client
    from shiplift.kube.store import Store
    from shiplift.view.values import Heard

app = App(name="status", help="Say how far the move of workloads is, and what it waits for.")
_MOST = 20
"""So many of those that wait are shown, unless all are asked for."""
_BETWEEN_LOOKS = 0.2
_BETWEEN_LEASES = 5.0


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
            help="Follow it until every workload has moved; exit 1 if it is aborted.",
        ),
    ] = False,
    every: Annotated[
        bool,
        Parameter(
            name="--all",
            negative="",
            show_default=False,
            help="Show all workloads that wait, not only the first.",
        ),
    ] = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Say how far the move of workloads is, and what it waits for."""
    most = None if every else _MOST
    with access.client_of(kubeconfig, context) as client:
        parts, objects = sections.read(client, sections.parts_of_layers())
        ear = Ear(client)
        heard, now = ear.surely(), int(time.time())
        told = sections.told(parts, objects, now, heard)
        if not told:
            raise sections.refusal(next(iter(parts.values())).absent)
        if watch or until_moved:
            return _follow(_Eyes(client, ear, parts, told), most, until_moved)
    seen = Seen(told, heard.silent(now) if heard else None, stale=False)
    return access.show(access.terminal(), sections.picture(seen, most))


class _Eyes:
    """Sees the layers' objects as they change; the operator's Lease is looked at now and then."""

    def __init__(self, client: Client, ear: Ear, parts: Parts, told: Iterable[Told]) -> None:
        self._client, self._ear, self._parts = client, ear, parts
        self._begun = {one.layer for one in told}
        self._heard: Heard | None = None
        self._look_at_lease = 0.0

    def followed(self) -> AbstractContextManager[Store]:
        from shiplift.kube.watch import Watch

        kinds = dict.fromkeys(kind for part in self._parts.values() for kind in part.reads)
        return access.followed(self._client.credentials, map(Watch, kinds))

    def look(self, store: Store) -> Seen:
        snapshot, now = store.snapshot(), int(time.time())
        stale = bool(snapshot.stale())
        if not stale and time.monotonic() >= self._look_at_lease:
            self._heard = self._ear.listen()
            self._look_at_lease = time.monotonic() + _BETWEEN_LEASES

        def objects(kind: Kind) -> list[Any]:
            return [row.object for row in snapshot.customs(kind)]

        told = sections.told(self._parts, objects, now, self._heard, self._begun)
        self._begun.update(one.layer for one in told)
        return Seen(told, self._heard.silent(now) if self._heard else None, stale)


def _follow(eyes: _Eyes, most: int | None, until_moved: bool) -> None:
    console = access.terminal()
    done = sections.is_over if until_moved else _goes_on
    with eyes.followed() as store:
        if sys.stdout.isatty() and not console.is_dumb_terminal:
            last = _on_screen(console, lambda: eyes.look(store), most, done)
        else:
            last = _in_lines(lambda: eyes.look(store), done)
    if until_moved:
        sections.check_moved(last)


def _goes_on(_seen: Seen) -> bool:
    return False


def _on_screen(
    console: Console, look: Callable[[], Seen], most: int | None, done: Callable[[Seen], bool]
) -> Seen:
    from shiplift.cli import watching

    last = watching.on_screen(console, look, lambda seen, _: _fitting(console, seen, most), done)
    access.show(console, sections.picture(last, most))
    return last


def _fitting(console: Console, seen: Seen, most: int | None) -> RenderableType:
    """As many of those that wait as the screen has room for: what is below them must not be lost."""
    low, high = 0, min(console.height, most or console.height)
    while low < high:
        middle = (low + high + 1) // 2
        if len(console.render_lines(sections.picture(seen, middle), pad=False)) <= console.height:
            low = middle
        else:
            high = middle - 1
    return sections.picture(seen, low)


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
