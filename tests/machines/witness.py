"""Somebody who looks at all nodes all the time, and remembers in which order they went, how many at once."""

from __future__ import annotations

import threading
import time
from typing import Any, NamedTuple, Self

from shiplift.agent.protocol import CHANGES_ALLOWED, ProtocolError, order_of
from shiplift.facts import kinds
from shiplift.kube import credentials
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError
from tests.machines.rig import Rig

_EVERY = 0.25


class Seen(NamedTuple):
    """A node at one moment."""

    cordoned: bool
    kubelet: str
    order: str
    """The operation that is ordered; empty without one."""


class Witness:
    """Looks from `start` to `stop`; while the API server is away, nothing is seen."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.history: list[tuple[str, Seen]] = []
        """Every change that was seen."""
        self.most_away = 0
        """Most nodes that were cordoned at one moment."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(30)

    def orders(self) -> list[tuple[str, str]]:
        """Node and operation of every order that was seen, once each, as they came."""
        found = [(name, seen.order) for name, seen in self.history if seen.order]
        return list(dict.fromkeys(found))

    def upgraded(self, version: str) -> list[str]:
        """Nodes as they came to run that kubelet."""
        return list(dict.fromkeys(name for name, seen in self.history if seen.kubelet == version))

    def _look(self) -> None:
        last: dict[str, Seen] = {}
        with Client(credentials.load(self._rig.admin)) as client:
            while not self._over.wait(_EVERY):
                try:
                    now = {one["metadata"]["name"]: _seen(one) for one in client.list(kinds.NODE)}
                except KubeError:
                    time.sleep(_EVERY)
                    continue
                self.history += [(name, seen) for name, seen in now.items() if last.get(name) != seen]
                self.most_away = max(self.most_away, sum(seen.cordoned for seen in now.values()))
                last = now


def _seen(node: dict[str, Any]) -> Seen:
    notes = node["metadata"].get("annotations") or {}
    cordoned = node["spec"].get("unschedulable", False)
    return Seen(cordoned, node["status"]["nodeInfo"]["kubeletVersion"], _operation(notes))


def _operation(notes: dict[str, str]) -> str:
    if CHANGES_ALLOWED not in notes:
        return ""
    try:
        order = order_of(notes)
    except ProtocolError:
        return "unreadable"
    return order.token.operation.value if order else ""
