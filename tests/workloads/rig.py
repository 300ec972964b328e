"""A real cluster with the operator on it: nodes of two versions, workloads, and eyes on what happens."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from shiplift.api.marks import MANAGED_BY, MANAGER
from shiplift.api.placements import PLACEMENT
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.kube.errors import AlreadyExists, NotFound
from shiplift.local.cluster import Cluster
from shiplift.local.nodes import SERVICE_ACCOUNT, Pool
from shiplift.operator.layers import LAYERS
from shiplift.workloads.admission import effective_generation
from shiplift.workloads.names import MIGRATION
from tests.operated import NEW, Operated
from tests.until import until

Json = dict[str, Any]


class Rig(Operated):
    """The cluster, and at most one operator at a time."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster, LAYERS.values(), templates=True)


class Scene:
    """One test's nodes and namespaces; everything of it goes when it ends."""

    def __init__(self, rig: Rig) -> None:
        self.rig, self.client = rig, rig.client
        self.name = uuid.uuid4().hex[:6]
        self._spaces: list[str] = []
        self._pools: list[Pool] = []

    # --- building ---

    def nodes(self, name: str, version: str, count: int = 3, **more: Any) -> Pool:
        pool = Pool(name=f"{name}-{self.name}", count=count, version=version, **more)
        self._pools.append(pool)
        self.rig.cluster.nodes.add(pool)
        self.rig.cluster.nodes.wait_schedulable(pool)
        return pool

    def namespace(self, name: str = "shop") -> str:
        full = f"{name}-{self.name}"
        self._spaces.append(full)
        self.client.create(kinds.NAMESPACE, {"metadata": {"name": full}})
        with contextlib.suppress(AlreadyExists):
            self.client.create(SERVICE_ACCOUNT, {"metadata": {"name": "default"}}, full)
        return full

    def workload(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        replicas: int = 2,
        *,
        annotations: dict[str, str] | None = None,
        spec: Json | None = None,
        pod: Json | None = None,
        pod_annotations: dict[str, str] | None = None,
    ) -> Json:
        labels = {"app": name}
        body: Json = {
            "metadata": {"name": name, "annotations": annotations or {}},
            "spec": {
                "selector": {"matchLabels": labels},
                "replicas": replicas,
                "template": {
                    "metadata": {"labels": labels, "annotations": pod_annotations or {}},
                    "spec": {
                        "terminationGracePeriodSeconds": 1,
                        "containers": [
                            {"name": "main", "image": "none", "resources": {"requests": {"cpu": "100m"}}}
                        ],
                        **(pod or {}),
                    },
                },
                **({"serviceName": name} if kind == kinds.STATEFUL_SET else {}),
                **(spec or {}),
            },
        }
        return self.client.create(kind, body, namespace).object

    def deployment(self, namespace: str, name: str, replicas: int = 2, **more: Any) -> Json:
        return self.workload(kinds.DEPLOYMENT, namespace, name, replicas, **more)

    def stateful_set(self, namespace: str, name: str, replicas: int = 2, **more: Any) -> Json:
        return self.workload(kinds.STATEFUL_SET, namespace, name, replicas, **more)

    def budget(self, namespace: str, name: str, app: str | dict[str, Any], **limits: Any) -> Json:
        selector = {"matchLabels": {"app": app}} if isinstance(app, str) else app
        body = {"metadata": {"name": name}, "spec": {"selector": selector, **limits}}
        return self.client.create(kinds.POD_DISRUPTION_BUDGET, body, namespace).object

    def order(self, namespace: str, **depends_on: Iterable[str]) -> Json:
        """`order(ns, web=["api"])`; names are `sts/db`, `deploy/api` or just `api` (a Deployment)."""
        body = {"metadata": {"name": "order"}, "spec": {"workloads": _ordered(depends_on)}}
        return self.client.create(kinds.WORKLOAD_ORDER, body, namespace).object

    def reorder(self, namespace: str, **depends_on: Iterable[str]) -> None:
        """The order of that namespace becomes another, in one write."""
        self.change(kinds.WORKLOAD_ORDER, namespace, "order", {"spec": {"workloads": _ordered(depends_on)}})

    def change(self, kind: Kind, namespace: str, name: str, patch: Json) -> Json:
        """A merge patch, as a user would."""
        uid = self.client.get(kind, name, namespace)["metadata"]["uid"]
        return self.client.patch(kind, name, patch, namespace, uid=uid).object

    def gate(self, namespace: str, name: str = "gate") -> None:
        """A workload that fits on no new node: what depends on it is held until the gate is opened."""
        self._open_nodes()
        self.deployment(namespace, name, 1, pod={"nodeSelector": {"gate": "open"}})
        self.wait_ready(namespace, **{name: 1})

    def open_gate(self) -> None:
        self._open_nodes()

    def _open_nodes(self) -> None:
        for node in self.client.list(kinds.NODE):
            self.change(kinds.NODE, "", node["metadata"]["name"], {"metadata": {"labels": {"gate": "open"}}})

    def wait_held(self, namespace: str, name: str = "web") -> None:
        """Until it is held, the API server goes by that, and the gate was found shut."""
        until(lambda: self.line("gate").get("reason") == "NoSlot", 60)
        until(lambda: self.line(name).get("reason") == "WaitsForDependency", 60)
        if self.status()["mode"] == "Inject":
            until(lambda: self.in_force(namespace))

    def drop(self, kind: Kind, name: str, namespace: str = "") -> None:
        uid = self.client.get(kind, name, namespace)["metadata"]["uid"]
        self.client.delete(kind, name, namespace, uid=uid)

    def migrate(self, **spec: Any) -> Json:
        body = {"metadata": {"name": MIGRATION}, "spec": {"waitForNodes": {"settle": "0s"}} | spec}
        return self.client.create(kinds.WORKLOAD_MIGRATION, body).object

    def begin(self, **spec: Any) -> None:
        """Target nodes are there, and an operator moves everything to them."""
        self.nodes("new", NEW)
        self.migrate(**spec)
        self.rig.start()

    def change_migration(self, **spec: Any) -> None:
        uid = self.migration()["metadata"]["uid"]
        self.client.patch(kinds.WORKLOAD_MIGRATION, MIGRATION, {"spec": spec}, uid=uid)

    # --- looking ---

    def migration(self) -> Json:
        return self.client.get(kinds.WORKLOAD_MIGRATION, MIGRATION)

    def status(self) -> Json:
        return self.migration().get("status") or {}

    def line(self, name: str) -> Json:
        found = [one for one in self.status().get("workloads", []) if one["name"] == name]
        return found[0] if found else {}

    def pods(self, namespace: str, app: str = "") -> list[Json]:
        selector = f"app={app}" if app else ""
        return list(self.client.list(kinds.POD, namespace, label_selector=selector))

    def places(self, namespace: str, app: str) -> list[str]:
        """The pools on which the pods of a workload run, once each pod."""
        return sorted(_pool(one["spec"].get("nodeName", "")) for one in self.pods(namespace, app))

    def wait_ready(self, namespace: str, **apps: int) -> None:
        for app, count in apps.items():
            until(lambda app=app, count=count: self._ready(namespace, app) == count, 40)

    def _ready(self, namespace: str, app: str) -> int:
        return sum(is_ready(one) for one in self.pods(namespace, app))

    def arrived(self, namespace: str, *apps: str) -> bool:
        """All pods of these are Ready and on new nodes."""
        return all(
            pods and all(is_ready(one) and _pool(one["spec"].get("nodeName", "")) == "new" for one in pods)
            for pods in (self.pods(namespace, app) for app in apps)
        )

    def rolled_out(self, namespace: str, name: str) -> bool:
        """All pods of a Deployment are of its template as it is, available, and the only ones."""
        found = self.client.get(kinds.DEPLOYMENT, name, namespace)
        status, replicas = found["status"], found["spec"]["replicas"]
        seen = status.get("observedGeneration") == found["metadata"]["generation"]
        counts = [status.get(key) for key in ("replicas", "updatedReplicas", "availableReplicas")]
        alive = [is_ready(one) for one in self.pods(namespace, name)]
        return seen and counts == [replicas] * 3 and alive == [True] * replicas

    def in_force(self, namespace: str) -> bool:
        """Whether the API server goes by the placement of that namespace as it stands."""
        found = list(self.client.list(kinds.WORKLOAD_PLACEMENT, namespace))
        if not found:
            return False
        meta, nothing = found[0]["metadata"], {"metadata": {"labels": {MANAGED_BY: MANAGER}}}
        asked = self.client.patch(
            kinds.WORKLOAD_PLACEMENT, PLACEMENT, nothing, namespace, uid=meta["uid"], dry_run=True
        )
        return effective_generation(asked.object) >= meta["generation"]

    def condition(self, kind: str) -> Json:
        """The condition of that type while it is true."""
        found = [one for one in self.status().get("conditions", []) if one["type"] == kind]
        return found[0] if found and found[0]["status"] == "True" else {}

    def wait(self, what: Callable[[], Any], seconds: float = 60) -> Any:
        return until(what, seconds)

    def wait_state(self, state: str, seconds: float = 60) -> Json:
        return until(lambda: self.status() if self.status().get("state") == state else None, seconds)

    def wait_clean(self, seconds: float = 60) -> None:
        """Until nothing of ours is left."""
        until(lambda: not self.residue(), seconds)

    def residue(self) -> list[str]:
        """Everything of ours that is in the cluster, in words."""
        found = [
            f"placement in {one['metadata']['namespace']}"
            for one in self.client.list(kinds.WORKLOAD_PLACEMENT)
            if one["spec"].get("turns") or not all(map(is_inert, one["spec"].get("ledger", {}).values()))
        ]
        for one in self.client.list(kinds.POD_DISRUPTION_BUDGET):
            ours = one["metadata"].get("labels", {}).get("app.kubernetes.io/managed-by") == "shiplift"
            marks = [key for key in one["metadata"].get("annotations", {}) if "shiplift.dev/" in key]
            found += [f"budget {one['metadata']['name']}"] if ours or marks else []
        for node in self.client.list(kinds.NODE):
            marks = [key for key in node["metadata"]["labels"] if key.startswith("shiplift.dev/")]
            marks += [
                one["key"] for one in node["spec"].get("taints", []) if one["key"].startswith("shiplift.dev/")
            ]
            found += [f"{', '.join(marks)} on node {node['metadata']['name']}"] if marks else []
        return found

    def remove(self, pool: Pool) -> None:
        self.rig.cluster.nodes.remove(*pool.names())

    def cordon(self, *names: str, cordoned: bool = True) -> None:
        for name in names:
            uid = self.client.get(kinds.NODE, name)["metadata"]["uid"]
            self.client.patch(kinds.NODE, name, {"spec": {"unschedulable": cordoned}}, uid=uid)

    def finish(self, old: Pool) -> None:
        """Wait until all have arrived, take the old nodes away as a cloud would, and wait for the end."""
        until(self._all_arrived, 90)
        self.remove(old)
        self.wait_state("NoUpgrade")
        self.wait_clean()

    def _all_arrived(self) -> bool:
        progress = self.status().get("progress", {})
        return bool(progress) and progress.get("done", 0) == progress.get("total", 0) > 0

    def _end_migration(self) -> None:
        """With its finalizer: no operator runs any more."""
        with contextlib.suppress(NotFound):
            uid = self.migration()["metadata"]["uid"]
            free = {"metadata": {"finalizers": None}}
            self.client.patch(kinds.WORKLOAD_MIGRATION, MIGRATION, free, uid=uid)
            self.client.delete(kinds.WORKLOAD_MIGRATION, MIGRATION, uid=uid)

    def _drop_for_good(self, kind: Kind, about: Json) -> None:
        """With its finalizer: no operator runs any more."""
        name, space, uid = about["name"], about["namespace"], about["uid"]
        with contextlib.suppress(NotFound):
            if about.get("finalizers"):
                self.client.patch(kind, name, {"metadata": {"finalizers": None}}, space, uid=uid)
            self.client.delete(kind, name, space, uid=uid)

    def close(self) -> None:
        self.rig.stop()
        self._end_migration()
        for kind in (kinds.WORKLOAD_PLACEMENT, kinds.WORKLOAD_ORDER):
            for one in self.client.list(kind):
                self._drop_for_good(kind, one["metadata"])
        for space in self._spaces:
            with contextlib.suppress(NotFound):
                uid = self.client.get(kinds.NAMESPACE, space)["metadata"]["uid"]
                self.client.delete(kinds.NAMESPACE, space, uid=uid)
        left = {node["metadata"]["name"]: node["metadata"]["uid"] for node in self.client.list(kinds.NODE)}
        for name in (name for pool in self._pools for name in pool.names() if name in left):
            self.client.delete(kinds.NODE, name, uid=left[name])


def is_inert(record: str) -> bool:
    """A toleration that is left on purpose until the owner's next rollout, and nothing else."""
    read = json.loads(record)
    return "inert" in read and "surge" not in read


def _ordered(depends_on: Mapping[str, Iterable[str]]) -> list[Json]:
    return [{**_ref(name), "dependsOn": [_ref(one) for one in others]} for name, others in depends_on.items()]


def _ref(name: str) -> Json:
    kind, _, rest = name.rpartition("/")
    return {"kind": "StatefulSet" if kind == "sts" else "Deployment", "name": rest.replace("_", "-")}


def _pool(node: str) -> str:
    return node.partition("-")[0]


def is_ready(pod: Json) -> bool:
    conditions = pod.get("status", {}).get("conditions", [])
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
    return ready and "deletionTimestamp" not in pod["metadata"]


@contextlib.contextmanager
def scene(rig: Rig) -> Iterator[Scene]:
    made = Scene(rig)
    try:
        yield made
    finally:
        made.close()
