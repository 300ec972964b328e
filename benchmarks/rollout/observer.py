"""Watches a contest on its own: pods for the account, nodes and their Leases for the timeline."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, cast

from benchmarks.rig.accounts import Account, Ledger
from benchmarks.rig.observer import seen_of
from benchmarks.rollout.leases import LeaseWatch
from benchmarks.rollout.plan import NEW_VERSION, Size, Workload
from benchmarks.rollout.timeline import NodeSeen, Timeline
from benchmarks.server import endpoint
from shiplift.agent.protocol import CHANGES_ALLOWED, READY, order_of
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod
from shiplift.kube.store import Store
from shiplift.kube.watch import Watch
from shiplift.local.cluster import Cluster

_SYNC_SECONDS = 60.0
_LOOK_EVERY = 0.05
_TELL_EVERY = 20.0
_KINDS = (kinds.POD, kinds.NODE, kinds.NODE_ROLLOUT)


class Observer:
    """One contest. Entering it syncs; `begin` starts the clock."""

    def __init__(self, cluster: Cluster, size: Size, workloads: list[Workload]) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._ledger = Ledger(workloads, ())
        self.timeline = Timeline(size.max_unavailable)
        self.store = Store(cluster.credentials(), [Watch(kind) for kind in _KINDS])
        self._leases = LeaseWatch(endpoint(cluster), self._renewed)
        self._open = contextlib.ExitStack()
        self._began = 0.0

    def __enter__(self) -> Self:
        self.store.subscribe(self._heard)
        self.store.start()
        self._open.callback(self.store.stop)
        try:
            if not self.store.wait_synced(_SYNC_SECONDS):
                raise TimeoutError(f"no sync in {_SYNC_SECONDS:.0f} s: {self.store.health()}")
            self._open.enter_context(self._leases)
        except BaseException:
            self._open.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def begin(self) -> None:
        with self._lock:
            self._began = time.monotonic()
            self._ledger.begin(self._began)

    def wait_over(
        self, over: Callable[[], bool], patience: float, tell: Callable[[str], None]
    ) -> tuple[float, Account]:
        told = time.monotonic()
        while not over():
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

    def changed(self) -> bool:
        """Whether every node runs the new version, and takes pods."""
        return not self._left()

    def replaced(self) -> bool:
        """Whether every pod is there and Ready."""
        pods = [pod for pod in self.store.snapshot(kinds.POD).all(Pod) if "app" in pod.labels]
        return len(pods) == self._size.pods and all(pod.ready and not pod.deleting for pod in pods)

    def _left(self) -> list[Node]:
        return [row for row in self.store.snapshot(kinds.NODE).all(Node) if not _is_done(row)]

    def _state(self) -> str:
        left = self._left()
        return f"{len(left)} nodes to change, {sum(row.unschedulable for row in left)} of them cordoned"

    def _heard(self, kind: Kind, old: Row | None, new: Row | None) -> None:
        now = time.monotonic()
        with self._lock:
            if kind == kinds.POD:
                self._heard_pod(cast("Pod | None", old), cast("Pod | None", new), now)
            elif kind == kinds.NODE and new is not None and self._began:
                self.timeline.see(_node_seen(cast("Node", new), now))

    def _heard_pod(self, old: Pod | None, new: Pod | None, now: float) -> None:
        row = new or old
        if row is None:
            return
        self._ledger.add(seen_of(row, gone=new is None))
        if new is None and row.node:
            self.timeline.pod_gone(row.node, now)

    def _renewed(self, node: str, at: float) -> None:
        with self._lock:
            self.timeline.renewed(node, at)


def _is_done(row: Node) -> bool:
    return (
        row.kubelet_version == NEW_VERSION
        and not row.unschedulable
        and CHANGES_ALLOWED not in row.annotations
    )


def _node_seen(row: Node, at: float) -> NodeSeen:
    order = row.annotations.get(CHANGES_ALLOWED, "")
    ready, _, token = row.annotations.get(READY, "").partition(" ")
    through = ready == "true" and bool(token) and token in order
    return NodeSeen(
        at=at,
        name=row.name,
        cordoned=row.unschedulable,
        ordered=_wants_cordon(row),
        changed=through and row.kubelet_version == NEW_VERSION,
    )


def _wants_cordon(row: Node) -> bool:
    """Whether it has the order to change: one to prepare it may still be there when it is cordoned."""
    order = order_of(row.annotations)
    return order is not None and order.token.operation.wants_cordon
