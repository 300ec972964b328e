"""A real API server, as steps of this layer are taken on it."""

from __future__ import annotations

import uuid
from typing import Any, Self

from shiplift.api import crd
from shiplift.engine import contested
from shiplift.engine.step import Outcome, Step
from shiplift.facts.kinds import CONFIG_MAP, NAMESPACE, NODE, NODE_ROLLOUT, POD, SERVICE_ACCOUNT
from shiplift.kube.claims import ClaimBook
from shiplift.kube.errors import NotFound
from shiplift.kube.manifests import kind_of
from shiplift.local.cluster import Cluster
from shiplift.nodes.act.actor import Actor
from shiplift.nodes.act.control_plane import ControlPlane
from shiplift.nodes.memory import Jobs, Leases, Memory
from shiplift.nodes.names import CLAIMS
from tests.until import until

Json = dict[str, Any]
SPACE = "ops"


class Server:
    """Objects are made by an administrator, steps taken by an actor of epoch 5."""

    def __init__(self, cluster: Cluster) -> None:
        self.client = cluster.client()
        self.memory = Memory(Leases(), Jobs(), contested.Memory())
        self.desired: dict[str, list[str]] = {}
        """What the observer would say of nodes."""
        self.book = ClaimBook(self.client, CONFIG_MAP, CLAIMS, SPACE)
        self.told = 0
        self.actor = self.actor_of(5)

    def __enter__(self) -> Self:
        manifest = crd.manifest(NODE_ROLLOUT)
        self.client.create(kind_of(manifest), manifest)
        until(self._served)
        self.client.create(NAMESPACE, {"metadata": {"name": SPACE}})
        self.client.create(SERVICE_ACCOUNT, {"metadata": {"name": "default"}}, SPACE)
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def _served(self) -> bool:
        try:
            list(self.client.list(NODE_ROLLOUT))
        except NotFound:
            return False
        return True

    def actor_of(self, epoch: int) -> Actor:
        plane = ControlPlane(self.book, epoch, self._changed)
        return Actor(self.client, plane, lambda name: self.desired.get(name, ()), self.memory)

    def _changed(self) -> None:
        self.told += 1

    def act(self, step: Step) -> Outcome:
        return self.actor.act(step)

    def node(self, annotations: Json | None = None, **spec: Any) -> Json:
        """A new node."""
        about = {"name": f"n{uuid.uuid4().hex[:8]}", "annotations": annotations or {}}
        return self.client.create(NODE, {"metadata": about, "spec": spec}).object

    def pod(self, name: str = "", **given: Any) -> Json:
        """A pod that is Ready on some node: one that is not would go whatever budgets say."""
        body = {
            "metadata": {"name": name or f"p{uuid.uuid4().hex[:8]}", **given},
            "spec": {
                "nodeName": "somewhere",
                "containers": [{"name": "main", "image": "none"}],
                "automountServiceAccountToken": False,
            },
        }
        about = self.client.create(POD, body, SPACE).object["metadata"]
        ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        return self.client.patch(
            POD, about["name"], {"status": ready}, SPACE, uid=about["uid"], subresource="status"
        ).object

    def rollout(self, **spec: Any) -> Json:
        body = {
            "metadata": {"name": f"r{uuid.uuid4().hex[:8]}"},
            "spec": {"version": "v1.36.3", **spec},
        }
        return self.client.create(NODE_ROLLOUT, body).object

    def live_node(self, node: Json) -> Json:
        return self.client.get(NODE, node["metadata"]["name"])

    def annotate(self, node: Json, annotations: Json) -> Json:
        """As somebody else does."""
        about = node["metadata"]
        patch = {"metadata": {"annotations": annotations}}
        return self.client.patch(NODE, about["name"], patch, uid=about["uid"]).object
