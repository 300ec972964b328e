"""Whether an admission policy's parameter is in force: every API server is asked, by a write that is not
made.

Each answers which generation of the parameter it goes by, and the one that is furthest behind counts. No
answer is for ever: an API server that has just been started does not know the kind of the parameter for up
to half a minute, and its policies find none until then.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from shiplift.kube.api_servers import ApiServers
from shiplift.kube.client import Client
from shiplift.kube.errors import CredentialsError, KubeError, Unauthorized, Unknown, Unreachable

Q = TypeVar("Q", bound=Hashable)

MOMENT = 2.0
"""Seconds for one that cannot be asked to catch up. Late by more than a tenth of one was never seen."""
BOOT = 60.0
"""Seconds for one that answers with errors: mostly it starts, and knows nothing yet."""
_ASK_AGAIN = 2.0
_SIDE_BY_SIDE = ThreadPoolExecutor(8, thread_name_prefix="in-force")
"""Of the process, for every `Asking`: a question takes a second at most, so none waits long for another's."""
_MOST_REMEMBERED = 10_000
_OUT_OF_REACH = (Unreachable, Unknown, CredentialsError, Unauthorized)


class GoneBy(NamedTuple):
    """The generation that all go by, or what keeps us from knowing it."""

    generation: int
    trouble: str = ""


class _Trouble(NamedTuple):
    """A server that does not say what it goes by: since when, and when to ask it again."""

    why: str
    answers: bool
    """It answers with errors: pods may be made through it."""
    since: float
    ask_again: float


class Asking(Generic[Q]):
    """Asks API servers, `ask` being the question to one of them; safe to use from many threads."""

    def __init__(
        self,
        client: Client,
        ask: Callable[[Client, Q], int],
        servers: ApiServers | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client, self._ask = client, ask
        self._servers = servers or ApiServers(client)
        self._clock = clock
        self._since: dict[Q, tuple[int, float]] = {}
        self._lock = threading.Lock()
        self._troubles: dict[str, _Trouble] = {}

    def asked_of_one(self, about: Q) -> GoneBy:
        """Which generation the API server that answers goes by; for all there is, where it stands alone."""
        if self._others():
            return GoneBy(0, "the other API servers have not been asked")
        return GoneBy(self._ask(self._client, about))

    def asked_of_all(self, about: Q) -> GoneBy:
        """Which generation every API server goes by."""
        others = self._others()
        mine = self._ask(self._client, about)
        ask = partial(self._ask_directly, about=about)
        asked = list(_SIDE_BY_SIDE.map(ask, others))
        least = min([mine, *(one for one in asked if isinstance(one, int))])
        return self._concluded(about, least, [one for one in asked if isinstance(one, _Trouble)])

    def _others(self) -> list[Client]:
        servers = [one for one in self._servers.each() if one is not self._client]
        names = {_name(one) for one in servers}
        with self._lock:
            self._troubles = {name: one for name, one in self._troubles.items() if name in names}
        return servers

    def _concluded(self, about: Q, least: int, troubles: list[_Trouble]) -> GoneBy:
        now, age = self._clock(), self._age(about, least)
        for one in troubles:
            if one.answers and now < one.since + BOOT:
                return GoneBy(0, one.why)
            if age < MOMENT:
                return GoneBy(0, f"{one.why}; the others go by generation {least}, it has {MOMENT:.0f} s")
        return GoneBy(least)

    def _ask_directly(self, server: Client, about: Q) -> int | _Trouble:
        name, now = _name(server), self._clock()
        with self._lock:
            before = self._troubles.get(name)
            if before and now < before.ask_again:
                return before
            if before:
                # only one of those who ask at the same time has to wait for it
                self._troubles[name] = before._replace(ask_again=now + _ASK_AGAIN)
        try:
            answer = self._ask(server, about)
        except KubeError as error:
            trouble = _trouble(name, error, before, now)
            with self._lock:
                self._troubles[name] = trouble
            return trouble
        with self._lock:
            self._troubles.pop(name, None)
        return answer

    def _age(self, about: Q, generation: int) -> float:
        """For how long those that can be asked have gone by this generation."""
        now = self._clock()
        known, since = self._since.get(about, (0, now))
        if known != generation:
            since = now
        if len(self._since) > _MOST_REMEMBERED:
            self._since = {}
        self._since[about] = (generation, since)
        return now - since


def _trouble(name: str, error: KubeError, before: _Trouble | None, now: float) -> _Trouble:
    answers = not isinstance(error, _OUT_OF_REACH)
    since = before.since if before and before.answers == answers else now
    if answers:
        return _Trouble(f"API server {name} answers {error}", answers, since, now)
    return _Trouble(f"API server {name} cannot be asked: {error.message}", answers, since, now + _ASK_AGAIN)


def _name(server: Client) -> str:
    return server.credentials.server.authority
