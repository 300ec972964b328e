"""One API server for the tests of this folder, with all our CRDs: their singletons are nobody else's."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiplift.api import crd
from shiplift.facts.kinds import CUSTOM_RESOURCE_DEFINITION
from shiplift.kube.client import Client
from shiplift.local.cluster import Cluster
from shiplift.local.components import API_ONLY, Settings

DEADLINE = 30.0


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


def wait_established(client: Client) -> None:
    ends = time.monotonic() + DEADLINE
    waiting = {manifest["metadata"]["name"] for manifest in crd.manifests()}
    while waiting:
        assert time.monotonic() < ends, f"not established in time: {sorted(waiting)}"
        waiting = {name for name in waiting if conditions(client, name).get("Established") != "True"}
        time.sleep(0.05)


def conditions(client: Client, name: str) -> dict[str, str]:
    status = client.get(CUSTOM_RESOURCE_DEFINITION, name).get("status", {})
    return {one["type"]: one["status"] for one in status.get("conditions", [])}
