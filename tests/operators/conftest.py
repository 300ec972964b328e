"""A real cluster for the layer of operators, with controllers and simulated pods."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiplift.local.cluster import Cluster
from shiplift.local.nodes import Pool
from shiplift.operators.controller import PART
from tests import rights
from tests.operators import rig as rigs
from tests.operators.rig import Rig, Scene


@pytest.fixture(scope="session")
def operated(clusters_folder: Path) -> Iterator[Rig]:
    cluster = Cluster(f"operators-{uuid.uuid4().hex[:8]}", clusters_folder)
    with rights.audited(cluster, PART, pools=[Pool("w", 2)]):
        made = Rig(cluster)
        yield made
        made.close()


@pytest.fixture
def scene(operated: Rig) -> Iterator[Scene]:
    with rigs.scene(operated) as made:
        yield made
