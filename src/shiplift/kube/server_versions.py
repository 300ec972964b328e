"""The version of every API server: several may stand behind one address, and while somebody upgrades them
they answer with two.

The server that answers at our own address is always asked, and each of those that say where they are. One
that does not answer now counts with what it said last, for as long as it says that it is there; one that
never answered, since it cannot be reached from here, is left to our own address.

Each may take a second to say nothing: they are asked on a thread of their own, when somebody wants to know.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from datetime import datetime, timedelta

from shiplift.engine import clock
from shiplift.engine.api_servers import ASKED
from shiplift.engine.probes import Known, Probing, Question
from shiplift.kube import served
from shiplift.kube.api_servers import ApiServers
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError

_MOST = 16
_AGAIN_SECONDS = 300.0
"""One that could not be reached is tried again after so long: each try may take a second."""
_FRESH, _COUNTS = timedelta(seconds=30), timedelta(seconds=120)


class KnownVersions:
    """What the servers said last; an answer wakes the key."""

    def __init__(
        self,
        probing: Probing,
        ask: Callable[[], Mapping[str, str]],
        key: Hashable,
        now: Callable[[], datetime] = clock.now,
    ) -> None:
        self._now = now
        question = Question(name="versions of API servers", ask=ask, max_age=_COUNTS, keys=(key,))
        self._asked = probing.open(question)

    def get(self) -> Mapping[str, str]:
        """Our own with an empty one where nobody knows yet, or it is too long ago: nobody may take that for
        done. Who wants to know has them asked again."""
        now, probe = self._now(), self._asked.probe
        lately = probe.ended is not None and timedelta(0) <= now - probe.ended < _FRESH
        if not lately and not self._asked.pending:
            self._asked.again()
        found = probe.at(now)
        return found.value if isinstance(found, Known) else {ASKED: ""}


class ServerVersions:
    """By where each is; from one thread."""

    def __init__(
        self,
        client: Client,
        servers: ApiServers | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client, self._servers = client, servers or ApiServers(client)
        self._monotonic = monotonic
        self._known: dict[str, str] = {}
        self._silent_until: dict[str, float] = {}

    def read(self) -> dict[str, str]:
        """Our own address first; empty where that does not answer."""
        there = {where(one): one for one in self._each()}
        said = {place: self._of(place, one) for place, one in there.items()}
        self._known = {place: version for place, version in said.items() if version}
        return {ASKED: version_of(self._client), **self._known}

    def _each(self) -> Iterator[Client]:
        try:
            found = self._servers.each()[:_MOST]
        except KubeError:
            return
        yield from (one for one in found if one is not self._client)

    def _of(self, place: str, one: Client) -> str:
        if self._monotonic() < self._silent_until.get(place, 0.0):
            return ""
        version = version_of(one) or self._known.get(place, "")
        if not version:
            self._silent_until[place] = self._monotonic() + _AGAIN_SECONDS
        return version


def where(client: Client) -> str:
    server = client.credentials.server
    return f"{server.host}:{server.port}"


def version_of(client: Client) -> str:
    """Of the server that answers; empty where none does."""
    try:
        return served.version(client)
    except KubeError:
        return ""
