"""A cluster of its own for each test of an upgrade: API servers remember policies and kinds that are gone."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from shiplift.local.cluster import Cluster
from tests.releases.upgraded import Upgraded

Upgrade = Callable[..., Upgraded]


@pytest.fixture
def fresh_cluster(clusters_folder: Path) -> Iterator[Cluster]:
    cluster = Cluster(f"release-{uuid.uuid4().hex[:8]}", clusters_folder)
    cluster.up()
    yield cluster
    cluster.down()


@pytest.fixture
def upgrade(fresh_cluster: Cluster) -> Iterator[Upgrade]:
    """A factory: that situation of that release, and then this release over it."""
    with ExitStack() as closing:
        yield lambda *asked: closing.enter_context(Upgraded(fresh_cluster, *asked))
