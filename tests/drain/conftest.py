"""One cluster for the tests of this folder: they cordon nodes, which no test may do to those of others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shiplift.local.cluster import Cluster
from tests.drain.rig import Rig


@pytest.fixture(scope="session")
def ground(clusters_folder: Path, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    worker = getattr(request.config, "workerinput", {}).get("workerid", "main")
    cluster = Cluster(f"drain-{worker}", clusters_folder)
    cluster.up()
    yield cluster
    cluster.down()


@pytest.fixture
def rig(ground: Cluster, capsys: pytest.CaptureFixture[str]) -> Iterator[Rig]:
    """A namespace and a node of the test's own."""
    with ground.client() as client:
        rig = Rig(ground, client, capsys)
        yield rig
        rig.close()
