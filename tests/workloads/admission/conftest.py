"""One real cluster with our policies, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shiplift.local.cluster import Cluster
from tests.workloads.admission.stage import (
    LISTED,
    NEW,
    OLD,
    Stage,
)


@pytest.fixture(scope="package")
def stage(clusters_folder: Path, request: pytest.FixtureRequest) -> Iterator[Stage]:
    worker = getattr(request.config, "workerinput", {}).get("workerid", "main")
    cluster = Cluster(f"admission-{worker}", clusters_folder)
    cluster.up(pools=[OLD, NEW])
    with cluster.client() as client:
        ready = Stage(cluster, client)
        ready.prepare()
        yield ready
    cluster.down()


@pytest.fixture(scope="package")
def listed(stage: Stage) -> str:
    """A namespace where `web` and `db` are held and `api` is released."""
    return stage.placed(LISTED)
