"""A client, Secrets of each kind, and a cluster on which policies are synced."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiplift.kube.client import Client
from shiplift.local.cluster import Cluster
from shiplift.local.components import API_ONLY, Settings
from tests.policy.held import put_secrets
from tests.policy.rig import Rig, rigged


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Client]:
    with cluster.client() as client:
        yield client


@pytest.fixture
def secrets(client: Client, namespace: str) -> str:
    put_secrets(client, namespace)
    return namespace


@pytest.fixture(scope="session")
def _rig(clusters_folder: Path, keys: Path) -> Iterator[Rig]:
    cluster = Cluster(f"policy-{uuid.uuid4().hex[:8]}", clusters_folder)
    cluster.up(Settings(components=API_ONLY, audit=True))
    with rigged(cluster, keys) as made:
        yield made
    cluster.down()


@pytest.fixture
def rig(_rig: Rig) -> Iterator[Rig]:
    yield _rig
    _rig.clear()
