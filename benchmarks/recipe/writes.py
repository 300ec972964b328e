"""Who writes what, in the order of a real cluster: each object by its own field managers."""

from __future__ import annotations

from benchmarks.loader import Loader
from benchmarks.recipe.base import NAMESPACES, namespace
from benchmarks.recipe.nodes import Node
from benchmarks.recipe.pods import AGENTS, BATCH, CRITICAL, SYSTEM, Health, Pod
from benchmarks.recipe.status import status_of

_PRIORITY_CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


def prepare(loader: Loader) -> None:
    """What admission looks for: namespaces, service accounts, priority classes."""
    for name, value in ((CRITICAL, 1_000_000), (BATCH, -100)):
        loader.create(_PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})
    for number in range(NAMESPACES):
        loader.create("/api/v1/namespaces", {"metadata": {"name": namespace(number)}})
        _accounts(loader, namespace(number), "default")
    _accounts(loader, SYSTEM, *(name for name, _ in AGENTS))


def _accounts(loader: Loader, team: str, *names: str) -> None:
    """Service accounts, and the bundle that their projected token volumes refer to."""
    for name in names:
        loader.create(f"/api/v1/namespaces/{team}/serviceaccounts", {"metadata": {"name": name}})
    bundle = {"metadata": {"name": "kube-root-ca.crt"}, "data": {"ca.crt": "the benchmark's own"}}
    loader.create(f"/api/v1/namespaces/{team}/configmaps", bundle)


def write_node(loader: Loader, item: Node) -> None:
    path = f"/api/v1/nodes/{item.body['metadata']['name']}"
    loader.create("/api/v1/nodes", item.body, "kubelet")
    loader.patch(path, item.spec, "kube-controller-manager")
    loader.patch(f"{path}/status", item.status, "kubelet")


def write_pod(loader: Loader, item: Pod) -> None:
    metadata = item.body["metadata"]
    path = f"/api/v1/namespaces/{metadata['namespace']}/pods"
    loader.create(path, item.body)
    reporter = "kube-scheduler" if item.health is Health.PENDING else "kubelet"
    loader.patch(f"{path}/{metadata['name']}/status", {"status": status_of(item)}, reporter)
