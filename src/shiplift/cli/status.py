"""`shiplift status`: how far the move of workloads is and what it waits for; it needs no operator."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated, NamedTuple

from cyclopts import App, Parameter

from shiplift.cli import access
from shiplift.cli.access import Context, Kubeconfig

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from shiplift.kube.client import Client
    from shiplift.kube.store import Store
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
        if watch:
            return _follow(client, None if every else _MOST)
        view = migration_view(found, int(time.time()), access.operator_heard(client))
    return access.show(access.terminal(), migration(view, None if every else _MOST))


class Seen(NamedTuple):
    """The migration, unless it is gone, and whether the API server still answers."""

    view: MigrationView | None
    stale: bool


class _Eyes:
    """Sees the migration as it changes; the operator's Lease is looked at now and then."""

    def __init__(self, client: Client, store: Store) -> None:
        self._client, self._store = client, store
        self._heard: Heard | None = None
        self._look_at_lease = 0.0

    def look(self) -> Seen:
        from shiplift.facts.kinds import WORKLOAD_MIGRATION
        from shiplift.view.migration import migration_view

        snapshot = self._store.snapshot()
        stale = bool(snapshot.stale())
        if not stale and time.monotonic() >= self._look_at_lease:
            self._heard = access.operator_heard(self._client)
            self._look_at_lease = time.monotonic() + _BETWEEN_LEASES
        found = next(iter(snapshot.customs(WORKLOAD_MIGRATION)), None)
        return Seen(migration_view(found.object, int(time.time()), self._heard) if found else None, stale)


def _follow(client: Client, most: int | None) -> None:
    from shiplift.facts.kinds import WORKLOAD_MIGRATION
    from shiplift.kube.watch import Watch

    console = access.terminal()
    with access.followed(client.credentials, [Watch(WORKLOAD_MIGRATION)]) as store:
        eyes = _Eyes(client, store)
        if sys.stdout.isatty() and not console.is_dumb_terminal:
            _on_screen(console, eyes, most)
        else:
            _in_lines(eyes)


def _on_screen(console: Console, eyes: _Eyes, most: int | None) -> None:
    from shiplift.cli import watching

    last = watching.on_screen(console, eyes.look, lambda seen, _: _fitting(console, seen, most), None)
    access.show(console, _picture(last, most))


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


def _in_lines(eyes: _Eyes) -> None:
    """A line for each change, with the time, until somebody ends it."""
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
        before = seen
        time.sleep(_BETWEEN_LOOKS)
