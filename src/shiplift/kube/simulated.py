"""A Node whose kubelet is played by kwok: made complete in one write, with capacity and version.

It has no machineID and no bootID: there is no machine.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import msgspec

from shiplift.facts.kinds import NODE
from shiplift.facts.nodes import FAKE, GIVEN_LABELS, SIMULATED

Json = dict[str, Any]


class Simulated(msgspec.Struct, frozen=True, kw_only=True):
    """What is said of one of them."""

    name: str
    version: str
    address: str
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    taints: tuple[Mapping[str, str], ...] = ()
    cpu: str
    memory: str
    pods: int
    architecture: str = "amd64"

    def manifest(self) -> Json:
        return {
            "apiVersion": NODE.api_version,
            "kind": NODE.kind,
            "metadata": {
                "name": self.name,
                "labels": {**self._given(), **self.labels},
                "annotations": {SIMULATED: FAKE, **self.annotations},
            },
            "spec": {"taints": [dict(one) for one in self.taints]},
            "status": self._status(),
        }

    def _given(self) -> dict[str, str]:
        return dict(zip(GIVEN_LABELS, (self.name, "linux", self.architecture), strict=True))

    def _status(self) -> Json:
        capacity = {
            "cpu": self.cpu,
            "memory": self.memory,
            "pods": str(self.pods),
            "ephemeral-storage": "100Gi",
        }
        return {
            "capacity": capacity,
            "allocatable": capacity,
            "addresses": [
                {"type": "InternalIP", "address": self.address},
                {"type": "Hostname", "address": self.name},
            ],
            "nodeInfo": _node_info(self.version, self.architecture),
        }


def address(pool: str, number: int) -> str:
    """Different for each node of a pool; nothing ever connects to it."""
    block = zlib.crc32(pool.encode()) % 240
    return f"10.{block}.{number // 250 % 250}.{number % 250 + 1}"


def _node_info(version: str, architecture: str) -> Json:
    return {
        "architecture": architecture,
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
