"""`shiplift status`: how far the move of workloads is and what it waits for; it needs no operator."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, NamedTuple

from cyclopts import App, Parameter

from shiplift.cli import access
from shiplift.cli.access import Context, Kubeconfig
from shiplift.cli.output import CommandError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from shiplift.kube.client import Client
    from shiplift.kube.store import Store
    from shiplift.view.arrival import Arrival
    from shiplift.view.migration import Heard, MigrationView

app = App(name="status", help="Say how far the move of workloads is, and what it waits for.")
_MOST = 20
"""So many of those that wait are shown, unless all are asked for."""
_BETWEEN_LOOKS = 0.2
_BETWEEN_LEASES = 10.0


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
    from shiplift.cli.migration_layout import migration
    from shiplift.view.migration import migration_view

    with access.client_of(kubeconfig, context) as client:
        found = access.the_migration(client)
        if watch or until_moved:
            return _follow(client, None if every else _MOST, until_moved)
        view = migration_view(found, int(time.time()), access.operator_heard(client))
    return access.show(access.terminal(), migration(view, None if every else _MOST))


class Seen(NamedTuple):
    """The migration, unless it is gone, how far it is, and whether the API server still answers."""

    view: MigrationView | None
    arrival: Arrival
    stale: bool


class _Eyes:
    """Sees the migration as it changes; the operator's Lease is looked at now and then."""

    def __init__(self, client: Client, store: Store) -> None:
        self._client, self._store = client, store
        self._heard: Heard | None = None
        self._look_at_lease = 0.0

    def look(self) -> Seen:
        from shiplift.facts.kinds import WORKLOAD_MIGRATION
        from shiplift.view.arrival import Arrival, arrival
        from shiplift.view.migration import migration_view

        snapshot = self._store.snapshot()
        stale = bool(snapshot.stale())
        if not stale and time.monotonic() >= self._look_at_lease:
            self._heard = access.operator_heard(self._client)
            self._look_at_lease = time.monotonic() + _BETWEEN_LEASES
        found = next(iter(snapshot.customs(WORKLOAD_MIGRATION)), None)
        if found is None:
            return Seen(None, Arrival.GIVEN_UP, stale)
        view = migration_view(found.object, int(time.time()), self._heard)
        return Seen(view, Arrival.NOT_YET if stale else arrival(found.object), stale)


def _follow(client: Client, most: int | None, until_moved: bool) -> None:
    from shiplift.facts.kinds import WORKLOAD_MIGRATION
    from shiplift.kube.watch import Watch

    console = access.terminal()
    done = _is_over if until_moved else _goes_on
    with access.followed(client.credentials, [Watch(WORKLOAD_MIGRATION)]) as store:
        eyes = _Eyes(client, store)
        if sys.stdout.isatty() and not console.is_dumb_terminal:
            last = _on_screen(console, eyes, most, done)
        else:
            last = _in_lines(eyes, done)
    if until_moved:
        _check_moved(last)


def _goes_on(_seen: Seen) -> bool:
    return False


def _is_over(seen: Seen) -> bool:
    return seen.arrival is not type(seen.arrival).NOT_YET


def _check_moved(last: Seen) -> None:
    """Whoever waited is told by the exit code whether the old nodes may go."""
    if last.view is None:
        raise CommandError(access.NO_MIGRATION, access.HOW_TO_BEGIN)
    if last.arrival is type(last.arrival).GIVEN_UP:
        raise CommandError(f"{last.view.title}: workloads stay where they are", access.HOW_TO_GO_ON)
    if not _is_over(last):
        raise CommandError(
            "left before every workload had moved", "shiplift status --until-moved waits for it"
        )


def _on_screen(console: Console, eyes: _Eyes, most: int | None, done: Callable[[Seen], bool]) -> Seen:
    from shiplift.cli import watching

    last = watching.on_screen(console, eyes.look, lambda seen, _: _fitting(console, seen, most), done)
    access.show(console, _picture(last, most))
    return last


def _picture(seen: Seen, most: int | None) -> RenderableType:
    from rich.text import Text

    from shiplift.cli.migration_layout import migration

    return migration(seen.view, most, seen.stale) if seen.view else Text(access.NO_MIGRATION)


def _fitting(console: Console, seen: Seen, most: int | None) -> RenderableType:
    """As many of those that wait as the screen has room for: what is below them must not be lost."""
    low, high = 0, min(console.height, most or console.height)
    while low < high:
        middle = (low + high + 1) // 2
        if len(console.render_lines(_picture(seen, middle), pad=False)) <= console.height:
            low = middle
        else:
            high = middle - 1
    return _picture(seen, low)


def _in_lines(eyes: _Eyes, done: Callable[[Seen], bool]) -> Seen:
    """A line for each change, with the time, until it is done or somebody ends it."""
    from shiplift.view.migration import changes

    before: Seen | None = None
    while True:
        seen = eyes.look()
        said = list(changes(before.view if before else None, seen.view)) if seen.view else []
        if seen.view is None and (before is None or before.view is not None):
            said = [access.NO_MIGRATION]
        if seen.stale and not (before and before.stale):
            said.append("the API server does not answer")
        sys.stdout.writelines(f"{time.strftime('%H:%M:%S')} {line}\n" for line in said)
        sys.stdout.flush()
        if done(seen):
            return seen
        before = seen
        time.sleep(_BETWEEN_LOOKS)
