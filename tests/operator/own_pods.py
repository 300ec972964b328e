"""Runs an operator for each of its pods: what a kubelet does, on nodes whose kubelets are played by kwok.

Each has a token that is bound to its pod, as a kubelet mounts it, so that the API server tells which pod it
runs in. It is told to stop when its pod is, and may use the time that the pod has for that.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec

from shiplift.facts import kinds
from shiplift.kube.credentials import load
from shiplift.kube.errors import AlreadyExists, NotFound
from shiplift.kube.manifests import kind_of
from shiplift.kube.part import LayerPart
from shiplift.local.accounts import with_token
from shiplift.local.cluster import Cluster
from shiplift.local.stages import GONE_AFTER, READY_AFTER
from shiplift.operator import inside, install
from shiplift.operator.process import Operator, Settings
from tests.operated import LEASE, SPACE
from tests.until import until

Json = dict[str, Any]
_LOOK = 0.1


class Left(NamedTuple):
    """A pod of the operator that was asked to go."""

    pod: str
    node: str
    led: bool
    """Whether it led then."""
    versions: dict[str, str]
    """Of all nodes, then."""


class _Running(NamedTuple):
    operator: Operator
    thread: threading.Thread
    pod: Json


class OwnPods:
    """The operator's Deployment, and what runs in its pods; all of it ends with the block."""

    def __init__(self, cluster: Cluster, parts: Iterable[LayerPart], replicas: int) -> None:
        self.client, self._cluster, self._parts = cluster.client(), cluster, tuple(parts)
        self._replicas = replicas
        self._folder = tempfile.TemporaryDirectory(prefix="shiplift-own-")
        self._running: dict[str, _Running] = {}
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.left: list[Left] = []
        self.without_image: frozenset[str] | None = frozenset()
        """Nodes that cannot pull it; None where all that have not yet cannot."""
        self.errors: list[BaseException] = []
        self.seen: set[str] = set()
        """What `look` has told at any time."""
        self.look: Callable[[], Iterable[str]] = tuple

    def __enter__(self) -> Self:
        for manifest in inside.running(
            SPACE, self._parts, inside.Inside(image="registry.example/shiplift:1")
        ):
            if manifest["kind"] == "Deployment":
                manifest["spec"]["replicas"] = self._replicas
                about = manifest["spec"]["template"]["metadata"]
                about["annotations"] = {GONE_AFTER: "8", READY_AFTER: "1"}
            with contextlib.suppress(AlreadyExists):
                self.client.create(kind_of(manifest), manifest)
        self._thread.start()
        until(
            lambda: len(self._running) == self._replicas and any(self._leads(one) for one in self._all()), 60
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join(30)
        for one in self._all():
            one.operator.stop()
        for one in self._all():
            one.thread.join(30)
        for kind in (kinds.DEPLOYMENT, kinds.POD_DISRUPTION_BUDGET):
            found = self.client.get(kind, inside.NAME, SPACE)
            self.client.delete(kind, inside.NAME, SPACE, uid=found["metadata"]["uid"])
        until(lambda: not list(self._pods()), 60)
        self.client.close()
        self._folder.cleanup()

    # --- looking ---

    def nodes(self) -> set[str]:
        """That its pods are on."""
        return {pod["spec"].get("nodeName", "") for pod in self._pods()}

    def leads(self) -> bool:
        return any(self._leads(one) for one in self._all())

    def _all(self) -> list[_Running]:
        return list(self._running.values())

    def _leads(self, one: _Running) -> bool:
        return one.operator.leader.leading

    def _pods(self) -> Iterable[Json]:
        selector = ",".join(f"{key}={value}" for key, value in inside.LABELS.items())
        return self.client.list(kinds.POD, SPACE, label_selector=selector)

    # --- the thread ---

    def _run(self) -> None:
        while not self._ending.wait(_LOOK):
            try:
                self._turn()
                self.seen |= set(self.look())
            except NotFound:
                pass  # what was listed may be gone when it is read
            except Exception as error:  # told by the test: a thread has nobody to raise it to
                self.errors.append(error)
                return

    def _turn(self) -> None:
        pods = {pod["metadata"]["uid"]: pod for pod in self._pods()}
        for uid, pod in pods.items():
            if uid not in self._running and self._starts(pod):
                self._running[uid] = self._start(pod)
        for uid, one in list(self._running.items()):
            if uid not in pods or pods[uid]["metadata"].get("deletionTimestamp"):
                self._stop(uid, one)

    def _starts(self, pod: Json) -> bool:
        runs = pod.get("status", {}).get("phase") == "Running" and not pod["metadata"].get(
            "deletionTimestamp"
        )
        return runs and self.without_image is not None and pod["spec"]["nodeName"] not in self.without_image

    def _start(self, pod: Json) -> _Running:
        folder = Path(self._folder.name) / pod["metadata"]["name"]
        made = Operator(
            load(with_token(self._cluster.kubeconfig, folder, self._token(pod))),
            self._parts,
            Settings(names=install.names(SPACE), listen=("127.0.0.1", 0), lease=LEASE),
        )
        thread = threading.Thread(target=made.run, daemon=True)
        thread.start()
        return _Running(made, thread, pod)

    def _stop(self, uid: str, one: _Running) -> None:
        holder = self.client.get(kinds.LEASE, inside.NAME, SPACE)["spec"].get("holderIdentity", "")
        nodes = self.client.list(kinds.NODE)
        versions = {node["metadata"]["name"]: node["status"]["nodeInfo"]["kubeletVersion"] for node in nodes}
        name, node = one.pod["metadata"]["name"], one.pod["spec"]["nodeName"]
        self.left.append(Left(name, node, holder == one.operator.leader.identity, versions))
        del self._running[uid]
        one.operator.stop("SIGTERM")

    def _token(self, pod: Json) -> str:
        about = pod["metadata"]
        bound = {"apiVersion": "v1", "kind": "Pod", "name": about["name"], "uid": about["uid"]}
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": 3600, "boundObjectRef": bound},
        }
        path = kinds.SERVICE_ACCOUNT.path(SPACE, install.ACCOUNT, "token")
        answer = self.client.raw("POST", path, body=msgspec.json.encode(request))
        return str(msgspec.json.decode(answer)["status"]["token"])
