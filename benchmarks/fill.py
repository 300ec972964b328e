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
from benchmarks.recipe.base import Json
from benchmarks.recipe.nodes import node
from benchmarks.recipe.pods import pods
from benchmarks.recipe.writes import prepare, write_node, write_pod
from benchmarks.server import cache, copy_tree, defragment, endpoint, serving, size_of, workspace
from shiplift.local.components import Component

DESCRIPTION = "make the filled etcd folder that the other benchmarks use"


def run(pod_count: int, node_count: int) -> Json:
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
        fill(folder, pod_count, node_count)
        copy_tree(folder / "etcd", folder / "kept")
        _forget_older(pod_count, node_count)
        (folder / "kept").rename(kept)
    return kept


def _version() -> str:
    """Changes whenever the recipe does."""
    sources = sorted(Path(recipe.__file__).parent.glob("*.py"))
    content = b"".join(path.read_bytes() for path in sources)
    return hashlib.sha256(content).hexdigest()[:12]


def _forget_older(pod_count: int, node_count: int) -> None:
    for old in cache().glob(f"etcd-*-{pod_count}-{node_count}"):
        shutil.rmtree(old)


def fill(folder: Path, pod_count: int, node_count: int) -> None:
    """Fill the etcd data in `folder`/etcd through an API server of its own."""
    with serving(folder / "etcd", folder) as cluster:
        with Loader(endpoint(cluster)) as loader:
            prepare(loader)
            each("nodes", map(node, range(node_count)), node_count, lambda item: write_node(loader, item))
            each("pods", pods(pod_count, node_count), pod_count, lambda item: write_pod(loader, item))
        cluster.stop(Component.API_SERVER)
        cluster.compact()
        defragment(cluster)
