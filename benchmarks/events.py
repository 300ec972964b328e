"""Updates of pods, as kubelets make them all day, at a rate that the API server bears."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

import msgspec

from benchmarks.loader import Loader, each
from benchmarks.recipe.base import Json, node_name, stamp
from benchmarks.recipe.pods import Health, pods

_WORKERS = 8


class Update(msgspec.Struct, frozen=True):
    """One pod's status, changed."""

    path: str
    body: Json


class Updates:
    """An endless supply: every pod in turn becomes ready anew, each time at another second."""

    def __init__(self, pod_count: int, node_count: int) -> None:
        running = (
            pod.body["metadata"] for pod in pods(pod_count, node_count) if pod.health is Health.RUNNING
        )
        paths = [f"/api/v1/namespaces/{one['namespace']}/pods/{one['name']}/status" for one in running]
        self._supply = _updates(paths)
        self._node_path = f"/api/v1/nodes/{node_name(0)}/status"

    def make(self, loader: Loader, count: int, rate: int) -> int:
        """Send that many, and give the latest resource version that they were answered with."""
        latest = Latest()
        chosen = _paced(itertools.islice(self._supply, count), rate)
        each("updates", chosen, count, lambda one: latest.note(_send(loader, one)), _WORKERS)
        return latest.version

    def touch_node(self, loader: Loader) -> int:
        """One update of a node, so that the end of its kind's sync can be seen too."""
        heartbeat = {"type": "Ready", "lastHeartbeatTime": stamp(datetime.now(UTC))}
        return _send(loader, Update(self._node_path, {"status": {"conditions": [heartbeat]}}))


class Latest:
    """The highest resource version noted; threads share it."""

    def __init__(self) -> None:
        self.version = 0
        self._lock = threading.Lock()

    def note(self, version: int) -> None:
        with self._lock:
            self.version = max(self.version, version)


def _updates(paths: list[str]) -> Iterator[Update]:
    since = datetime.now(UTC)
    # a stride through the list, so that neighbours in time are no neighbours in the cluster
    for number in itertools.count():
        ready = {"type": "Ready", "lastTransitionTime": stamp(since - timedelta(seconds=number))}
        yield Update(paths[number * 7919 % len(paths)], {"status": {"conditions": [ready]}})


def _paced(items: Iterable[Update], rate: int) -> Iterator[Update]:
    """No more than `rate` a second."""
    begin = time.monotonic()
    for number, item in enumerate(items):
        time.sleep(max(0.0, begin + number / rate - time.monotonic()))
        yield item


def _send(loader: Loader, update: Update) -> int:
    return int(loader.patch(update.path, update.body, "kubelet")["metadata"]["resourceVersion"])
