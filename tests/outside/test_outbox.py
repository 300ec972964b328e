"""The outbox on a real API server: what is put in outlives who put it in."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from shiplift.facts.kinds import CONFIG_MAP
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError
from shiplift.local.cluster import Cluster
from shiplift.outside.letters import Letter
from shiplift.outside.outbox import Outbox

NAME = "outbox"
NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Client]:
    with cluster.client() as client:
        yield client


@pytest.fixture
def space(client: Client, namespace: str) -> str:
    client.create(CONFIG_MAP, {"metadata": {"name": NAME}}, namespace)
    return namespace


def letter(name: str, receiver: str = "ocm") -> Letter:
    return Letter(name, receiver, NOW, '{"value": "started"}')


def ids(outbox: Outbox) -> list[str]:
    return [one.id for one in outbox.box().letters]


def test_what_was_put_in_is_there_for_the_next_leader(client: Client, space: str) -> None:
    Outbox(client, space, NAME).put([letter("1"), letter("2")])
    later = Outbox(client, space, NAME)
    assert ids(later) == ["1", "2"]
    later.done(letter("1"))
    assert ids(Outbox(client, space, NAME)) == ["2"]


def test_two_who_write_lose_nothing_of_each_other(client: Client, space: str) -> None:
    one, other = Outbox(client, space, NAME), Outbox(client, space, NAME)
    assert one.box() == other.box()
    one.put([letter("1")])
    other.put([letter("2", "chat")])
    assert ids(other) == ["1", "2"]
    one.done(letter("1"))
    assert ids(one) == ["2"]


def test_what_changes_nothing_is_not_written(client: Client, space: str) -> None:
    outbox = Outbox(client, space, NAME)
    outbox.put([letter("1")])
    version = client.get(CONFIG_MAP, NAME, space)["metadata"]["resourceVersion"]
    outbox.put([letter("1")])
    outbox.done(letter("9"))
    assert client.get(CONFIG_MAP, NAME, space)["metadata"]["resourceVersion"] == version


def test_a_box_that_is_missing_or_damaged_is_named_and_not_overwritten(
    client: Client, namespace: str
) -> None:
    with pytest.raises(KubeError, match=f"ConfigMap {namespace}/{NAME} is missing"):
        Outbox(client, namespace, NAME).put([letter("1")])
    client.create(CONFIG_MAP, {"metadata": {"name": NAME}, "data": {"box": "{"}}, namespace)
    with pytest.raises(KubeError, match=f"box of ConfigMap {namespace}/{NAME} is damaged"):
        Outbox(client, namespace, NAME).put([letter("1")])
    assert client.get(CONFIG_MAP, NAME, namespace)["data"]["box"] == "{"
