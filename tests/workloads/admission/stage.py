"""Help for tests: a cluster with our CRDs and policies, nodes of two versions, and pods by dry run."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from shiplift.api import crd
from shiplift.api.marks import OFF_TARGET_LABEL, TARGET_LABEL
from shiplift.api.placements import PLACEMENT
from shiplift.facts.kinds import (
    CUSTOM_RESOURCE_DEFINITION,
    MUTATING_ADMISSION_POLICY,
    MUTATING_ADMISSION_POLICY_BINDING,
    NAMESPACE,
    NODE,
    POD,
    WORKLOAD_MIGRATION,
    WORKLOAD_PLACEMENT,
)
from shiplift.kube.client import Client
from shiplift.kube.errors import AlreadyExists, NotFound, ServerError
from shiplift.local.cluster import Cluster
from shiplift.local.nodes import SERVICE_ACCOUNT, Pool
from shiplift.workloads import admission
from shiplift.workloads.names import MIGRATION
from tests.api.api_server import wait_established
from tests.until import until

Json = dict[str, Any]
TARGET = "v1.36.3"
OTHER = "v1.35.4"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
OLD = Pool("old", 2, OTHER, labels={OFF_TARGET_LABEL: TARGET})
NEW = Pool("new", 2, TARGET, labels={TARGET_LABEL: TARGET})
POLICY_KINDS = {kind.kind: kind for kind in (MUTATING_ADMISSION_POLICY, MUTATING_ADMISSION_POLICY_BINDING)}


class Stage:
    """A cluster whose API server goes by our policies."""

    def __init__(self, cluster: Cluster, client: Client) -> None:
        self.cluster, self.client = cluster, client

    def install(self, only: Callable[[Json], bool] = lambda _: True) -> None:
        for manifest in filter(only, admission.manifests()):
            self.client.create(POLICY_KINDS[manifest["kind"]], manifest)

    def remove(self, only: Callable[[Json], bool] = lambda _: True) -> None:
        for manifest in filter(only, admission.manifests()):
            kind, name = POLICY_KINDS[manifest["kind"]], manifest["metadata"]["name"]
            self.client.delete(kind, name, uid=self.client.get(kind, name)["metadata"]["uid"])

    def prepare(self) -> None:
        """All that an administrator installs, in force."""
        for manifest in crd.manifests():
            self.client.create(CUSTOM_RESOURCE_DEFINITION, manifest)
        wait_established(self.client)
        self.install()
        namespace = self.namespace()
        self.place(namespace, {})
        # a mapping of kinds that misses a new one is made anew only every half minute
        until(lambda: self.effective(namespace), seconds=90)

    def namespace(self) -> str:
        name = f"shop-{uuid.uuid4().hex[:8]}"
        self.client.create(NAMESPACE, {"metadata": {"name": name}})
        with contextlib.suppress(AlreadyExists):
            self.client.create(SERVICE_ACCOUNT, {"metadata": {"name": "default"}}, name)
        return name

    def place(self, namespace: str, turns: Mapping[str, str], target: str = TARGET) -> Json:
        """A new WorkloadPlacement, in force if the API server goes by any."""
        spec = {"target": target, "turns": dict(turns)}
        body = {"metadata": {"name": PLACEMENT}, "spec": spec}
        return self.client.create(WORKLOAD_PLACEMENT, body, namespace).object

    def effective(self, namespace: str) -> int:
        uid = self.client.get(WORKLOAD_PLACEMENT, PLACEMENT, namespace)["metadata"]["uid"]
        try:
            answer = self.client.patch(
                WORKLOAD_PLACEMENT, PLACEMENT, admission.ASK, namespace, uid=uid, dry_run=True
            )
        except ServerError:  # the kind is too new for the API server's own view of kinds
            return 0
        return admission.effective_generation(answer.object)

    def placed(self, turns: Mapping[str, str], target: str = TARGET) -> str:
        """A namespace whose WorkloadPlacement is in force."""
        namespace = self.namespace()
        generation = self.place(namespace, turns, target)["metadata"]["generation"]
        until(lambda: self.effective(namespace) == generation)
        return namespace

    def admitted(self, namespace: str, pod: Json) -> Json:
        """The pod as it would be stored."""
        return self.client.create(POD, pod, namespace, dry_run=True).object

    def affinity(self, namespace: str, pod: Json) -> Json | None:
        return self.admitted(namespace, pod)["spec"].get("affinity")

    def born(self, node: Json) -> Json:
        """The node as it would be stored."""
        return self.client.create(NODE, node, dry_run=True).object

    def migrate(self, spec: Json, status: Json) -> None:
        """A new WorkloadMigration; it is in force a moment later."""
        with contextlib.suppress(NotFound):
            uid = self.client.get(WORKLOAD_MIGRATION, MIGRATION)["metadata"]["uid"]
            self.client.delete(WORKLOAD_MIGRATION, MIGRATION, uid=uid)
        body = {"metadata": {"name": MIGRATION}, "spec": spec}
        made = self.client.create(WORKLOAD_MIGRATION, body).object
        self.client.update(WORKLOAD_MIGRATION, made | {"status": status}, "status")


def pod(owner: Json | None = None, labels: Mapping[str, str] | None = None, **spec: Any) -> Json:
    """A pod as a controller would create it; no scheduler looks at it."""
    meta: Json = {"name": "pod"} | ({"labels": dict(labels)} if labels is not None else {})
    meta |= {"ownerReferences": [owner]} if owner else {}
    main = {"name": "main", "image": "none"}
    return {"metadata": meta, "spec": {"schedulerName": "nobody", "containers": [main], **spec}}


def owner(kind: str, name: str, group: str = "apps/v1", controller: bool | None = True) -> Json:
    said = {} if controller is None else {"controller": controller}
    return {"apiVersion": group, "kind": kind, "name": name, "uid": "u-1", **said}


def pod_of(deployment: str, digest: str = "7d9f", **spec: Any) -> Json:
    """A pod of a Deployment's ReplicaSet."""
    return pod(owner("ReplicaSet", f"{deployment}-{digest}"), {"pod-template-hash": digest}, **spec)


def rule(label: str, target: str = TARGET) -> Json:
    return {"key": label, "operator": "NotIn", "values": [target]}


def requiring(*terms: Json) -> Json:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def terms(affinity: Json | None) -> list[Json]:
    return (affinity or {})["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]


HELD, RELEASED = rule(TARGET_LABEL), rule(OFF_TARGET_LABEL)
LISTED = {"Deployment.web": "Held", "Deployment.api": "Released", "StatefulSet.db": "Held"}


def is_binding(manifest: Json) -> bool:
    return manifest["kind"] == MUTATING_ADMISSION_POLICY_BINDING.kind
