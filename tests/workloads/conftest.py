"""One real cluster for the tests of this layer, and a scene of its own for each test."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiplift.kube.credentials import load
from shiplift.local.cluster import Cluster
from shiplift.local.components import Settings
from tests.crash.recorder import Recorder
from tests.crash.workloads.suite import SUITE
from tests.workloads import rig as rigs
from tests.workloads.observer import Observer
from tests.workloads.rig import Rig, Scene


@pytest.fixture(scope="session")
def rig(clusters_folder: Path) -> Iterator[Rig]:
    """The migration is a singleton, so each worker has a cluster of its own."""
    cluster = Cluster(f"workloads-{uuid.uuid4().hex[:8]}", clusters_folder)
    cluster.up(Settings(audit=True))
    made = Rig(cluster)
    yield made
    made.close()
    cluster.down()


@pytest.fixture
def scene(rig: Rig) -> Iterator[Scene]:
    with rigs.scene(rig) as made:
        yield made


@pytest.fixture(scope="session")
def recorder(rig: Rig) -> Iterator[Recorder]:
    made = Recorder(load(rig.cluster.kubeconfig), rig.client, SUITE.watched)
    yield made
    made.close()


@pytest.fixture
def observer(recorder: Recorder) -> Observer:
    """Eyes on every pod, from the beginning of the test."""
    return Observer(recorder)
