"""A real etcd and API server over a given etcd folder, with nothing beside them that would change it."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import msgspec

from benchmarks.loader import Endpoint
from benchmarks.progress import say
from shiplift.local import paths, probe
from shiplift.local.cluster import Cluster
from shiplift.local.components import Component, Settings
from shiplift.local.errors import LocalError

_PATIENCE = 5


def cache() -> Path:
    """Where filled etcd folders and built programs are kept between runs."""
    folder = paths.cache_root() / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextlib.contextmanager
def workspace() -> Generator[Path]:
    """A folder for one run, on the same disk as the cache, so that copies are cheap."""
    with tempfile.TemporaryDirectory(prefix="run-", dir=cache()) as folder:
        yield Path(folder)


def copy_tree(source: Path, target: Path) -> None:
    """Copy a folder; where the file system can share blocks, nothing is copied."""
    if sys.platform == "linux":
        subprocess.run(["cp", "-r", "--reflink=auto", "--", source, target], check=True)
    else:
        shutil.copytree(source, target)


@contextlib.contextmanager
def serving(data: Path, folder: Path, flags: tuple[str, ...] = ()) -> Generator[Cluster]:
    """A cluster of etcd and API server alone, over the etcd data in the given folder; `flags` are more of the
    API server's."""
    cluster = Cluster("benchmark", root=folder / "clusters")
    extra = {Component.API_SERVER: flags}
    cluster.up(Settings(components=(Component.ETCD,), etcd_data=str(data), extra=extra), say)
    try:
        _start_api_server(cluster)
        yield cluster
    finally:
        cluster.down()


def _start_api_server(cluster: Cluster) -> None:
    """Start it and wait: with 50,000 pods to take in, longer than for a new cluster."""
    say(f"starting {Component.API_SERVER}")
    for _ in range(_PATIENCE):
        try:
            return cluster.start(Component.API_SERVER)
        except LocalError:
            if not cluster.state.running(Component.API_SERVER):
                raise
            say("the API server is still taking in its data")
    raise TimeoutError("the API server does not become ready")


def endpoint(cluster: Cluster) -> Endpoint:
    pki = cluster.layout.pki
    return Endpoint(cluster.state.ports.api, pki / "ca.crt", pki / "admin.crt", pki / "admin.key")


def defragment(cluster: Cluster) -> None:
    """Give back the space of what was compacted away."""
    _ask_etcd(cluster, "/v3/maintenance/defragment", {})


def move_on(cluster: Cluster) -> None:
    """Raise etcd's revision without touching any Kubernetes object, then forget all history.

    An API server that starts after this cannot serve a watch from before it: it answers 410 Gone.
    """
    _ask_etcd(cluster, "/v3/kv/put", {"key": "L2JlbmNobWFyaw==", "value": ""})
    cluster.compact()


def restart_api_server(cluster: Cluster) -> None:
    """Stop it, make every resource version that clients know too old, start it again."""
    cluster.stop(Component.API_SERVER)
    move_on(cluster)
    _start_api_server(cluster)


def _ask_etcd(cluster: Cluster, path: str, question: dict[str, str]) -> None:
    pki = cluster.layout.pki
    context = probe.trust(pki / "etcd-ca.crt", pki / "etcd-client.crt")
    port = cluster.state.ports.etcd
    status, body = probe.ask(port, path, context, msgspec.json.encode(question), timeout=120)
    if status != 200:
        raise RuntimeError(f"etcd answered {status} to {path}: {body[:200]!r}")


def size_of(folder: Path) -> int:
    return sum(os.path.getsize(Path(root) / name) for root, _, names in os.walk(folder) for name in names)
