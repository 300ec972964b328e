"""All simulated agents of a cluster: one watch of Nodes, a few threads, one pool of connections.

Nodes that come are taken up, and those that go are forgotten; a node of the same name that is another one
gets an agent of its own. The credentials that the program was given serve to make its account and to say
which nodes that may act as; all else is sent by the account.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Self

from shiplift.facts.kinds import NODE, Kind
from shiplift.facts.meta import Row
from shiplift.facts.nodes import Node, is_simulated
from shiplift.kube import account as accounts
from shiplift.kube.client import Client
from shiplift.kube.credentials import Credentials
from shiplift.kube.errors import Forbidden, KubeError
from shiplift.kube.store import Store
from shiplift.kube.watch import Watch
from shiplift.local.agents import account
from shiplift.local.agents.machine import Pace
from shiplift.local.agents.node import SimulatedAgent, Timing
from shiplift.local.agents.rounds import Rounds
from shiplift.local.errors import LocalError
from shiplift.local.progress import Say, silent

FIELD_MANAGER = "simulated-agent"
_THREADS = 8
_SYNC_SECONDS, _GRANTED_SECONDS = 60.0, 10.0
_LAST_CALLS_SECONDS = 2.0
"""How long calls under way may take when the program ends."""
_AGAIN = 1.0
"""Seconds until a node whose agent could not be made is tried again."""


class Agents:
    """The agents of the cluster that an administrator's credentials are for."""

    def __init__(
        self, admin: Credentials, pace: Pace | None = None, timing: Timing | None = None, say: Say = silent
    ) -> None:
        self._admin = Client(admin)
        self._given = admin
        self._pace, self._timing, self._say = pace or Pace(), timing or Timing(), say
        self._rows: dict[str, Node] = {}
        self._agents: dict[str, SimulatedAgent] = {}
        self._allowed: frozenset[str] = frozenset()
        self._allowing = threading.Lock()
        self._rounds = Rounds(time.monotonic)
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(_THREADS)]

    @property
    def names(self) -> list[str]:
        """The nodes whose agents these are."""
        return sorted(self._rows)

    def __enter__(self) -> Self:
        account.install(self._admin, ())
        credentials = accounts.acting_as(account.ACCOUNT, self._given)
        self._client = Client(credentials, field_manager=FIELD_MANAGER)
        _granted(lambda: list(self._client.list(NODE, limit=1)))
        self._store = Store(credentials, [Watch(NODE)])
        self._store.subscribe(self._heard)
        self._store.start()
        if not self._store.wait_synced(_SYNC_SECONDS):
            self.__exit__()
            raise LocalError("the Nodes of the cluster cannot be watched", "is its API server well?")
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._rounds.end()
        self._store.stop()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(_LAST_CALLS_SECONDS)
        self._client.close()
        self._admin.close()

    def _heard(self, _: Kind, old: Row | None, new: Row | None) -> None:
        """On the reader's thread."""
        if isinstance(new, Node) and is_simulated(new):
            self._rows[new.name] = new
            self._rounds.wake(new.name)
        elif isinstance(old, Node) and self._rows.pop(old.name, None):
            self._rounds.wake(old.name)

    def _work(self) -> None:
        while (name := self._rounds.take()) is not None:
            again = None
            try:
                again = self._look(name)
            except KubeError as error:
                self._say(f"node {name}: {error}")
                again = time.monotonic() + _AGAIN
            finally:
                self._rounds.done(name, again)

    def _look(self, name: str) -> float | None:
        if (row := self._rows.get(name)) is None:
            self._agents.pop(name, None)
            return None
        return self._agent(row).look(row, time.monotonic())

    def _agent(self, row: Node) -> SimulatedAgent:
        agent = self._agents.get(row.name)
        if agent is None or agent.uid != row.uid:
            self._allow(row.name)
            client = self._client.acting_as(account.node_user(row.name))
            agent = SimulatedAgent(client, row, self._pace, self._timing, self._say)
            self._agents[row.name] = agent
        return agent

    def _allow(self, name: str) -> None:
        """All that are known by now at once: a thousand nodes that come together are one write."""
        with self._allowing:
            if name not in self._allowed:
                known = frozenset(self._rows) | {name}
                account.allow(self._admin, known)
                itself = self._client.acting_as(account.node_user(name))
                _granted(lambda: itself.get(NODE, name))
                self._allowed = known


def _granted(call: Callable[[], object]) -> None:
    """An API server goes by a new role a moment after it was written."""
    deadline = time.monotonic() + _GRANTED_SECONDS
    while True:
        try:
            call()
        except Forbidden:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return
