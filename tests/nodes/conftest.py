"""Real clusters for the tests of this layer: an API server alone, and one on which rollouts run."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiplift.local.cluster import Cluster
from shiplift.local.components import Settings
from shiplift.local.testing import API_AND_ETCD
from tests.nodes import rig as rigs
from tests.nodes.rig import Rig, Scene
from tests.nodes.server import Server


@pytest.fixture(scope="session")
def server(clusters_folder: Path) -> Iterator[Server]:
    """An API server without controllers: what is written stays as it was written."""
    cluster = Cluster(f"steps-{uuid.uuid4().hex[:8]}", clusters_folder)
    cluster.up(API_AND_ETCD)
    with Server(cluster) as made:
        yield made
    cluster.down()


@pytest.fixture(scope="session")
def rig(clusters_folder: Path) -> Iterator[Rig]:
    cluster = Cluster(f"nodes-{uuid.uuid4().hex[:8]}", clusters_folder)
    cluster.up(Settings(audit=True))
    with Rig(cluster) as made:
        yield made
    cluster.down()


@pytest.fixture
def scene(rig: Rig) -> Iterator[Scene]:
    with rigs.scene(rig) as made:
        yield made
