"""One real cluster for the cluster's side of this layer, empty before each test."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiplift.local.cluster import Cluster
from shiplift.local.components import Settings
from tests.machines.in_cluster.rig import Rig


@pytest.fixture(scope="session")
def _rig(clusters_folder: Path) -> Iterator[Rig]:
    cluster = Cluster(f"pools-{uuid.uuid4().hex[:8]}", clusters_folder)
    cluster.up(Settings(audit=True))
    made = Rig(cluster)
    yield made
    made.close()
    cluster.down()


@pytest.fixture
def rig(_rig: Rig) -> Iterator[Rig]:
    _rig.start()
    yield _rig
    _rig.clear()
