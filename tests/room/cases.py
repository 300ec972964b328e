"""Nodes and pods made by hand, as small as a question about room needs them."""

from __future__ import annotations

from shiplift.facts.cluster import Namespace
from shiplift.facts.meta import NO_LABELS, Labels
from shiplift.facts.nodes import Node, Taint
from shiplift.facts.pods import Pod, PodSpec
from shiplift.facts.quantities import Resources
from shiplift.facts.selectors import NodeTerm
from shiplift.facts.storage import PersistentVolume, PersistentVolumeClaim

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
OLD, NEW = "v1.35.0", "v1.36.0"


def meta(name: str, namespace: str = "", labels: Labels = NO_LABELS) -> dict[str, object]:
    return {
        "namespace": namespace,
        "name": name,
        "uid": f"{namespace}/{name}",
        "resource_version": 1,
        "generation": 0,
        "created": 0,
        "deleting": 0,
        "labels": labels,
        "annotations": NO_LABELS,
        "owners": (),
        "finalizers": (),
    }


def a_node(
    name: str,
    *,
    zone: str = "",
    labels: dict[str, str] | None = None,
    version: str = NEW,
    cpu: int = 1000,
    pods: int = 10,
    extended: tuple[tuple[str, int], ...] = (),
    taints: tuple[Taint, ...] = (),
    unschedulable: bool = False,
    ready: bool = True,
) -> Node:
    zones = {ZONE: zone} if zone else {}
    amount = Resources(cpu=cpu, memory=1 << 30, storage=1 << 30, pods=pods, extended=extended)
    return Node(
        **meta(name, labels=Labels({HOST: name, **zones, **(labels or {})})),
        kubelet_version=version,
        unschedulable=unschedulable,
        taints=taints,
        ready=ready,
        conditions=(),
        allocatable=amount,
        capacity=amount,
        addresses=(),
        provider_id="",
        machine_id="",
        boot_id="",
        os_image="",
        kernel_version="",
        container_runtime="",
        operating_system="",
        architecture="",
        volumes_in_use=(),
        volumes_attached=(),
    )


def a_pod(
    name: str,
    *,
    namespace: str = "shop",
    labels: Labels = NO_LABELS,
    spec: PodSpec | None = None,
    node: str = "",
    phase: str = "Running",
    deleting: int = 0,
    nominated: str = "",
) -> Pod:
    return Pod(
        **{**meta(name, namespace, labels), "deleting": deleting},
        node=node,
        spec=spec if spec is not None else PodSpec(requests=Resources(cpu=100, pods=1)),
        phase=phase,
        ready=True,
        ready_since=0,
        unschedulable="",
        disruption="",
        reason="",
        ip="",
        nominated_node=nominated,
        started=0,
        restarts=0,
        waiting="",
        image_ids=(),
    )


def a_namespace(name: str, labels: dict[str, str]) -> Namespace:
    return Namespace(**meta(name, labels=Labels(labels)), phase="Active")


def a_claim(name: str, volume: str = "") -> PersistentVolumeClaim:
    return PersistentVolumeClaim(
        **meta(name, "shop"),
        phase="Bound" if volume else "Pending",
        volume=volume,
        storage_class="",
        access_modes=(),
        requested=1,
    )


def a_volume(
    name: str,
    terms: tuple[NodeTerm, ...] | None = None,
    *,
    local: bool = False,
    labels: dict[str, str] | None = None,
) -> PersistentVolume:
    return PersistentVolume(
        **meta(name, labels=Labels(labels or {})),
        phase="Bound",
        storage_class="",
        capacity=1,
        access_modes=(),
        reclaim_policy="",
        claim_namespace="shop",
        claim_name="",
        claim_uid="",
        node_terms=terms,
        local=local,
        driver="",
        handle="",
    )
