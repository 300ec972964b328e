"""A real cluster with the operator and simulated agents on it: nodes, what runs on them, and a rollout."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from typing import Any, Self

from shiplift.agent.protocol import CHANGES_ALLOWED, desired_versions
from shiplift.api.marks import CORDONED_BY
from shiplift.facts import kinds
from shiplift.kube import grants
from shiplift.kube.errors import AlreadyExists, Conflict, NotFound
from shiplift.kube.manifests import kind_of
from shiplift.kube.part import LayerPart
from shiplift.local.agents import Agents, Pace, Timing
from shiplift.local.cluster import Cluster
from shiplift.local.nodes import SERVICE_ACCOUNT, Pool
from shiplift.nodes.controller import PART
from shiplift.operator import install
from tests.operated import NEW, OLD, SPACE, Operated
from tests.until import until

Json = dict[str, Any]
PACE = Pace(change=0.2, reboot=0.2)
RENEWED = Timing(heartbeat=60.0, lease=0.5)


class Rig(Operated):
    """The cluster, its simulated agents, and at most one operator at a time."""

    def __init__(self, cluster: Cluster, *parts: LayerPart) -> None:
        super().__init__(cluster, parts or (PART,))
        self._agents = Agents(cluster.credentials(), PACE, RENEWED)

    def __enter__(self) -> Self:
        self._agents.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._agents.__exit__(None, None, None)
        self.close()


class Scene:
    """One test's nodes, namespaces and rollouts; all of it goes when it ends."""

    def __init__(self, rig: Rig) -> None:
        self.rig, self.client = rig, rig.client
        self.name = uuid.uuid4().hex[:6]
        self._spaces: list[str] = []
        self._pools: list[Pool] = []

    # --- making ---

    def nodes(self, count: int = 3, pool: str = "n", version: str = OLD, **more: Any) -> list[str]:
        """Nodes that take pods, and whose agents have told what they have."""
        made = Pool(name=f"{pool}-{self.name}", count=count, version=version, **more)
        self._pools.append(made)
        self.rig.cluster.nodes.add(made)
        self.rig.cluster.nodes.wait_schedulable(made)
        for name in made.names():
            until(lambda name=name: "kubelet.shiplift.dev/current-version" in self.notes(name))
        return made.names()

    def replace(self, name: str) -> None:
        """Another machine, of the old version, under the same name."""
        pool = next(one for one in self._pools if name in one.names())
        self.rig.cluster.nodes.remove(name)
        self.rig.cluster.nodes.add(pool)
        until(lambda: "kubelet.shiplift.dev/current-version" in self.notes(name))

    def take_away(self, names: list[str]) -> None:
        """All nodes of a pool, for good."""
        self.rig.cluster.nodes.remove(*names)
        self._pools = [one for one in self._pools if one.names() != names]

    def namespace(self) -> str:
        name = f"shop-{uuid.uuid4().hex[:6]}"
        self._spaces.append(name)
        self.client.create(kinds.NAMESPACE, {"metadata": {"name": name}})
        with contextlib.suppress(AlreadyExists):
            self.client.create(SERVICE_ACCOUNT, {"metadata": {"name": "default"}}, name)
        return name

    def deployment(self, space: str, name: str, replicas: int = 2) -> None:
        """Its pods are Ready when this returns, on nodes of this test."""
        containers = [{"name": "main", "image": "none"}]
        pod = {
            "terminationGracePeriodSeconds": 1,
            "containers": containers,
            "nodeSelector": {"test": self.name},
        }
        labels = {"app": name}
        body = {
            "metadata": {"name": name},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        }
        for pool in self._pools:
            for node in pool.names():
                self.change(kinds.NODE, node, {"metadata": {"labels": {"test": self.name}}})
        self.client.create(kinds.DEPLOYMENT, body, space)
        until(lambda: self._available(space, name) == replicas, 30)

    def _available(self, space: str, name: str) -> int:
        return self.client.get(kinds.DEPLOYMENT, name, space)["status"].get("availableReplicas", 0)

    def budget(self, space: str, name: str, **limits: Any) -> None:
        spec = {"selector": {"matchLabels": {"app": name}}, **limits}
        self.client.create(kinds.POD_DISRUPTION_BUDGET, {"metadata": {"name": name}, "spec": spec}, space)

    def roll(self, name: str = "", **spec: Any) -> str:
        """A rollout over the nodes of this test."""
        pools = [pool.name for pool in self._pools]
        among = {"key": "local.shiplift.dev/pool", "operator": "In", "values": pools}
        selector = {"matchExpressions": [among]}
        wanted = {"version": NEW, "nodeSelector": selector} | spec
        made = name or f"r-{self.name}"
        self.client.create(kinds.NODE_ROLLOUT, {"metadata": {"name": made}, "spec": wanted})
        return made

    def grant_hooks(self, space: str) -> None:
        for manifest in grants.hooks(space, install.ACCOUNT, SPACE):
            self.client.create(kind_of(manifest), manifest)

    def change(self, kind: kinds.Kind, name: str, patch: Json, space: str = "") -> None:
        """A merge patch, as a user would."""
        uid = self.client.get(kind, name, space)["metadata"]["uid"]
        self.client.patch(kind, name, patch, space, uid=uid)

    # --- looking ---

    def status(self, rollout: str) -> Json:
        return self.client.get(kinds.NODE_ROLLOUT, rollout).get("status") or {}

    def phase(self, rollout: str, phase: str, seconds: float = 40) -> Json:
        """Waits for it."""
        try:
            return until(lambda: self._in_phase(rollout, phase), seconds)
        except AssertionError:
            raise AssertionError(f"not {phase}: {self.status(rollout)}") from None

    def _in_phase(self, rollout: str, phase: str) -> Json | None:
        status = self.status(rollout)
        return status if status.get("phase") == phase else None

    def record(self, rollout: str, node: str) -> Json:
        found = (one for one in self.status(rollout).get("nodes", []) if one["name"] == node)
        return next(found, {})

    def node(self, name: str) -> Json:
        return self.client.get(kinds.NODE, name)

    def notes(self, name: str) -> Json:
        return self.node(name)["metadata"].get("annotations") or {}

    def version(self, name: str) -> str:
        return self.node(name)["status"]["nodeInfo"]["kubeletVersion"]

    def cordoned(self, name: str) -> bool:
        return self.node(name)["spec"].get("unschedulable", False)

    def events(self, name: str) -> set[str]:
        """The reasons of what was told of an object."""
        return {
            one["reason"] for one in self.client.list(kinds.EVENT) if one["regarding"].get("name") == name
        }

    def residue(self) -> list[str]:
        """What of a rollout is on nodes of this test."""
        found: list[str] = []
        for name in (name for pool in self._pools for name in pool.names()):
            notes = self.notes(name)
            left = [key for key in (CHANGES_ALLOWED, CORDONED_BY) if key in notes]
            left += [f"desired {one}" for one in desired_versions(notes)]
            found += [f"{name}: {one}" for one in left] + [f"{name}: cordon"] * self.cordoned(name)
        return found

    def close(self) -> None:
        self.rig.stop()
        for one in self.client.list(kinds.NODE_ROLLOUT):
            self._end(one["metadata"]["name"])
        for space in self._spaces:
            uid = self.client.get(kinds.NAMESPACE, space)["metadata"]["uid"]
            self.client.delete(kinds.NAMESPACE, space, uid=uid)
        for pool in self._pools:
            self.rig.cluster.nodes.remove(*pool.names())

    def _end(self, rollout: str) -> None:
        """With its finalizer: no operator runs any more."""
        with contextlib.suppress(NotFound, Conflict):
            uid = self.client.get(kinds.NODE_ROLLOUT, rollout)["metadata"]["uid"]
            free = {"metadata": {"finalizers": None}}
            self.client.patch(kinds.NODE_ROLLOUT, rollout, free, uid=uid)
            self.client.delete(kinds.NODE_ROLLOUT, rollout, uid=uid)


@contextlib.contextmanager
def scene(rig: Rig) -> Iterator[Scene]:
    made = Scene(rig)
    try:
        yield made
    finally:
        made.close()
