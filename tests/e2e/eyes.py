"""Watches the way of every node from outside, and tells what of it is the operator's own time."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any, Self

from benchmarks.rollout.timeline import NodeSeen, Overhead, Timeline
from shiplift.agent.protocol import CHANGES_ALLOWED, READY, ProtocolError, order_of
from shiplift.facts import kinds
from shiplift.kube import credentials
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError
from tests.machines.rig import Rig

Json = dict[str, Any]
_EVERY = 0.1
_LEASES = "kube-node-lease"


class Eyes:
    """Looks ten times a second; while no API server answers, nothing is seen."""

    def __init__(self, rig: Rig, version: str) -> None:
        self._rig, self._version = rig, version
        self._timeline = Timeline(slots=1)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._pods: dict[str, str] = {}
        """By uid, the node of each pod that was there at the last look."""
        self._renewed: dict[str, str] = {}
        """By node: when its Lease says that it was renewed."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(30)

    def overhead(self) -> Overhead | None:
        return self._timeline.overhead()

    def _look(self) -> None:
        with Client(credentials.load(self._rig.admin)) as client:
            while not self._over.wait(_EVERY):
                with contextlib.suppress(KubeError):
                    self._see(client)

    def _see(self, client: Client) -> None:
        for node in client.list(kinds.NODE):
            self._timeline.see(_node_seen(node, self._version))
        pods = {one["metadata"]["uid"]: one["spec"].get("nodeName", "") for one in client.list(kinds.POD)}
        for uid in self._pods.keys() - pods.keys():
            self._timeline.pod_gone(self._pods[uid], time.monotonic())
        self._pods = pods
        for lease in client.list(kinds.LEASE, _LEASES):
            name, at = lease["metadata"]["name"], lease["spec"].get("renewTime", "")
            if self._renewed.get(name) not in {None, at}:
                self._timeline.renewed(name, time.monotonic())
            self._renewed[name] = at


def _node_seen(node: Json, version: str) -> NodeSeen:
    notes = node["metadata"].get("annotations") or {}
    ready, _, token = notes.get(READY, "").partition(" ")
    through = ready == "true" and bool(token) and token in notes.get(CHANGES_ALLOWED, "")
    runs = node["status"]["nodeInfo"]["kubeletVersion"] == version
    return NodeSeen(
        at=time.monotonic(),
        name=node["metadata"]["name"],
        cordoned=node["spec"].get("unschedulable", False),
        ordered=_changes(notes),
        changed=through and runs,
    )


def _changes(notes: dict[str, str]) -> bool:
    """Whether it has the order to change, and not only to prepare that."""
    with contextlib.suppress(ProtocolError):
        order = order_of(notes)
        return order is not None and order.token.operation.wants_cordon
    return False
