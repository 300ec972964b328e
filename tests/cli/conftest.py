"""One API server for the tests of this folder, with our CRDs: it can have but one WorkloadMigration."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shiplift.api import crd
from shiplift.facts.kinds import CUSTOM_RESOURCE_DEFINITION, NAMESPACE, WORKLOAD_MIGRATION
from shiplift.kube.client import Client
from shiplift.kube.errors import AlreadyExists, NotFound
from shiplift.local.cluster import Cluster
from shiplift.local.components import API_ONLY, Settings
from shiplift.local.nodes import SERVICE_ACCOUNT
from tests.api.api_server import wait_established

Migrate = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def api_server(clusters_folder: Path, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    worker = getattr(request.config, "workerinput", {}).get("workerid", "main")
    cluster = Cluster(f"cli-{worker}", clusters_folder)
    cluster.up(Settings(components=API_ONLY))
    with cluster.client() as client:
        for manifest in crd.manifests():
            client.create(CUSTOM_RESOURCE_DEFINITION, manifest)
        wait_established(client)
    yield cluster
    cluster.down()


@pytest.fixture(scope="session")
def client(api_server: Cluster) -> Iterator[Client]:
    with api_server.client() as client:
        yield client


@pytest.fixture
def migrate(client: Client) -> Iterator[Migrate]:
    """Writes the one WorkloadMigration, as a user and an operator would; none is left after the test."""

    def write(status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
        try:
            found = client.get(WORKLOAD_MIGRATION, "cluster")
            written = client.update(WORKLOAD_MIGRATION, found | {"spec": spec}).object
        except NotFound:
            made = {"metadata": {"name": "cluster"}, "spec": spec}
            written = client.create(WORKLOAD_MIGRATION, made).object
        if status is None:
            return written
        return client.update(WORKLOAD_MIGRATION, written | {"status": status}, subresource="status").object

    yield write
    with contextlib.suppress(NotFound):
        found = client.get(WORKLOAD_MIGRATION, "cluster")
        client.delete(WORKLOAD_MIGRATION, "cluster", uid=found["metadata"]["uid"])


@pytest.fixture
def space(client: Client) -> Callable[[str], str]:
    """A namespace of that name, ready for pods."""

    def make(name: str) -> str:
        for kind, about, namespace in ((NAMESPACE, name, ""), (SERVICE_ACCOUNT, "default", name)):
            with contextlib.suppress(AlreadyExists):
                client.create(kind, {"metadata": {"name": about}}, namespace)
        return name

    return make
