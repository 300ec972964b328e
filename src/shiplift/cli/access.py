"""How commands reach a cluster and what they say when there is nothing to be found in it."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Collection, Generator, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from shiplift.cli.output import AWAY, CommandError, TimedOutError, configure_logs, say

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from shiplift.facts.kinds import Kind
    from shiplift.kube.client import Client
    from shiplift.kube.credentials import Credentials
    from shiplift.kube.store import KindHealth, Snapshot, Store
    from shiplift.kube.watch import Watch

Kubeconfig = Annotated[Path | None, Parameter(help="Default: as kubectl, then in-cluster.")]
Context = Annotated[str | None, Parameter(help="Which context of the kubeconfig.")]

WRONG_CLUSTER = "that is not installed here; is another cluster meant? --context names it"
NOT_INSTALLED = (
    "that is not installed here: `shiplift crds | kubectl apply -f -` brings the definitions,"
    " docs/install.md says the rest"
)
_UNLIMITED = 1000
"""Columns where no terminal limits them: a line stays a line."""
_SYNC_SECONDS = 60.0
_REFUSED = ("401 ", "403 ")
"""Trying again would not help; everything else may be over in a moment."""
_NOT_THERE = "the server has no "
_NOT_THERE_SECONDS = 2.0
"""Seconds for which a kind may be missing: one that was just defined is served in a moment."""
_LOOK = 0.2


@contextlib.contextmanager
def client_of(kubeconfig: Path | None, context: str | None) -> Generator[Client]:
    """A client for one command; its writes are known as the command line's."""
    from shiplift.kube.client import Client

    configure_logs()
    with Client(credentials_of(kubeconfig, context), field_manager="shiplift-cli") as client:
        yield client


def credentials_of(kubeconfig: Path | None, context: str | None) -> Credentials:
    from shiplift.kube.credentials import load

    return load(kubeconfig, context)


class UnknownKindError(CommandError):
    """The cluster has no such kind of ours: it is not installed there."""

    def __init__(self, *kinds: Kind, hint: str = NOT_INSTALLED) -> None:
        names = either(f"{kind}s" for kind in kinds)
        super().__init__(f"this cluster does not know {names}", hint)


def either(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def objects(client: Client, kind: Kind) -> list[Any]:
    """All objects of one of our own kinds, decoded, as they are now."""
    import msgspec

    from shiplift import api
    from shiplift.kube.errors import NotFound

    try:
        found = list(client.list(kind))
    except NotFound as error:
        raise UnknownKindError(kind) from error
    return [api.decode(kind, msgspec.json.encode(one)) for one in found]


def is_known(client: Client, kind: Kind) -> bool:
    """Whether the cluster has this kind at all."""
    from shiplift.kube.errors import NotFound

    try:
        next(iter(client.list(kind, limit=1)), None)
    except NotFound:
        return False
    return True


@contextlib.contextmanager
def followed(
    credentials: Credentials, watches: Iterable[Watch], dispensable: Collection[Kind] = ()
) -> Generator[Store]:
    """A store that has all of what was asked for; what may not be read is an error at once, but for what is
    dispensable: that is told."""
    from shiplift.kube.store import Store

    store = Store(credentials, watches)
    store.start()
    try:
        _wait_synced(store, dispensable)
        yield store
    finally:
        store.stop()


def collected(credentials: Credentials, watches: Iterable[Watch]) -> Snapshot:
    """All of what was asked for, at one moment."""
    with followed(credentials, watches) as store:
        return store.snapshot()


class NotReadableError(CommandError):
    """Something that a command needs may not be read, or cannot."""


class Reader:
    """The cluster behind a client, as layers read it to explain something."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def namespace(self) -> str:
        return self._client.credentials.namespace

    def objects(self, kind: Kind) -> Sequence[Any]:
        return objects(self._client, kind)

    def collected(self, watches: Iterable[Watch]) -> Snapshot:
        from shiplift.api.registry import TYPES
        from shiplift.face.parts import ReadRefusedError

        asked = list(watches)
        for one in asked:
            if one.kind in TYPES and self._lacks(one.kind):
                raise UnknownKindError(one.kind)
        try:
            return collected(self._client.credentials, asked)
        except NotReadableError as error:
            raise ReadRefusedError(error.message, error.hint) from error

    def _lacks(self, kind: Kind) -> bool:
        """Whether the server has no such kind; of what may not be read, the reading itself tells."""
        from shiplift.kube.errors import Forbidden

        try:
            return not is_known(self._client, kind)
        except Forbidden:
            return False


def _wait_synced(store: Store, dispensable: Collection[Kind]) -> None:
    from shiplift.kube.store import State

    began = time.monotonic()
    while not store.wait_synced(_LOOK):
        passed = time.monotonic() - began
        late = passed > _SYNC_SECONDS
        waiting = [one for one in store.health() if one.state is State.SYNCING]
        for one in waiting:
            if one.kind not in dispensable:
                _check(one, passed)
        if all(one.kind in dispensable and _is_lacking(one, late=late) for one in waiting):
            for one in waiting:
                if not one.error.startswith(_NOT_THERE):
                    say(f"it goes on without {one.kind.plural}, which cannot be read: {one.error}")
            return
        if late:
            raise TimedOutError(f"not everything could be read in {_SYNC_SECONDS:.0f} s", "try again")


def _check(one: KindHealth, passed: float) -> None:
    late = passed > _SYNC_SECONDS
    if one.error.startswith(_NOT_THERE) and passed > _NOT_THERE_SECONDS:
        raise UnknownKindError(one.kind)
    if one.error.startswith(_REFUSED) or (late and one.error):
        refused = one.error.startswith(_REFUSED)
        may = f"kubectl auth can-i list {one.kind.plural} -A tells whether you may"
        raise NotReadableError(f"cannot read {one.kind.plural}: {one.error}", may if refused else AWAY)


def _is_lacking(one: KindHealth, *, late: bool) -> bool:
    """What nobody may read, or what is not there, is not waited for by whoever can do without."""
    return one.error.startswith((*_REFUSED, _NOT_THERE)) or (late and bool(one.error))


def terminal() -> Console:
    """Standard output, as wide as it is; as plain as it is asked for."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else _UNLIMITED)


def show(console: Console, picture: RenderableType) -> None:
    """On a terminal in colour; elsewhere plain, without the blanks that only fill a line."""
    if sys.stdout.isatty():
        console.print(picture)
        return
    with console.capture() as capture:
        console.print(picture)
    sys.stdout.writelines(f"{line.rstrip()}\n" for line in capture.get().splitlines())
