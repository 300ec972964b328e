"""The pytest plugin: real clusters for tests.

`cluster` is one for the whole run, shared by all workers; `namespace` is a fresh one for each test;
`private_cluster` makes clusters for tests that change what is not namespaced; a test that starts one by
other means asks for `programs`. `machines` makes real machines, for one test; where there can be none, it is
skipped and says why. One test with machines runs at a time: those that ask for any, and those marked
`machines`. Whatever becomes of the run (interrupted, killed), its clusters end with it.

`pytest --no-clusters` runs the tests that start no cluster: those to which no fixture brings `programs`. To
all others there is no Kubernetes in such a run, so that a test that starts a cluster unannounced fails.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shiplift.facts.kinds import NAMESPACE
from shiplift.kube.errors import AlreadyExists, NotFound
from shiplift.local import assets, guard
from shiplift.local.cluster import Cluster
from shiplift.local.components import API_ONLY, Component, Settings
from shiplift.local.lock import locked
from shiplift.local.machines import Machines, refusal, root
from shiplift.local.nodes import SERVICE_ACCOUNT, Pool
from shiplift.local.process import Process


class Run(msgspec.Struct, frozen=True):
    """One run of pytest: where its clusters are (once there is one), and the process that they end with."""

    path: str
    owner: Process

    @property
    def folder(self) -> Path:
        return Path(self.path)


_RUN = pytest.StashKey[Run]()
SHARED = "shared"
API_AND_ETCD = Settings(components=API_ONLY)
SHARED_POOL = Pool(count=6)
_MOST_IDLE = 2
_PRISTINE = "pristine"
_NO_CLUSTERS = "--no-clusters"


class PrivateClusters:
    """Clusters for one test at a time: kept for the next test that wants the same, reset in between. One with
    controllers is not: they would go on working on what is left, while other tests run."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._idle: list[Cluster] = []
        self._lent: list[Cluster] = []

    def __call__(self, settings: Settings = API_AND_ETCD) -> Cluster:
        cluster = self._again(settings) or self._new(settings)
        self._lent.append(cluster)
        return cluster

    def take_back(self) -> None:
        """At the end of a test; those that it has ended itself are forgotten."""
        lent, self._lent = [cluster for cluster in self._lent if cluster.exists], []
        for cluster in lent:
            if Component.CONTROLLERS in cluster.state.settings.components:
                cluster.down()
            else:
                self._idle.append(cluster)
        while len(self._idle) > _MOST_IDLE:
            self._idle.pop(0).down()

    def close(self) -> None:
        for cluster in self._idle + self._lent:
            cluster.down()

    def _again(self, settings: Settings) -> Cluster | None:
        for cluster in self._idle:
            if cluster.state.settings == settings and not settings.etcd_data:
                self._idle.remove(cluster)
                cluster.reset(_PRISTINE)
                return cluster
        return None

    def _new(self, settings: Settings) -> Cluster:
        cluster = Cluster(f"private-{uuid.uuid4().hex[:8]}", self._root)
        cluster.up(settings)
        cluster.save(_PRISTINE)
        return cluster


@pytest.fixture(scope="session")
def programs() -> dict[str, str]:
    """Of a cluster, got before any test needs them: a first build takes longer than tests wait."""
    return assets.find(print)


@pytest.fixture(scope="session")
def clusters_folder(
    programs: dict[str, str],  # noqa: ARG001 - whoever asks for the folder starts clusters in it
    request: pytest.FixtureRequest,
) -> Path:
    """Where the clusters of this run are; watched over by a guard, should the run be killed."""
    run = request.config.stash[_RUN]
    run.folder.mkdir(mode=0o700, exist_ok=True)
    with locked(run.folder / "guard.lock"):
        guard.own(run.folder, run.owner)
        guard.start_once(run.folder)
    return run.folder


@pytest.fixture(scope="session")
def cluster(clusters_folder: Path) -> Cluster:
    """The cluster of this run, with controllers, scheduler and six simulated nodes."""
    shared = Cluster(SHARED, clusters_folder)
    with locked(clusters_folder / "run.lock"):
        if not shared.exists:
            shared.up(pools=[SHARED_POOL])
    return shared


@pytest.fixture
def namespace(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """A new namespace, ready for pods; it is deleted after the test, but nobody waits for that."""
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower())[:40].strip("-")
    name = f"{words}-{uuid.uuid4().hex[:6]}"
    with cluster.client() as client:
        made = client.create(NAMESPACE, {"metadata": {"name": name}}).object
        # no pod is let in without it, and the controllers would make it only a moment later
        with contextlib.suppress(AlreadyExists):
            client.create(SERVICE_ACCOUNT, {"metadata": {"name": "default"}}, name)
        yield name
        with contextlib.suppress(NotFound):
            client.delete(NAMESPACE, name, uid=made["metadata"]["uid"])


@pytest.fixture(scope="session")
def _private_clusters(clusters_folder: Path) -> Iterator[PrivateClusters]:
    pool = PrivateClusters(clusters_folder)
    yield pool
    pool.close()


@pytest.fixture
def private_cluster(_private_clusters: PrivateClusters) -> Iterator[Callable[..., Cluster]]:
    """A factory: a cluster that is this test's alone; etcd and API server, unless told otherwise."""
    yield _private_clusters
    _private_clusters.take_back()


@pytest.fixture(scope="session")
def machine_root(programs: dict[str, str], clusters_folder: Path) -> Path:  # noqa: ARG001 - as above
    """Of machines, made before any test needs it; without it their tests are skipped."""
    if why := refusal(clusters_folder):
        pytest.skip(f"{why.message} ({why.hint})")
    return root.find(print)


@pytest.fixture(scope="session")
def machine_programs(machine_root: Path) -> Path:  # noqa: ARG001 - who cannot have machines needs none
    """Of a cluster on machines, got before any test needs them: a first build takes minutes."""
    from shiplift.local.machines import images, programs  # noqa: PLC0415 - also a fixture's name here

    images.find(programs.NEWEST, print)
    return programs.find(programs.NEWEST, print)


@pytest.fixture
def machines(
    machine_root: Path,  # noqa: ARG001 - whoever asks for machines waits for it
    clusters_folder: Path,
) -> Iterator[Callable[[int], Machines]]:
    """A factory: so many machines that are this test's alone."""
    made: list[Machines] = []

    def make(count: int) -> Machines:
        made.append(Machines(f"machines-{uuid.uuid4().hex[:8]}", clusters_folder))
        made[-1].up(count)
        return made[-1]

    yield make
    for one in made:
        one.down()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(_NO_CLUSTERS, action="store_true", help="run only the tests that start no cluster")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption(_NO_CLUSTERS):
        config.hook.pytest_deselected(items=[item for item in items if _starts_a_cluster(item)])
        items[:] = [item for item in items if not _starts_a_cluster(item)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """What machines do is looked at with deadlines, and a few of them keep a small computer busy."""
    if not _has_machines(item):
        return (yield)
    folder = item.config.stash[_RUN].folder
    folder.mkdir(mode=0o700, exist_ok=True)
    with locked(folder / "one-at-a-time.lock"):
        return (yield)


def _has_machines(item: pytest.Item) -> bool:
    asked = "machine_root" in getattr(item, "fixturenames", ())
    return asked or item.get_closest_marker("machines") is not None


def _starts_a_cluster(item: pytest.Item) -> bool:
    return "programs" in getattr(item, "fixturenames", ())


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption(_NO_CLUSTERS):
        # processes that tests start have to fail too
        os.environ["KUBEBUILDER_ASSETS"] = f"hidden by {_NO_CLUSTERS}"
    given = getattr(config, "workerinput", {}).get("shiplift_run")
    config.stash[_RUN] = msgspec.json.decode(given, type=Run) if given else _new_run()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """pytest-xdist: the workers share the clusters of this process."""
    node.workerinput["shiplift_run"] = msgspec.json.encode(node.config.stash[_RUN]).decode()


def pytest_unconfigure(config: pytest.Config) -> None:
    run = config.stash.get(_RUN, None)
    if run and run.owner == guard.myself():
        guard.sweep(run.folder)
        guard.stop(run.folder)
        shutil.rmtree(run.folder, ignore_errors=True)


def _new_run() -> Run:
    return Run(f"{tempfile.gettempdir()}/shiplift-test-{uuid.uuid4().hex[:12]}", guard.myself())
