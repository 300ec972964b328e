"""Acting as others: in each call's own name, over the connections of one client."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from shiplift.facts.kinds import NODE
from shiplift.kube.client import Client
from shiplift.kube.credentials import Impersonation
from shiplift.kube.fence import whoami
from shiplift.local.cluster import Cluster
from tests.kube.answering import answer, answering

STORED = answer(b'{"metadata": {"uid": "u", "resourceVersion": "2"}}', Connection="close")


def test_only_the_calls_of_that_client_are_made_as_somebody_else() -> None:
    with answering(STORED, STORED) as server:
        with Client(server.credentials) as client:
            client.acting_as(Impersonation("system:node:a", groups=("system:nodes",))).get(NODE, "a")
            client.get(NODE, "a")
        as_node, as_itself = server.requests
    assert "Impersonate-User: system:node:a" in as_node
    assert "Impersonate-Group: system:nodes" in as_node
    assert "Impersonate" not in as_itself


def test_the_api_server_takes_each_for_who_it_acts_as(cluster: Cluster) -> None:
    names = [f"system:node:node-{number}" for number in range(20)]
    with cluster.client() as client, ThreadPoolExecutor(4) as executor:
        acting = [client.acting_as(Impersonation(name, groups=("system:nodes",))) for name in names]
        told = list(executor.map(lambda one: whoami(one).username, acting))
    assert told == names
