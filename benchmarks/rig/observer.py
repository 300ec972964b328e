"""Watches a contest on its own: keeps the account, plays the cloud, and says when everything is over.

The cloud's part is the same for all: an old node that holds no pod any more, not even one that is ending, is
deleted at once.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self, cast

from benchmarks.rig.accounts import Account, Ledger, Seen
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod
from shiplift.kube.errors import NotFound
from shiplift.kube.store import Store
from shiplift.kube.watch import Watch
from shiplift.local.cluster import Cluster

_SYNC_SECONDS = 60.0
_LOOK_EVERY = 0.05
_TELL_EVERY = 20.0


class Observer:
    """One contest. Entering it syncs; `begin` starts the clock and the cloud, which takes the old nodes away.

    `more`: kinds that contenders tell by that they have finished; they are in `store`, beside pods and nodes.
    """

    def __init__(self, cluster: Cluster, ledger: Ledger, old: Iterable[str], *more: Kind) -> None:
        self._cluster = cluster
        self._ledger = ledger
        self._lock = threading.Lock()
        self._on_node: Counter[str] = Counter()
        self._old = set(old)
        self._emptied: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._began = 0.0
        self.store = Store(cluster.credentials(), [Watch(kind) for kind in (kinds.POD, kinds.NODE, *more)])
        self._cloud = threading.Thread(target=self._delete_emptied, name="cloud", daemon=True)

    def __enter__(self) -> Self:
        self.store.subscribe(self._heard)
        self.store.start()
        if not self.store.wait_synced(_SYNC_SECONDS):
            raise TimeoutError(f"no sync in {_SYNC_SECONDS:.0f} s: {self.store.health()}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._emptied.put("")
        if self._began:
            self._cloud.join(10)
        self.store.stop()

    def begin(self) -> None:
        with self._lock:
            self._began = time.monotonic()
            self._ledger.begin(self._began)
            for name in self._old:
                if not self._on_node[name]:
                    self._emptied.put(name)
        self._cloud.start()

    def wait_over(
        self, finished: Callable[[], bool], patience: float, tell: Callable[[str], None]
    ) -> tuple[float, Account]:
        """Until all pods are Ready on new nodes, no old node is left, and the contender has finished."""
        told = time.monotonic()
        while not (self._is_over() and finished()):
            now = time.monotonic()
            if now > self._began + patience:
                raise TimeoutError(f"not over after {patience:.0f} s: {self._state()}")
            if now > told + _TELL_EVERY:
                told = now
                tell(f"after {now - self._began:.0f} s: {self._state()}")
            time.sleep(_LOOK_EVERY)
        ended = time.monotonic()
        with self._lock:
            return ended - self._began, self._ledger.close(ended)

    def _is_over(self) -> bool:
        with self._lock:
            if not self._ledger.at_target():
                return False
        return not self._old_nodes()

    def _old_nodes(self) -> list[str]:
        snapshot = self.store.snapshot(kinds.NODE)
        return [row.name for row in snapshot.all(Node) if row.name in self._old]

    def _state(self) -> str:
        with self._lock:
            left = self._ledger.left()
        return f"{len(left)} workloads to move, {len(self._old_nodes())} old nodes left"

    def _heard(self, kind: Kind, old: Row | None, new: Row | None) -> None:
        if kind != kinds.POD:
            return
        before, after = cast("Pod | None", old), cast("Pod | None", new)
        row = after or before
        if row is None:
            return
        with self._lock:
            self._ledger.add(seen_of(row, gone=after is None))
            self._count(before.node if before else "", after.node if after else "")

    def _count(self, before: str, after: str) -> None:
        if before == after:
            return
        if after:
            self._on_node[after] += 1
        if before:
            self._on_node[before] -= 1
            if self._began and before in self._old and not self._on_node[before]:
                self._emptied.put(before)

    def _delete_emptied(self) -> None:
        with self._cluster.client() as client:
            while name := self._emptied.get():
                try:
                    uid = client.get(kinds.NODE, name)["metadata"]["uid"]
                    client.delete(kinds.NODE, name, uid=uid)
                except NotFound:
                    continue


def seen_of(pod: Pod, *, gone: bool) -> Seen:
    """As the account wants it, now."""
    return Seen(
        at=time.monotonic(),
        uid=pod.uid,
        app=pod.labels.get("app", ""),
        node=pod.node,
        pending=pod.phase == "Pending",
        ready=pod.ready,
        deleting=pod.deleting > 0,
        gone=gone,
    )
