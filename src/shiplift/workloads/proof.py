"""The proof that a placement is in force: an update that is not made, through every API server.

Each answers which generation of the placement it goes by, and the one that is furthest behind counts. No
proof is for ever: an API server that has just been started does not know the kind of our placements for up
to half a minute, and its policies find none until then.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

from shiplift.facts import kinds
from shiplift.kube.api_servers import ApiServers
from shiplift.kube.client import Client
from shiplift.kube.errors import CredentialsError, KubeError, Unauthorized, Unknown, Unreachable
from shiplift.workloads.admission import ASK, effective_generation
from shiplift.workloads.names import PLACEMENT

MOMENT = 2.0
"""Seconds for one that cannot be asked to catch up. Late by more than a tenth of one was never seen."""
BOOT = 60.0
"""Seconds for one that answers with errors: mostly it starts, and knows nothing yet."""
_ASK_AGAIN = 2.0
_MANY = 8
_MOST_REMEMBERED = 10_000
_OUT_OF_REACH = (Unreachable, Unknown, CredentialsError, Unauthorized)


class InForce(NamedTuple):
    """The generation that all go by, or what keeps us from knowing it."""

    generation: int
    trouble: str = ""


class Proven:
    """Which generation of each placement, by its uid, was last seen in force, and when; for many threads."""

    FRESH = 5.0
    """Seconds for which nobody asks again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[int, float]] = {}

    def now(self) -> float:
        """The time for `note`: of before the question."""
        return self._clock()

    def note(self, uid: str, generation: int, asked: float) -> None:
        """This was the answer to a question of that time; an answer to an earlier one changes nothing."""
        with self._lock:
            if self._seen.get(uid, (0, asked))[1] <= asked:
                self._seen[uid] = (generation, asked)

    def generations(self) -> dict[str, int]:
        with self._lock:
            return {uid: generation for uid, (generation, _) in self._seen.items()}

    def fresh(self, uid: str, generation: int) -> bool:
        """Whether this generation, or a later one, was seen in force a moment ago."""
        with self._lock:
            known, asked = self._seen.get(uid, (0, float("-inf")))
        return known >= generation and self._clock() < asked + self.FRESH

    def since(self, uid: str, generation: int, time_: float) -> bool:
        """Whether this generation, or a later one, was the answer to a question of after that time."""
        with self._lock:
            known, asked = self._seen.get(uid, (0, float("-inf")))
        return known >= generation and asked > time_

    def unasked(self) -> float:
        """For how many seconds no placement has been asked about."""
        with self._lock:
            last = max((asked for _, asked in self._seen.values()), default=float("-inf"))
        return self._clock() - last

    def keep(self, uids: Collection[str]) -> None:
        """Forget all others."""
        with self._lock:
            self._seen = {uid: one for uid, one in self._seen.items() if uid in uids}


class _Trouble(NamedTuple):
    """A server that does not say what it goes by: since when, and when to ask it again."""

    why: str
    answers: bool
    """It answers with errors: pods may be made through it."""
    since: float
    ask_again: float


class Proof:
    """Asks about placements; safe to use from many threads."""

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
        self._lock = threading.Lock()
        self._troubles: dict[str, _Trouble] = {}
        self._side_by_side = ThreadPoolExecutor(_MANY, thread_name_prefix="proof")

    def asked_of_one(self, namespace: str, uid: str) -> InForce:
        """Which generation the API server that answers goes by; for all there is, where it stands alone."""
        if self._others():
            return InForce(0, "the other API servers have not been asked")
        return InForce(self._ask(self._client, namespace, uid))

    def asked_of_all(self, namespace: str, uid: str) -> InForce:
        """Which generation of the placement every API server goes by."""
        others = self._others()
        mine = self._ask(self._client, namespace, uid)
        ask = partial(self._ask_directly, namespace=namespace, uid=uid)
        asked = list(self._side_by_side.map(ask, others))
        least = min([mine, *(one for one in asked if isinstance(one, int))])
        return self._concluded(uid, least, [one for one in asked if isinstance(one, _Trouble)])

    def _others(self) -> list[Client]:
        servers = [one for one in self._servers.each() if one is not self._client]
        names = {_name(one) for one in servers}
        with self._lock:
            self._troubles = {name: one for name, one in self._troubles.items() if name in names}
        return servers

    def _concluded(self, uid: str, least: int, troubles: list[_Trouble]) -> InForce:
        now, age = self._clock(), self._age(uid, least)
        for one in troubles:
            if one.answers and now < one.since + BOOT:
                return InForce(0, one.why)
            if age < MOMENT:
                return InForce(0, f"{one.why}; the others go by generation {least}, it has {MOMENT:.0f} s")
        return InForce(least)

    def _ask(self, server: Client, namespace: str, uid: str) -> int:
        asked = server.patch(kinds.WORKLOAD_PLACEMENT, PLACEMENT, ASK, namespace, uid=uid, dry_run=True)
        return effective_generation(asked.object)

    def _ask_directly(self, server: Client, namespace: str, uid: str) -> int | _Trouble:
        name, now = _name(server), self._clock()
        with self._lock:
            before = self._troubles.get(name)
            if before and now < before.ask_again:
                return before
            if before:
                # only one of those who ask at the same time has to wait for it
                self._troubles[name] = before._replace(ask_again=now + _ASK_AGAIN)
        try:
            answer = self._ask(server, namespace, uid)
        except KubeError as error:
            trouble = _trouble(name, error, before, now)
            with self._lock:
                self._troubles[name] = trouble
            return trouble
        with self._lock:
            self._troubles.pop(name, None)
        return answer

    def _age(self, uid: str, generation: int) -> float:
        """For how long those that can be asked have gone by this generation."""
        now = self._clock()
        known, since = self._since.get(uid, (0, now))
        if known != generation:
            since = now
        if len(self._since) > _MOST_REMEMBERED:
            self._since = {}
        self._since[uid] = (generation, since)
        return now - since


def _trouble(name: str, error: KubeError, before: _Trouble | None, now: float) -> _Trouble:
    answers = not isinstance(error, _OUT_OF_REACH)
    since = before.since if before and before.answers == answers else now
    if answers:
        return _Trouble(f"API server {name} answers {error}", answers, since, now)
    return _Trouble(f"API server {name} cannot be asked: {error.message}", answers, since, now + _ASK_AGAIN)


def _name(server: Client) -> str:
    return server.credentials.server.authority
