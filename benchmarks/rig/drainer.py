"""A drainer as a program of its own: `python -m benchmarks.rig.drainer KUBECONFIG MODE NODE…`.

It says that it is ready, waits for a line on its standard input, and cordons all the nodes. Mode `nodes`: one
node after the other, all its pods evicted at once, a pod whose budget says no tried again after a short
fixed pause, and on to the next node as soon as its pods are gone; it does not wait for their replacements,
which is what budgets are for. Nothing else holds it back. Mode `everything`: every pod of all the nodes is
deleted at once, whatever its budget says. Mode `in place`: the same, but no node is cordoned, so that new
pods come to the same nodes. It ends when none of these pods is left.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from pathlib import Path

from benchmarks.progress import quiet
from shiplift.facts import kinds
from shiplift.facts.meta import Row
from shiplift.facts.pods import Pod
from shiplift.kube.client import Client
from shiplift.kube.credentials import load
from shiplift.kube.errors import BudgetExhausted, BudgetPending, Conflict, NotFound, PreconditionFailed
from shiplift.kube.store import Store
from shiplift.kube.watch import Watch

_PAUSE = 0.1
_LONGEST = 1.0
_MANY = 64
_SYNC_SECONDS = 60.0


class Mode(StrEnum):
    """How pods are ended."""

    NODES = "nodes"
    EVERYTHING = "everything"
    IN_PLACE = "in place"


class Drainer:
    """Empties nodes."""

    def __init__(self, client: Client, store: Store) -> None:
        self._client, self._store = client, store
        self._pool = ThreadPoolExecutor(_MANY)
        self._changed = threading.Event()
        store.subscribe(self._heard)

    def cordon(self, names: Iterable[str]) -> None:
        self._each(self._cordon, names)

    def drain(self, node: str) -> None:
        self._each(self._evict, self._pods_on(node))
        self._wait_empty([node])

    def delete_all(self, nodes: list[str]) -> None:
        self._each(self._delete, [pod for node in nodes for pod in self._pods_on(node)])
        self._wait_empty(nodes)

    def delete_in_place(self, nodes: list[str]) -> None:
        pods = [pod for node in nodes for pod in self._pods_on(node)]
        self._each(self._delete, pods)
        self._wait_gone({pod.uid for pod in pods})

    def _each(self, do: Callable[..., None], what: Iterable[object]) -> None:
        for _ in self._pool.map(do, list(what)):
            pass

    def _cordon(self, name: str) -> None:
        uid = self._client.get(kinds.NODE, name)["metadata"]["uid"]
        self._client.patch(kinds.NODE, name, {"spec": {"unschedulable": True}}, uid=uid)

    def _evict(self, pod: Pod) -> None:
        while True:
            try:
                self._client.evict(pod.name, pod.namespace, uid=pod.uid)
            except (BudgetExhausted, BudgetPending):
                time.sleep(_PAUSE)
            except (NotFound, Conflict, PreconditionFailed):
                return
            else:
                return

    def _delete(self, pod: Pod) -> None:
        try:
            self._client.delete(kinds.POD, pod.name, pod.namespace, uid=pod.uid)
        except (NotFound, Conflict, PreconditionFailed):
            return

    def _pods_on(self, node: str) -> list[Pod]:
        return list(self._store.snapshot().pods_on(node))

    def _wait_empty(self, nodes: list[str]) -> None:
        while any(self._pods_on(node) for node in nodes):
            self._changed.wait(_LONGEST)
            self._changed.clear()

    def _wait_gone(self, uids: set[str]) -> None:
        while any(pod.uid in uids for pod in self._store.snapshot().all(Pod)):
            time.sleep(_PAUSE)

    def _heard(self, kind: kinds.Kind, old: Row | None, new: Row | None) -> None:
        if new is None:
            self._changed.set()


def main(kubeconfig: str, mode: str, *nodes: str) -> None:
    quiet()
    credentials = load(Path(kubeconfig))
    store = Store(credentials, [Watch(kinds.POD)])
    with Client(credentials) as client:
        drainer = Drainer(client, store)
        store.start()
        if not store.wait_synced(_SYNC_SECONDS):
            raise TimeoutError("the drainer did not sync")
        print("ready", flush=True)
        sys.stdin.readline()
        _end_pods(drainer, Mode(mode), list(nodes))
    store.stop()


def _end_pods(drainer: Drainer, mode: Mode, nodes: list[str]) -> None:
    if mode is Mode.IN_PLACE:
        return drainer.delete_in_place(nodes)
    drainer.cordon(nodes)
    if mode is Mode.EVERYTHING:
        return drainer.delete_all(nodes)
    for node in nodes:
        drainer.drain(node)
    return None


if __name__ == "__main__":
    main(*sys.argv[1:])
