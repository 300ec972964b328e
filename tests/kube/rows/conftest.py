"""A private API server, with a namespace for what is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.kube.client import Client
from shiplift.local.cluster import Cluster
from tests.kube.rows.stored import SPACE


@pytest.fixture
def client(private_cluster: Callable[..., Cluster]) -> Iterator[Client]:
    with private_cluster().client() as client:
        client.create(kinds.NAMESPACE, {"metadata": {"name": SPACE}})
        client.create(Kind("ServiceAccount", "serviceaccounts"), {"metadata": {"name": "default"}}, SPACE)
        yield client
