"""One API server for the tests of this folder, with all our CRDs: their singletons are nobody else's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shiplift.api import crd
from shiplift.facts.kinds import CUSTOM_RESOURCE_DEFINITION
from shiplift.kube.client import Client
from shiplift.local.cluster import Cluster
from shiplift.local.components import API_ONLY, Settings
from tests.api.api_server import wait_established


@pytest.fixture(scope="session")
def api_server(clusters_folder: Path, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    worker = getattr(request.config, "workerinput", {}).get("workerid", "main")
    cluster = Cluster(f"crds-{worker}", clusters_folder)
    cluster.up(Settings(components=API_ONLY))
    yield cluster
    cluster.down()


@pytest.fixture(scope="session")
def client(api_server: Cluster) -> Iterator[Client]:
    with Client(api_server.credentials()) as client:
        for manifest in crd.manifests():
            client.create(CUSTOM_RESOURCE_DEFINITION, manifest)
        wait_established(client)
        yield client
