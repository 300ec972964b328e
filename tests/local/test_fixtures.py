"""The fixtures that every other test stands on."""

from __future__ import annotations

import pytest

from shiplift.api import crd
from shiplift.facts.kinds import (
    CONFIG_MAP,
    CUSTOM_RESOURCE_DEFINITION,
    NAMESPACE,
    POD,
    WORKLOAD_MIGRATION,
    Kind,
)
from shiplift.kube.errors import NotFound
from shiplift.local.components import Component
from tests.api.api_server import wait_established
from tests.until import until

EVENT = Kind("Event", "events")
BUSYBOX = {"containers": [{"name": "main", "image": "busybox"}]}


def test_a_pod_in_a_fresh_namespace_runs(cluster, namespace):
    with cluster.client() as client:
        client.create(POD, {"metadata": {"name": "one"}, "spec": BUSYBOX}, namespace)
        until(lambda: client.get(POD, "one", namespace)["status"]["phase"] == "Running")


def test_each_test_has_a_namespace_of_its_own(cluster, namespace):
    with cluster.client() as client:
        assert list(client.list(POD, namespace)) == []


@pytest.mark.parametrize("turn", ["first", "second"])
def test_a_private_cluster_is_as_new_for_each_test(private_cluster, turn):
    with private_cluster().client() as client:
        with pytest.raises(NotFound):
            client.get(NAMESPACE, "mine")
        client.create(NAMESPACE, {"metadata": {"name": "mine"}})


def test_a_reset_brings_back_what_was_changed_and_what_was_killed(private_cluster):
    cluster = private_cluster()
    with cluster.client() as client:
        client.create(NAMESPACE, {"metadata": {"name": "kept"}})
        kept = client.create(CONFIG_MAP, {"metadata": {"name": "kept"}, "data": {"a": "1"}}, "kept").object
        cluster.save()
        client.delete(CONFIG_MAP, "kept", "kept", uid=kept["metadata"]["uid"])
        client.create(NAMESPACE, {"metadata": {"name": "new"}})
        cluster.kill(Component.API_SERVER)
        cluster.reset()
        assert client.get(CONFIG_MAP, "kept", "kept")["data"] == {"a": "1"}
        with pytest.raises(NotFound):
            client.get(NAMESPACE, "new")


def test_a_reset_is_over_when_the_api_server_serves_what_it_served_then(private_cluster):
    cluster = private_cluster()
    cluster.save("without")
    with cluster.client() as client:
        for manifest in crd.manifests():
            client.create(CUSTOM_RESOURCE_DEFINITION, manifest)
        wait_established(client)
        cluster.save("with")
        for _ in range(5):
            cluster.reset("without")
            with pytest.raises(NotFound):
                client.raw("GET", WORKLOAD_MIGRATION.path())
            cluster.reset("with")
            assert client.raw("GET", WORKLOAD_MIGRATION.path())


def test_a_reset_takes_events_away_which_would_add_up(private_cluster):
    cluster = private_cluster()
    cluster.save()
    with cluster.client() as client:
        event = {"metadata": {"name": "one"}, "involvedObject": {"kind": "Pod", "namespace": "default"}}
        client.create(EVENT, event, "default")
        cluster.reset()
        with pytest.raises(NotFound):
            client.get(EVENT, "one", "default")


def test_two_private_clusters_of_one_test_are_different(private_cluster):
    first, second = private_cluster(), private_cluster()
    assert first.state.ports.api != second.state.ports.api
