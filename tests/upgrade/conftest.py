"""A real cluster for the tests of the conductor, on which the operator runs all layers."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiplift.local.cluster import Cluster
from shiplift.nodes.controller import PART as NODES
from shiplift.operators.controller import PART as OPERATORS
from shiplift.upgrade.controller import PART as UPGRADE
from shiplift.workloads.controller import PART as WORKLOADS
from tests import rights
from tests.nodes.rig import Rig
from tests.upgrade import rig as rigs
from tests.upgrade.rig import Upgrading


@pytest.fixture(scope="session")
def conducted(clusters_folder: Path) -> Iterator[Rig]:
    cluster = Cluster(f"upgrade-{uuid.uuid4().hex[:8]}", clusters_folder)
    parts = (UPGRADE, WORKLOADS, NODES, OPERATORS)
    with rights.audited(cluster, *parts), Rig(cluster, *parts) as made:
        yield made


@pytest.fixture
def scene(conducted: Rig) -> Iterator[Upgrading]:
    with rigs.upgrading(conducted) as made:
        yield made
