"""The proof that a placement is in force: an update that is not made, through every API server.

Each answers which generation of the placement it goes by. One that cannot be asked is given a moment to catch
up: mostly it is some milliseconds behind the others. No proof is for ever: an API server that has just been
started does not know the kind of our placements for up to half a minute, and lets every pod pass until then.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from shiplift.facts import kinds
from shiplift.kube.api_servers import ApiServers
from shiplift.kube.client import Client
from shiplift.kube.errors import BadAnswer, CredentialsError, Forbidden, Unauthorized, Unknown, Unreachable
from shiplift.workloads.admission import ASK, effective_generation
from shiplift.workloads.names import PLACEMENT

MOMENT = 2.0
"""Seconds. Late by more than a tenth of one was never seen."""
_ASK_AGAIN = (5.0, 10.0, 20.0, 40.0, 60.0)
"""Seconds before one that could not be asked is tried again: it may be out of our reach for good."""
_OUT_OF_REACH = (Unreachable, Unknown, BadAnswer, CredentialsError, Unauthorized, Forbidden)


class Seen(NamedTuple):
    """The generation that all go by, and what kept us from knowing it."""

    generation: int
    trouble: str = ""


class _Silence(NamedTuple):
    """A server that could not be asked, how often in a row, and until when it is left alone."""

    until: float
    why: str
    times: int


class Proven:
    """Which generation of each placement, by its uid, was seen to be in force of late; for many threads."""

    RENEWED_AFTER = 5.0
    EXPIRES_AFTER = 15.0

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[str, tuple[int, float]] = {}

    def note(self, uid: str, generation: int) -> None:
        """This one was seen just now, whatever was seen before."""
        self._seen[uid] = (generation, self._clock())

    def valid(self) -> dict[str, int]:
        """What can be relied upon."""
        return {uid: generation for uid, (generation, age) in self._aged() if age < self.EXPIRES_AFTER}

    def due(self) -> frozenset[str]:
        """What should be asked again before it can not."""
        return frozenset(uid for uid, (_, age) in self._aged() if age >= self.RENEWED_AFTER)

    def _aged(self) -> list[tuple[str, tuple[int, float]]]:
        now = self._clock()
        return [(uid, (generation, now - at)) for uid, (generation, at) in list(self._seen.items())]


class Proof:
    """Asks about placements, and remembers since when an answer has held."""

    def __init__(
        self,
        client: Client,
        servers: ApiServers | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._servers = servers or ApiServers(client)
        self._clock = clock
        self._since: dict[str, tuple[int, float]] = {}
        self._silent: dict[str, _Silence] = {}

    def seen(self, namespace: str, uid: str) -> Seen:
        """Which generation of the placement every API server goes by."""
        asked: list[int | str] = [self._ask(self._client, namespace, uid)]
        asked += [
            self._ask_directly(server, namespace, uid)
            for server in self._servers.each()
            if server is not self._client
        ]
        least = min(one for one in asked if isinstance(one, int))
        trouble = next((one for one in asked if isinstance(one, str)), "")
        age = self._age(uid, least)
        if not trouble or age >= MOMENT:
            return Seen(least)
        return Seen(0, f"{trouble}; the others go by generation {least}, it is given {MOMENT:.0f} s")

    def _ask(self, server: Client, namespace: str, uid: str) -> int:
        asked = server.patch(kinds.WORKLOAD_PLACEMENT, PLACEMENT, ASK, namespace, uid=uid, dry_run=True)
        return effective_generation(asked.object)

    def _ask_directly(self, server: Client, namespace: str, uid: str) -> int | str:
        """Its answer, or why there is none."""
        name = server.credentials.server.authority
        before = self._silent.get(name)
        if before and self._clock() < before.until:
            return before.why
        try:
            answer = self._ask(server, namespace, uid)
        except _OUT_OF_REACH as error:
            times = before.times + 1 if before else 1
            pause = _ASK_AGAIN[min(times, len(_ASK_AGAIN)) - 1]
            why = f"API server {name} cannot be asked: {error.message}"
            self._silent[name] = _Silence(self._clock() + pause, why, times)
            return why
        self._silent.pop(name, None)
        return answer

    def _age(self, uid: str, generation: int) -> float:
        """For how long those that can be asked have gone by this generation."""
        now = self._clock()
        known, since = self._since.get(uid, (0, now))
        if known != generation:
            since = now
        self._since[uid] = (generation, since)
        return now - since
