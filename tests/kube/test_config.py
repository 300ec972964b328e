"""The operator's ConfigMap: what is bad is named, and what was good stays in force."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from shiplift.facts.kinds import CONFIG_MAP
from shiplift.kube.client import Client
from shiplift.kube.config import KEY, NAME, ConfigReader, Looked, parsed
from shiplift.kube.documents import DocumentError
from shiplift.local.cluster import Cluster


class Shape(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    watch_interval: int = 60
    provider: str = "Local"


SECTION = "configManager"


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Client]:
    with cluster.client() as client:
        yield client


def put(client: Client, namespace: str, text: str, key: str = KEY) -> None:
    """The ConfigMap with this text and nothing else."""
    body: dict[str, Any] = {"metadata": {"name": NAME}, "data": {key: text}}
    found = [one for one in client.list(CONFIG_MAP, namespace) if one["metadata"]["name"] == NAME]
    for one in found:
        client.delete(CONFIG_MAP, NAME, namespace, uid=one["metadata"]["uid"])
    client.create(CONFIG_MAP, body, namespace)


def test_a_bad_config_is_named_and_the_last_good_one_stays_in_force(client: Client, namespace: str) -> None:
    reader = ConfigReader(client, namespace, SECTION, Shape)
    assert reader.look().value == Shape()
    put(client, namespace, "configManager: {watchInterval: 5, provider: HTTP}")
    good = reader.look()
    assert (good.value, good.trouble) == (Shape(5, "HTTP"), "")
    put(client, namespace, "configManager: {watchInterval: often}")
    bad = reader.look()
    assert bad.value == Shape(5, "HTTP")
    assert bad.trouble == (
        f"ConfigMap {namespace}/{NAME}: section configManager: Expected `int`, got `str` - at"
        " `$.watchInterval`; the last good one stays in force"
    )
    put(client, namespace, "configManager: {provider: OCM}", key="other.yaml")
    assert "there is no key config.yaml; it has other.yaml" in reader.look().trouble
    put(client, namespace, "configManager: {provider: OCM}")
    assert reader.look().value == Shape(60, "OCM")


def test_one_that_is_deleted_and_made_anew_was_in_force_meanwhile(client: Client, namespace: str) -> None:
    passed = 0.0
    reader = ConfigReader(client, namespace, SECTION, Shape, lambda: passed)
    put(client, namespace, "configManager: {provider: OCM}")
    reader.look()
    [there] = [one for one in client.list(CONFIG_MAP, namespace) if one["metadata"]["name"] == NAME]
    client.delete(CONFIG_MAP, NAME, namespace, uid=there["metadata"]["uid"])
    assert reader.look().value == Shape(60, "OCM")
    passed += 60
    looked = reader.look()
    assert (looked.value, "is gone; for a while" in looked.trouble) == (Shape(60, "OCM"), True)
    put(client, namespace, "configManager: {provider: HTTP}")
    passed += 3600
    assert reader.look() == Looked(Shape(60, "HTTP"))
    client.delete(CONFIG_MAP, NAME, namespace, uid=client.get(CONFIG_MAP, NAME, namespace)["metadata"]["uid"])
    assert reader.look().value == Shape(60, "HTTP")
    passed += 151
    assert reader.look() == Looked(Shape())


def test_before_there_was_a_good_one_nothing_is_in_force(client: Client, namespace: str) -> None:
    put(client, namespace, "configManager: {watchIntervall: 5}")
    looked = ConfigReader(client, namespace, SECTION, Shape).look()
    assert looked.value is None
    assert "Object contains unknown field `watchIntervall`" in looked.trouble
    assert "stays in force" not in looked.trouble


def test_a_server_that_is_away_changes_nothing(client: Client, namespace: str) -> None:
    put(client, namespace, "configManager: {provider: HTTP}")
    reader = ConfigReader(client, namespace, SECTION, Shape)
    reader.look()
    client.close()
    looked = reader.look()
    assert looked.value == Shape(60, "HTTP")
    assert f"ConfigMap {namespace}/{NAME} cannot be read" in looked.trouble


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("- a", "config.yaml is no map of sections"),
        ("configManger: {}", "there is no section 'configManger'; there is configManager"),
        ("configManager: [1]", "section configManager: Expected `object`, got `array`"),
        ("configManager: {provider: [", "not YAML"),
    ],
)
def test_what_is_wrong_is_named(text: str, why: str) -> None:
    with pytest.raises(DocumentError, match=why):
        parsed(text, SECTION, Shape)


@pytest.mark.parametrize("text", ["", "# nothing", "configManager:", "configManager: {}"])
def test_what_is_not_said_is_the_default(text: str) -> None:
    assert parsed(text, SECTION, Shape) == Shape()
