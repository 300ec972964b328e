"""A cluster of its own for each test with operators; they end with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shiplift.local.cluster import Cluster
from tests.operator.rig import Rig, operators


@pytest.fixture
def rig(private_cluster: Callable[..., Cluster], tmp_path: Path) -> Iterator[Rig]:
    with operators(private_cluster(), tmp_path) as rig:
        yield rig
