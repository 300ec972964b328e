"""Fills a real API server with the recipe's cluster, and keeps its etcd folder for the next run.

Everything goes through the API server, so etcd holds what a production cluster's would. A filled
folder is kept under a name that says what is in it; it appears whole or not at all, and is never
served from: each run gets a copy.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from pathlib import Path

from benchmarks import recipe
from benchmarks.loader import Loader, each
from benchmarks.progress import say
from benchmarks.recipe.base import NAMESPACES, Json, namespace
from benchmarks.recipe.nodes import Node, node
from benchmarks.recipe.pods import AGENTS, BATCH, CRITICAL, SYSTEM, Health, Pod, pods
from benchmarks.recipe.status import status_of
from benchmarks.server import cache, copy_tree, defragment, endpoint, serving, size_of, workspace
from shiplift.local.components import Component

_PRIORITY_CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
DESCRIPTION = "make the filled etcd folder that the other benchmarks use"


def run(pod_count: int = 50_000, node_count: int = 2_000) -> Json:
    """Fill (unless it is done already) and say how large it became."""
    begin = time.monotonic()
    folder = filled(pod_count, node_count)
    took = time.monotonic() - begin
    return {"pods": pod_count, "nodes": node_count, "seconds": took, "bytes": size_of(folder)}


def filled(pod_count: int, node_count: int) -> Path:
    """The etcd folder with that many pods and nodes, from the cache or made now."""
    kept = cache() / f"etcd-{_version()}-{pod_count}-{node_count}"
    if kept.exists():
        return kept
    say(f"filling etcd with {pod_count} pods and {node_count} nodes; this is kept for the next time")
    with workspace() as folder:
        _fill(folder, pod_count, node_count)
        copy_tree(folder / "etcd", folder / "kept")
        _forget_older(pod_count, node_count)
        (folder / "kept").rename(kept)
    return kept


def _version() -> str:
    """Changes whenever the recipe or the way it is written does."""
    sources = sorted(Path(recipe.__file__).parent.glob("*.py"))
    content = b"".join(path.read_bytes() for path in [*sources, Path(__file__)])
    return hashlib.sha256(content).hexdigest()[:12]


def _forget_older(pod_count: int, node_count: int) -> None:
    for old in cache().glob(f"etcd-*-{pod_count}-{node_count}"):
        shutil.rmtree(old)


def _fill(folder: Path, pod_count: int, node_count: int) -> None:
    with serving(folder / "etcd", folder) as cluster:
        with Loader(endpoint(cluster)) as loader:
            _prepare(loader)
            each("nodes", map(node, range(node_count)), node_count, lambda item: _write_node(loader, item))
            each("pods", pods(pod_count, node_count), pod_count, lambda item: _write_pod(loader, item))
        cluster.stop(Component.API_SERVER)
        cluster.compact()
        defragment(cluster)


def _prepare(loader: Loader) -> None:
    """What admission looks for: namespaces, service accounts, priority classes."""
    for name, value in ((CRITICAL, 1_000_000), (BATCH, -100)):
        loader.create(_PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})
    for number in range(NAMESPACES):
        loader.create("/api/v1/namespaces", {"metadata": {"name": namespace(number)}})
        _account(loader, namespace(number), "default")
    for name, _ in AGENTS:
        _account(loader, SYSTEM, name)


def _account(loader: Loader, team: str, name: str) -> None:
    """A service account, and the bundle that its projected token volume refers to."""
    loader.create(f"/api/v1/namespaces/{team}/serviceaccounts", {"metadata": {"name": name}})
    bundle = {"metadata": {"name": "kube-root-ca.crt"}, "data": {"ca.crt": "the benchmark's own"}}
    loader.create(f"/api/v1/namespaces/{team}/configmaps", bundle)


def _write_node(loader: Loader, item: Node) -> None:
    path = f"/api/v1/nodes/{item.body['metadata']['name']}"
    loader.create("/api/v1/nodes", item.body, "kubelet")
    loader.patch(path, item.spec, "kube-controller-manager")
    loader.patch(f"{path}/status", item.status, "kubelet")


def _write_pod(loader: Loader, item: Pod) -> None:
    metadata = item.body["metadata"]
    path = f"/api/v1/namespaces/{metadata['namespace']}/pods"
    created = loader.create(path, item.body)
    reporter = "kube-scheduler" if item.health is Health.PENDING else "kubelet"
    # a PUT leaves the same object and managed fields as kubelet's patch, for two thirds of the work
    created["status"] |= status_of(item)
    loader.replace(f"{path}/{metadata['name']}/status", created, reporter)
