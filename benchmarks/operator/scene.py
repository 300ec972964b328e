"""A few nodes and workloads beside the recipe's: enough for a migration and a rollout that a budget holds up.

Nothing but the API server is there, so what controllers and kubelets would have written is written here. Each
workload has a pod that finds no node: its budget has nothing to give, and will not have.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from benchmarks.loader import Loader
from benchmarks.recipe.base import Json, image
from benchmarks.rollout.plan import NEW_VERSION, OLD_VERSION
from shiplift.local.nodes import Pool

MIGRATION, ROLLOUT = "cluster", "benchmark"
MOVING, ROLLING = "moving", "rolling"
"""The namespaces of what the migration moves and of what runs on nodes of the rollout; nodes have the same
word as label."""
_TAKES_PART = "benchmark.example.com/for"
_NODES, _WORKLOADS, _REPLICAS = 20, 20, 10
_MANAGER = "kube-controller-manager"


def build(loader: Loader) -> None:
    """All of it but the objects that ask for something."""
    for node in nodes():
        _write_node(loader, node)
    for space, pool in ((MOVING, "moving-old"), (ROLLING, ROLLING)):
        loader.create("/api/v1/namespaces", {"metadata": {"name": space}})
        account = {"metadata": {"name": "default"}}
        loader.create(f"/api/v1/namespaces/{space}/serviceaccounts", account)
        for number in range(_WORKLOADS):
            _Writer(loader, space, f"{space}-{number}").write(Pool(pool, _NODES).names(), number)


def nodes() -> Iterator[Json]:
    """Those of the rollout, those that the migration leaves, and those that it fills."""
    for name, what, version in (
        (ROLLING, ROLLING, OLD_VERSION),
        ("moving-old", MOVING, OLD_VERSION),
        ("moving-new", MOVING, NEW_VERSION),
    ):
        yield from Pool(name, _NODES, version, labels={_TAKES_PART: what}).manifests()


def migration() -> Json:
    return {
        "metadata": {"name": MIGRATION},
        "spec": {
            "target": NEW_VERSION,
            "nodeSelector": {"matchLabels": {_TAKES_PART: MOVING}},
            "excludeNamespaces": [ROLLING],
            "waitForNodes": {"settle": "0s"},
        },
    }


def rollout() -> Json:
    return {
        "metadata": {"name": ROLLOUT},
        "spec": {
            "version": NEW_VERSION,
            "nodeSelector": {"matchLabels": {_TAKES_PART: ROLLING}},
            "maxUnavailable": _NODES // 2,
        },
    }


def _write_node(loader: Loader, node: Json) -> None:
    name = node["metadata"]["name"]
    loader.create("/api/v1/nodes", node, "kubelet")
    # the API server taints every new node, and nobody is here to see that it is Ready
    loader.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": None}}, _MANAGER)
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    status = {**node["status"], "conditions": [ready]}
    loader.patch(f"/api/v1/nodes/{name}/status", {"status": status}, "kubelet")


class _Writer(msgspec.Struct, frozen=True):
    """Writes one workload: Deployment, ReplicaSet, pods and budget."""

    loader: Loader
    space: str
    name: str

    def write(self, places: list[str], first: int) -> None:
        deployment = self._create("apps/v1", "Deployment", self._owning(None))
        about = self._create("apps/v1", "ReplicaSet", self._owning(deployment))
        for number in range(_REPLICAS - 1):
            self._pod(about, number, places[(first + number) % len(places)])
        self._pod(about, _REPLICAS - 1, "")
        self._budget()

    def _path(self, group: str, plural: str) -> str:
        root = f"/apis/{group}" if "/" in group else f"/api/{group}"
        return f"{root}/namespaces/{self.space}/{plural}"

    def _create(self, group: str, kind: str, body: Json) -> Json:
        """The reference by which what it owns names it."""
        path = self._path(group, f"{kind.lower()}s")
        made = self.loader.create(path, {"apiVersion": group, "kind": kind, **body}, _MANAGER)
        counts = {"replicas": _REPLICAS, "readyReplicas": _REPLICAS - 1, "observedGeneration": 1}
        self.loader.patch(f"{path}/{self.name}/status", {"status": counts}, _MANAGER)
        uid = made["metadata"]["uid"]
        return {"apiVersion": group, "kind": kind, "name": self.name, "uid": uid, "controller": True}

    def _owning(self, owner: Json | None) -> Json:
        return {
            "metadata": {"name": self.name, **({"ownerReferences": [owner]} if owner else {})},
            "spec": {
                "replicas": _REPLICAS,
                "selector": {"matchLabels": {"app": self.name}},
                "template": {"metadata": {"labels": {"app": self.name}}, "spec": self._spec()},
            },
        }

    def _spec(self) -> Json:
        requests = {"cpu": "100m", "memory": "64Mi"}
        container = {"name": "main", "image": image(self.name, "1.0.0"), "resources": {"requests": requests}}
        return {"containers": [container], "automountServiceAccountToken": False}

    def _pod(self, owner: Json, number: int, node: str) -> None:
        path, name = self._path("v1", "pods"), f"{self.name}-{number}"
        about = {"name": name, "labels": {"app": self.name}, "ownerReferences": [owner]}
        spec = {**self._spec(), **({"nodeName": node} if node else {})}
        self.loader.create(path, {"metadata": about, "spec": spec}, _MANAGER)
        if node:
            ready = {"type": "Ready", "status": "True"}
            status = {"phase": "Running", "conditions": [ready]}
            self.loader.patch(f"{path}/{name}/status", {"status": status}, "kubelet")

    def _budget(self) -> None:
        path = self._path("policy/v1", "poddisruptionbudgets")
        spec = {"selector": {"matchLabels": {"app": self.name}}, "maxUnavailable": 1}
        self.loader.create(path, {"metadata": {"name": self.name}, "spec": spec}, _MANAGER)
        healthy = _REPLICAS - 1
        status = {
            "observedGeneration": 1,
            "expectedPods": _REPLICAS,
            "desiredHealthy": healthy,
            "currentHealthy": healthy,
            "disruptionsAllowed": 0,
        }
        self.loader.patch(f"{path}/{self.name}/status", {"status": status}, _MANAGER)
