"""A cluster of its own for each test with operators; they end with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from shiplift.local.cluster import Cluster
from tests.operator.rig import Rig


@pytest.fixture
def rig(private_cluster: Callable[..., Cluster], tmp_path: Path) -> Iterator[Rig]:
    cluster = private_cluster()
    with ExitStack() as closing:
        rig = Rig(cluster, closing.enter_context(cluster.client()), tmp_path)
        closing.callback(lambda: [process.end() for process in rig.processes])
        yield rig
