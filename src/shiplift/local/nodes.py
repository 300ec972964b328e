"""Simulated nodes: pools of any size, kubelet version, labels, zones and capacity.

kwok plays the kubelet of each: it keeps them Ready and their pods alive. What an upgrade does to
a node is done here to the Node object: its version changes, it becomes NotReady and Ready again.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from shiplift.facts.kinds import NODE, SERVICE_ACCOUNT
from shiplift.facts.nodes import WORKER, ZONE
from shiplift.kube import simulated
from shiplift.kube.client import Client
from shiplift.kube.errors import AlreadyExists, NotFound
from shiplift.local.components import Layout
from shiplift.local.errors import LocalError
from shiplift.local.progress import Say, silent
from shiplift.local.stages import NODE_READY

Json = dict[str, Any]
DEFAULT_VERSION = "v1.36.3"
POOL_LABEL = "local.shiplift.dev/pool"
MOST = 10_000
"""Nodes of one cluster."""
_IN_FLIGHT = 8
_TIMEOUT = 60.0


class Ready(StrEnum):
    """What a node's Ready condition says: well, ill by its own word, or silent."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Pool(msgspec.Struct, frozen=True):
    """Nodes that are alike, numbered from `first` on; spread over the zones in turn."""

    name: str = "node"
    count: int = 3
    version: str = DEFAULT_VERSION
    zones: tuple[str, ...] = ("zone-a", "zone-b", "zone-c")
    architecture: str = "amd64"
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    taints: tuple[dict[str, str], ...] = ()
    cpu: str = "8"
    memory: str = "32Gi"
    pods: int = 110
    first: int = 0

    def names(self) -> list[str]:
        return [f"{self.name}-{number}" for number in self._numbers()]

    def manifests(self) -> list[Json]:
        return [
            self._manifest(number, name) for number, name in zip(self._numbers(), self.names(), strict=True)
        ]

    def _numbers(self) -> range:
        return range(self.first, self.first + self.count)

    def _manifest(self, number: int, name: str) -> Json:
        zone = {ZONE: self.zones[number % len(self.zones)]} if self.zones else {}
        return simulated.Simulated(
            name=name,
            version=self.version,
            address=simulated.address(self.name, number),
            labels={WORKER: "", POOL_LABEL: self.name, **zone, **self.labels},
            annotations=self.annotations,
            taints=self.taints,
            cpu=self.cpu,
            memory=self.memory,
            pods=self.pods,
            architecture=self.architecture,
        ).manifest()


class Home(Protocol):
    """What nodes need of the cluster that they are in."""

    layout: Layout

    def client(self) -> Client: ...

    def locked(self, say: Say = silent) -> AbstractContextManager[None]: ...


class Nodes:
    """The nodes of one cluster."""

    def __init__(self, cluster: Home) -> None:
        self._cluster = cluster

    def add(self, *pools: Pool) -> None:
        """Make the nodes that are not there yet."""
        manifests = [manifest for pool in pools for manifest in pool.manifests()]
        with self._cluster.client() as client, ThreadPoolExecutor(_IN_FLIGHT) as executor:
            list(executor.map(functools.partial(_create, client), manifests))

    def to_be_added(self, *pools: Pool) -> str:
        """What `add` is going to do, in words."""
        there = {_name(node) for node in self.list()}
        new = sum(name not in there for pool in pools for name in pool.names())
        if not there:
            return f"adding {_counted(new)}"
        return (
            f"adding {_counted(new)} to {len(there)}" if new else f"no node is added: {len(there)} are there"
        )

    def add_more(self, wanted: Pool, say: Say = silent) -> Pool:
        """New nodes beside those of that pool, whose numbers go on; returns when they take pods."""
        with self._cluster.locked(say):
            there = [_number(_name(node), wanted.name) for node in self.list()]
            if len(there) + wanted.count > MOST:
                raise LocalError(
                    f"{len(there)} nodes and {wanted.count} more are too many", f"at most {MOST}"
                )
            pool = msgspec.structs.replace(wanted, first=max(there, default=-1) + 1)
            self.add(pool)
        self.wait_schedulable(pool)
        return pool

    def chosen(self, names: Collection[str], pool: str = "") -> list[str]:
        """These nodes, or all of a pool; an error where one of them is not there."""
        there = self.list()
        if missing := sorted(set(names) - {_name(node) for node in there}):
            raise LocalError(f"there is no node {missing[0]}", "shiplift local nodes list prints them")
        found = [_name(node) for node in there if _labels(node).get(POOL_LABEL) == pool]
        if pool and not found:
            raise LocalError(f"no node is of pool {pool}", "shiplift local nodes list -o wide prints pools")
        return found if pool else list(dict.fromkeys(names))

    def remove(self, *names: str) -> None:
        with self._cluster.client() as client:
            for name in names:
                client.delete(NODE, name, uid=_uid(client, name))

    def list(self) -> list[Json]:
        with self._cluster.client() as client:
            return list(client.list(NODE))

    def set_version(self, name: str, version: str) -> None:
        """What an upgrade of the kubelet looks like from the API server."""
        change = {"status": {"nodeInfo": {"kubeletVersion": version}}}
        with self._cluster.client() as client:
            client.patch(NODE, name, change, uid=_uid(client, name), subresource="status")

    def set_ready(self, name: str, ready: Ready) -> None:
        """Ask kwok for it; the node's condition follows in a moment, and stays."""
        wanted = None if ready is Ready.TRUE else ready.value
        change = {"metadata": {"annotations": {NODE_READY: wanted}}}
        with self._cluster.client() as client:
            client.patch(NODE, name, change, uid=_uid(client, name))

    def wait_schedulable(self, *pools: Pool) -> None:
        """Until every node of the pools is Ready and free of the taint that says otherwise; but for those
        that somebody has let fall ill or silent."""
        waiting = {name for pool in pools for name in pool.names()}

        def left() -> int:
            there = client.list(NODE)
            waiting.difference_update(_name(one) for one in there if is_schedulable(one) or _is_let_down(one))
            return len(waiting)

        with self._cluster.client() as client:
            self._wait(left, lambda: f"{_some(waiting)} to be ready")

    def wait_first_round(self) -> None:
        """Until the controllers have made what every namespace needs: then they are at work."""
        with self._cluster.client() as client:
            self._wait(lambda: 0 if _has_account(client) else 1, lambda: "the controllers to begin")

    def _wait(self, left: Callable[[], int], what: Callable[[], str]) -> None:
        """As long as it goes on: thousands of nodes take minutes."""
        least, deadline = sys.maxsize, 0.0
        while True:
            began = time.monotonic()
            now = left()
            if not now:
                return
            if now < least:
                least, deadline = now, began + _TIMEOUT
            if began > deadline:
                raise LocalError(
                    f"waited {_TIMEOUT:.0f} s for {what()}",
                    f"the logs may tell why: {self._cluster.layout.logs}",
                )
            # a look at a thousand nodes costs the API server something; leave it the time for its work
            time.sleep(max(0.05, 4 * (time.monotonic() - began)))


def readiness(node: Json) -> Ready:
    for condition in node.get("status", {}).get("conditions", []):
        if condition["type"] == "Ready":
            return Ready(condition["status"])
    return Ready.UNKNOWN


def is_schedulable(node: Json) -> bool:
    taints = [taint["key"] for taint in node["spec"].get("taints", [])]
    return readiness(node) is Ready.TRUE and "node.kubernetes.io/not-ready" not in taints


def _is_let_down(node: Json) -> bool:
    """Whether it was told to be ill or silent."""
    annotations: Json = node["metadata"].get("annotations") or {}
    return NODE_READY in annotations


def _counted(nodes: int) -> str:
    return f"{nodes} node" if nodes == 1 else f"{nodes} nodes"


def _some(names: Collection[str]) -> str:
    """The first of them, and how many more."""
    first = min(names, default="nodes")
    return f"{first} and {len(names) - 1} more" if len(names) > 1 else first


def _create(client: Client, manifest: Json) -> None:
    with contextlib.suppress(AlreadyExists):
        client.create(NODE, manifest)


def _has_account(client: Client) -> bool:
    with contextlib.suppress(NotFound):
        return bool(client.get(SERVICE_ACCOUNT, "default", "kube-system"))
    return False


def _name(node: Json) -> str:
    return node["metadata"]["name"]


def _labels(node: Json) -> dict[str, str]:
    """None where somebody made the node by hand."""
    return node["metadata"].get("labels") or {}


def _number(node: str, pool: str) -> int:
    """Which of the pool it is; -1 where it is none."""
    number = node.removeprefix(f"{pool}-")
    return int(number) if number != node and number.isascii() and number.isdigit() else -1


def _uid(client: Client, name: str) -> str:
    return client.get(NODE, name)["metadata"]["uid"]
