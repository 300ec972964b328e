"""One real cluster for the tests of this layer, and a scene of its own for each test."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiplift.local.cluster import Cluster
from tests.workloads import rig as rigs
from tests.workloads.rig import Rig, Scene


@pytest.fixture(scope="session")
def rig(clusters_folder: Path) -> Iterator[Rig]:
    """The migration is a singleton, so each worker has a cluster of its own."""
    cluster = Cluster(f"workloads-{uuid.uuid4().hex[:8]}", clusters_folder)
    cluster.up()
    made = Rig(cluster)
    yield made
    made.close()
    cluster.down()


@pytest.fixture
def scene(rig: Rig) -> Iterator[Scene]:
    with rigs.scene(rig) as made:
        yield made
