"""The pytest plugin: real clusters for tests.

`cluster` is one for the whole run, shared by all workers; `namespace` is a fresh one for each test;
`private_cluster` makes clusters for tests that change what is not namespaced. Whatever becomes
of the run (interrupted, killed), its clusters end with it.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shiplift.local import guard
from shiplift.local.cluster import Cluster
from shiplift.local.components import API_ONLY, Settings
from shiplift.local.lock import locked
from shiplift.local.nodes import Pool

_RUN = pytest.StashKey[Path]()
SHARED = "shared"
SHARED_POOL = Pool(count=6)
_MOST_IDLE = 2


class PrivateClusters:
    """Clusters for one test at a time: kept for the next test that wants the same, as good as new."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._idle: list[tuple[Settings, Cluster, dict[str, str]]] = []
        self._lent: list[tuple[Settings, Cluster, dict[str, str]]] = []

    def __call__(self, settings: Settings = Settings(components=API_ONLY)) -> Cluster:  # noqa: B008  frozen
        lease = self._again(settings) or self._new(settings)
        self._lent.append(lease)
        return lease[1]

    def take_back(self) -> None:
        """At the end of a test."""
        self._idle += self._lent
        self._lent = []
        while len(self._idle) > _MOST_IDLE:
            self._idle.pop(0)[1].down()

    def close(self) -> None:
        for _, cluster, _ in self._idle + self._lent:
            cluster.down()

    def _again(self, settings: Settings) -> tuple[Settings, Cluster, dict[str, str]] | None:
        for index, (had, cluster, pristine) in enumerate(self._idle):
            if had == settings and not settings.etcd_data:
                del self._idle[index]
                cluster.up()
                cluster.etcd.put_back(pristine)
                return had, cluster, pristine
        return None

    def _new(self, settings: Settings) -> tuple[Settings, Cluster, dict[str, str]]:
        cluster = Cluster(f"private-{uuid.uuid4().hex[:8]}", self._root)
        cluster.up(settings)
        return settings, cluster, cluster.etcd.content()


@pytest.fixture(scope="session")
def clusters_folder(request: pytest.FixtureRequest) -> Path:
    """Where the clusters of this run are; watched over by a guard, should the run be killed."""
    folder = request.config.stash[_RUN]
    with locked(folder / "guard.lock"):
        guard.start_once(folder)
    return folder


@pytest.fixture(scope="session")
def cluster(clusters_folder: Path) -> Cluster:
    """The cluster of this run, with controllers, scheduler and six simulated nodes."""
    shared = Cluster(SHARED, clusters_folder)
    with locked(clusters_folder / "shared.lock"):
        if not shared.exists:
            shared.up()
            shared.nodes.add(SHARED_POOL)
            shared.nodes.wait_schedulable()
    return shared


@pytest.fixture
def namespace(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """A new namespace, ready for pods; it is deleted after the test, but nobody waits for that."""
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower())[:40].strip("-")
    name = f"{words}-{uuid.uuid4().hex[:6]}"
    cluster.create_namespace(name)
    yield name
    with contextlib.suppress(OSError):
        cluster.delete_namespace(name)


@pytest.fixture(scope="session")
def _private_clusters(clusters_folder: Path) -> Iterator[PrivateClusters]:
    pool = PrivateClusters(clusters_folder)
    yield pool
    pool.close()


@pytest.fixture
def private_cluster(_private_clusters: PrivateClusters) -> Iterator[Callable[..., Cluster]]:
    """A factory: each call gives a cluster that is this test's alone, etcd and API server unless told otherwise."""
    yield _private_clusters
    _private_clusters.take_back()


def pytest_configure(config: pytest.Config) -> None:
    given = getattr(config, "workerinput", {}).get("shiplift_clusters")
    config.stash[_RUN] = Path(given) if given else Path(tempfile.mkdtemp(prefix="shiplift-test-"))
    if not given:
        guard.own(config.stash[_RUN])


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """pytest-xdist: the workers share this process's folder."""
    node.workerinput["shiplift_clusters"] = str(node.config.stash[_RUN])


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and _RUN in config.stash:
        folder = config.stash[_RUN]
        guard.sweep(folder)
        guard.stop(folder)
        shutil.rmtree(folder, ignore_errors=True)
