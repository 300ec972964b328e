"""Objects of a definition are stored anew, and none is lost; what is in etcd says how they are stored."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from typing import Any, TypeVar, cast

import msgspec
import pytest

from shiplift.facts.kinds import CUSTOM_RESOURCE_DEFINITION, Kind
from shiplift.kube.client import Client
from shiplift.kube.errors import Conflict, PreconditionFailed
from shiplift.local.cluster import Cluster
from shiplift.operators.crds import storing
from shiplift.operators.crds.definition import stored_in
from shiplift.operators.crds.storing import StoringError, storage_hash, store_anew
from tests.operators.bundles import GROUP, definition
from tests.operators.crds.test_existing_live import served

Json = dict[str, Any]
T = TypeVar("T")
OBJECTS = 1_000


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Client]:
    with cluster.client() as client:
        yield client


@pytest.fixture
def name(client: Client, namespace: str) -> Iterator[str]:
    """A definition of this test's own, which stores v1."""
    plural = f"s{namespace[-6:]}s"
    made = client.create(CUSTOM_RESOURCE_DEFINITION, definition(plural)).object["metadata"]
    served(client, Kind(plural.removesuffix("s").capitalize(), plural, GROUP, "v1"))
    yield made["name"]
    client.delete(CUSTOM_RESOURCE_DEFINITION, made["name"], uid=made["uid"])


def live(client: Client, name: str) -> Json:
    return client.get(CUSTOM_RESOURCE_DEFINITION, name)


def kind_of(found: Json, version: str) -> Kind:
    names = found["spec"]["names"]
    return Kind(names["kind"], names["plural"], GROUP, version)


def store_as_v2(client: Client, name: str) -> Json:
    """From now on; what is stored stays as it is."""
    found = live(client, name)
    wanted = definition(found["spec"]["names"]["plural"], ("v1", "v2"))["spec"]
    client.update(CUSTOM_RESOURCE_DEFINITION, {**found, "spec": wanted})
    served(client, kind_of(found, "v2"))
    return live(client, name)


def stored_anew(client: Client, found: Json, seconds: float = 60) -> int:
    return store_anew(client, found, time.monotonic() + seconds, lambda: (client,))


def in_etcd(cluster: Cluster, name: str) -> list[str]:
    plural, _, group = name.partition(".")
    values = [one for key, one in cluster.etcd.content().items() if _is_of(key, group, plural)]
    return [msgspec.json.decode(base64.b64decode(one))["apiVersion"] for one in values]


def _is_of(key: str, group: str, plural: str) -> bool:
    return base64.b64decode(key).decode(errors="replace").startswith(f"/registry/{group}/{plural}/")


def test_a_thousand_objects_are_stored_anew_and_none_is_lost(
    client: Client, cluster: Cluster, namespace: str, name: str
) -> None:
    kind = kind_of(live(client, name), "v1")
    for number in range(OBJECTS):
        client.create(kind, {"metadata": {"name": f"b{number}"}, "spec": {"size": number}}, namespace)
    found = store_as_v2(client, name)
    assert stored_in(found) == ("v1", "v2")
    assert set(in_etcd(cluster, name)) == {f"{GROUP}/v1"}
    assert stored_anew(client, found, 120) == OBJECTS
    assert stored_in(live(client, name)) == ("v2",)
    assert in_etcd(cluster, name) == [f"{GROUP}/v2"] * OBJECTS
    only = definition(kind.plural, ("v2",))["spec"]
    client.update(CUSTOM_RESOURCE_DEFINITION, {**live(client, name), "spec": only})
    after = {one["metadata"]["name"]: one["spec"]["size"] for one in client.list(kind_of(found, "v2"))}
    assert after == {f"b{number}": number for number in range(OBJECTS)}


def test_nothing_is_noted_where_the_definition_was_changed_meanwhile(
    client: Client, namespace: str, name: str
) -> None:
    client.create(kind_of(live(client, name), "v1"), {"metadata": {"name": "one"}}, namespace)
    found = store_as_v2(client, name)
    client.patch(
        CUSTOM_RESOURCE_DEFINITION, name, {"metadata": {"labels": {"a": "b"}}}, uid=found["metadata"]["uid"]
    )
    with pytest.raises((Conflict, PreconditionFailed)):
        stored_anew(client, found)
    assert stored_in(live(client, name)) == ("v1", "v2")


def test_too_many_objects_are_given_up_and_nothing_is_noted(
    client: Client, namespace: str, name: str
) -> None:
    client.create(kind_of(live(client, name), "v1"), {"metadata": {"name": "one"}}, namespace)
    with pytest.raises(StoringError, match="too many to store in time"):
        stored_anew(client, store_as_v2(client, name), -1)
    assert stored_in(live(client, name)) == ("v1", "v2")


def test_nothing_is_written_while_one_of_the_servers_does_not_store_so(
    client: Client, namespace: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storing, "_PATIENCE", 1.0)
    made = client.create(kind_of(live(client, name), "v1"), {"metadata": {"name": "one"}}, namespace).object
    found = store_as_v2(client, name)
    behind = cast("Client", Behind(found))
    with pytest.raises(StoringError, match="not every API server says"):
        store_anew(client, found, time.monotonic() + 60, lambda: (client, behind))
    after = client.get(kind_of(found, "v1"), "one", namespace)
    assert after["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    assert stored_in(live(client, name)) == ("v1", "v2")


class Behind:
    """An API server that has not heard of the change."""

    def __init__(self, found: Json) -> None:
        names = found["spec"]["names"]
        told = {"name": names["plural"], "storageVersionHash": storage_hash(GROUP, "v1", names["kind"])}
        self._said = {"resources": [told]}

    def ask(self, _: str, __: str, what: type[T]) -> T:
        return msgspec.convert(self._said, what)


def test_what_is_stored_in_one_version_is_left_alone(client: Client, name: str) -> None:
    assert stored_anew(client, live(client, name)) == 0


def test_how_it_is_stored_is_told_as_discovery_does(client: Client) -> None:
    found = msgspec.json.decode(client.raw("GET", "/apis/apps/v1"))["resources"]
    told = {one["name"]: one.get("storageVersionHash") for one in found}
    assert told["deployments"] == storage_hash("apps", "v1", "Deployment")
