"""Simulated nodes: pools of any size, kubelet version, labels, zones and capacity.

kwok plays the kubelet of each: it keeps them Ready and their pods alive. What an upgrade does to
a node is done here to the Node object: its version changes, it becomes NotReady and Ready again.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec

from shiplift.local.api import Api
from shiplift.local.errors import LocalError
from shiplift.local.stages import NODE_READY

if TYPE_CHECKING:
    from shiplift.local.cluster import Cluster

Json = dict[str, Any]
DEFAULT_VERSION = "v1.36.3"
_IN_FLIGHT = 8


class Ready(StrEnum):
    """What a node's Ready condition says: well, ill by its own word, or silent."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Pool(msgspec.Struct, frozen=True):
    """Nodes that are alike; spread over the zones in turn."""

    name: str = "node"
    count: int = 3
    version: str = DEFAULT_VERSION
    zones: tuple[str, ...] = ("zone-a", "zone-b", "zone-c")
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    taints: tuple[dict[str, str], ...] = ()
    cpu: str = "8"
    memory: str = "32Gi"
    pods: int = 110

    def manifests(self) -> list[Json]:
        return [self._manifest(number) for number in range(self.count)]

    def _manifest(self, number: int) -> Json:
        name = f"{self.name}-{number}"
        capacity = {"cpu": self.cpu, "memory": self.memory, "pods": str(self.pods), "ephemeral-storage": "100Gi"}
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "labels": self._labels(name, number),
                "annotations": {"kwok.x-k8s.io/node": "fake", **self.annotations},
            },
            "spec": {"taints": list(self.taints)},
            "status": {
                "capacity": capacity,
                "allocatable": capacity,
                "addresses": [
                    {"type": "InternalIP", "address": _address(self.name, number)},
                    {"type": "Hostname", "address": name},
                ],
                "nodeInfo": _node_info(self.version),
            },
        }

    def _labels(self, name: str, number: int) -> dict[str, str]:
        zone = {"topology.kubernetes.io/zone": self.zones[number % len(self.zones)]} if self.zones else {}
        return {
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
            "node-role.kubernetes.io/worker": "",
            "local.shiplift.dev/pool": self.name,
            **zone,
            **self.labels,
        }


def _address(pool: str, number: int) -> str:
    """Different for each node of a pool; nothing ever connects to it."""
    block = sum(pool.encode()) % 200
    return f"10.{block}.{number // 250 % 250}.{number % 250 + 1}"


def _node_info(version: str) -> Json:
    return {
        "architecture": "amd64",
        "bootID": "",
        "containerRuntimeVersion": "containerd://2.1.4",
        "kernelVersion": "6.12.0",
        "kubeProxyVersion": "",
        "kubeletVersion": version,
        "machineID": "",
        "operatingSystem": "linux",
        "osImage": "kwok",
        "systemUUID": "",
    }


class Nodes:
    """The nodes of one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._api = Api(cluster)

    def add(self, *pools: Pool) -> None:
        """Make the nodes that are not there yet."""
        manifests = [manifest for pool in pools for manifest in pool.manifests()]
        with ThreadPoolExecutor(_IN_FLIGHT) as executor:
            list(executor.map(self._create, manifests))

    def remove(self, *names: str) -> None:
        for name in names:
            self._api.delete(f"/api/v1/nodes/{name}")

    def set_version(self, name: str, version: str) -> None:
        """What an upgrade of the kubelet looks like from the API server."""
        self._api.merge(f"/api/v1/nodes/{name}/status", {"status": {"nodeInfo": {"kubeletVersion": version}}})

    def set_ready(self, name: str, ready: Ready) -> None:
        wanted = None if ready is Ready.TRUE else ready.value
        self._api.merge(f"/api/v1/nodes/{name}", {"metadata": {"annotations": {NODE_READY: wanted}}})

    def list(self) -> list[Json]:
        return self._api.get("/api/v1/nodes")["items"]

    def wait_schedulable(self, timeout: float = 30.0) -> None:
        """Until every node is Ready and free of the taint that says otherwise."""
        wait_until(lambda: all(map(_is_schedulable, self.list())), "all nodes to be ready", timeout)

    def _create(self, manifest: Json) -> None:
        with contextlib.suppress(FileExistsError):
            self._api.create("/api/v1/nodes", manifest)


def readiness(node: Json) -> Ready:
    for condition in node.get("status", {}).get("conditions", []):
        if condition["type"] == "Ready":
            return Ready(condition["status"])
    return Ready.UNKNOWN


def _is_schedulable(node: Json) -> bool:
    taints = [taint["key"] for taint in node["spec"].get("taints", [])]
    return readiness(node) is Ready.TRUE and "node.kubernetes.io/not-ready" not in taints


def wait_until(done: Callable[[], bool], what: str, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while not done():
        if time.monotonic() > deadline:
            raise LocalError(f"waited {timeout:.0f} s for {what}", "the logs of kwok and kube-controller-manager tell why")
        time.sleep(0.05)
