"""The real API server takes our CRDs, and what it gives back is what was sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import msgspec
import pytest

from shiplift import api
from shiplift.api import crd
from shiplift.facts.kinds import CUSTOM_RESOURCE_DEFINITION, MACHINE_POOL, UPGRADE_CONFIG, Kind
from shiplift.kube.client import Client
from shiplift.kube.credentials import Credentials
from shiplift.local.cluster import Cluster
from shiplift.local.components import API_ONLY, Settings
from tests.api.api_examples import ALL, IDS, NAMESPACE, changed, examples, full, minimal
from tests.api.api_server import wait_established

KINDS = pytest.mark.parametrize("kind", api.TYPES, ids=str)


def stored(client: Client, kind: Kind, manifest: dict[str, Any]) -> dict[str, Any]:
    """The object with its spec and status as the server keeps them; it is deleted again."""
    created = client.create(kind, manifest).object
    try:
        return client.update(kind, {**created, "status": manifest.get("status", {})}, "status").object
    finally:
        meta = created["metadata"]
        client.delete(kind, meta["name"], meta.get("namespace", ""), uid=meta["uid"])


def decoded(kind: Kind, manifest: dict[str, Any]) -> Any:
    return api.decode(kind, json.dumps(manifest).encode())


@KINDS
def test_a_crd_is_established_and_structural(client: Client, kind: Kind) -> None:
    status = client.get(CUSTOM_RESOURCE_DEFINITION, f"{kind.plural}.{kind.group}")["status"]
    found = {one["type"]: one["status"] for one in status["conditions"]}
    assert found == {"NamesAccepted": "True", "Established": "True"}


@pytest.mark.parametrize(("kind", "index"), ALL, ids=IDS)
def test_an_example_comes_back_as_it_was_sent(client: Client, kind: Kind, index: int) -> None:
    sent = examples(kind)[index]
    kept = stored(client, kind, sent)
    ours, theirs = decoded(kind, sent), decoded(kind, kept)
    assert (theirs.spec, theirs.status) == (ours.spec, ours.status)
    assert theirs.metadata.name == sent["metadata"]["name"]
    assert theirs.metadata.uid


@pytest.mark.parametrize(("kind", "index"), ALL, ids=IDS)
def test_nothing_of_an_example_is_unknown_to_the_schema(client: Client, kind: Kind, index: int) -> None:
    sent = examples(kind)[index]
    kept = stored(client, kind, sent)
    assert contains(kept.get("spec", {}), sent.get("spec", {}))
    assert contains(kept.get("status", {}), sent.get("status", {}))


def contains(whole: Any, part: Any) -> bool:
    if isinstance(part, dict):
        return all(key in whole and contains(whole[key], value) for key, value in part.items())
    if isinstance(part, list):
        return len(whole) == len(part) and all(map(contains, whole, part))
    return whole == part


@KINDS
def test_the_full_examples_use_every_field(kind: Kind) -> None:
    schema = crd.manifest(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    unused = {
        path for path in paths(schema["properties"]) if not any(has(one, path) for one in examples(kind))
    }
    assert unused - {("apiVersion",), ("kind",), ("metadata",)} == set()


def paths(properties: dict[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, schema in properties.items():
        yield (*above, name)
        yield from paths(schema.get("items", schema).get("properties", {}), (*above, name))


def has(manifest: Any, path: tuple[str, ...]) -> bool:
    if isinstance(manifest, list):
        return any(has(item, path) for item in manifest)
    return not path or (
        isinstance(manifest, dict) and path[0] in manifest and has(manifest[path[0]], path[1:])
    )


@KINDS
def test_the_server_fills_in_the_defaults_of_the_structs(client: Client, kind: Kind) -> None:
    kept = client.create(kind, minimal(kind), dry_run=True).object
    spec = decoded(kind, minimal(kind)).spec
    assert without_empty(kept["spec"]) == without_empty(everything(spec))
    assert "status" not in kept


def everything(value: Any) -> Any:
    """A Struct as JSON with its defaults written out."""
    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.fields(value)
        return {one.encode_name: everything(getattr(value, one.name)) for one in fields}
    if isinstance(value, tuple):
        return [everything(item) for item in value]
    return msgspec.to_builtins(value)


def without_empty(value: Any) -> Any:
    """Nothing and empty say the same, so only the rest has to agree."""
    if isinstance(value, list):
        return [without_empty(item) for item in value]
    if isinstance(value, dict):
        kept = {key: without_empty(one) for key, one in value.items()}
        return {key: one for key, one in kept.items() if one not in (None, "", [], {})}
    return value


def test_null_means_absent(client: Client) -> None:
    sent = changed(minimal(UPGRADE_CONFIG), "spec.paused", False)
    sent["spec"] |= {"upgradeAt": None, "approval": None, "windows": None}
    kept = client.create(UPGRADE_CONFIG, sent, dry_run=True).object
    assert decoded(UPGRADE_CONFIG, kept).spec == decoded(UPGRADE_CONFIG, minimal(UPGRADE_CONFIG)).spec


def test_a_pool_can_be_scaled(client: Client) -> None:
    created = client.create(MACHINE_POOL, minimal(MACHINE_POOL)).object
    name, uid = created["metadata"]["name"], created["metadata"]["uid"]
    try:
        path = MACHINE_POOL.path("", name, "scale")
        scale = json.loads(client.raw("GET", path))
        client.raw("PUT", path, body=json.dumps({**scale, "spec": {"replicas": 7}}).encode())
        assert client.get(MACHINE_POOL, name)["spec"]["replicas"] == 7
    finally:
        client.delete(MACHINE_POOL, name, uid=uid)


def test_the_oldest_supported_server_takes_them_too(private_cluster: Callable[[Settings], Cluster]) -> None:
    old = private_cluster(Settings(components=API_ONLY, emulate="1.33"))
    with Client(old.credentials()) as client:
        for manifest in crd.manifests():
            client.create(CUSTOM_RESOURCE_DEFINITION, manifest)
        wait_established(client)
        for kind in api.TYPES:
            kept = client.create(kind, full(kind), dry_run=True).object
            assert decoded(kind, kept).spec == decoded(kind, full(kind)).spec


def table(credentials: Credentials, path: str) -> dict[str, Any]:
    server = credentials.server
    ssl_context = credentials.ssl_context()
    assert ssl_context
    with httpx2.Client(
        base_url=f"{server.scheme}://{server.host}:{server.port}{server.prefix}",
        verify=ssl_context,
        headers={**dict(credentials.headers()), "Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"},
    ) as http:
        return http.get(path).raise_for_status().json()


@KINDS
def test_the_columns_show_what_a_person_wants_first(client: Client, api_server: Cluster, kind: Kind) -> None:
    sent = full(kind)
    created = client.create(kind, sent).object
    meta = created["metadata"]
    try:
        client.update(kind, {**created, "status": sent["status"]}, "status")
        shown = table(api_server.credentials(), kind.path(NAMESPACE))
    finally:
        client.delete(kind, meta["name"], meta.get("namespace", ""), uid=meta["uid"])
    names = [column["name"] for column in shown["columnDefinitions"]]
    [row] = shown["rows"]
    cells = dict(zip(names, row["cells"], strict=True))
    assert names == ["Name", *(column.name for column in crd.columns(api.TYPES[kind]))]
    assert {name: cell for name, cell in cells.items() if cell in (None, "", "<none>")} == {}


def test_the_columns_read_as_a_sentence(client: Client, api_server: Cluster) -> None:
    sent = full(UPGRADE_CONFIG)
    created = client.create(UPGRADE_CONFIG, sent).object
    try:
        client.update(UPGRADE_CONFIG, {**created, "status": sent["status"]}, "status")
        [row] = table(api_server.credentials(), UPGRADE_CONFIG.path())["rows"]
    finally:
        client.delete(UPGRADE_CONFIG, "cluster", uid=created["metadata"]["uid"])
    assert row["cells"][:7] == ["cluster", "4.19.9", "4.20.1", "Upgrading", "12/59", "40/120", True]
