"""Existing objects are checked by the API server itself; nothing of them changes, and no shadow is left."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from shiplift.api.operators import RuleAction
from shiplift.facts.kinds import CUSTOM_RESOURCE_DEFINITION, Kind
from shiplift.kube.client import Client, PatchType
from shiplift.kube.errors import Invalid, NotFound
from shiplift.local.cluster import Cluster
from shiplift.operators.crds import existing
from shiplift.operators.crds.existing import ExistingError
from tests.operators.crds.building import Json, crd, spec_of, version
from tests.until import until

OBJECTS = 1_000


class _StoppedError(Exception):
    """Something that goes wrong half-way."""


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Client]:
    with cluster.client() as client:
        yield client


@pytest.fixture
def boats(client: Client, namespace: str) -> Iterator[Kind]:
    """A kind of this test's own, with an object of which the size is 7."""
    plural = f"boats{namespace[-6:]}"
    client.create(CUSTOM_RESOURCE_DEFINITION, definition(plural, size={"type": "integer"}))
    kind = Kind("Boat", plural, "harbour.example")
    served(client, kind)
    client.create(kind, boat("first", size=7), namespace)
    yield kind
    made = client.get(CUSTOM_RESOURCE_DEFINITION, f"{plural}.harbour.example")
    client.delete(CUSTOM_RESOURCE_DEFINITION, made["metadata"]["name"], uid=made["metadata"]["uid"])


def definition(plural: str, name: str = "v1", **properties: Any) -> Json:
    return crd(version(name, spec_of(**properties)), plural=plural)


def boat(name: str, **spec: Any) -> Json:
    return {"metadata": {"name": name}, "spec": spec}


def served(client: Client, kind: Kind) -> None:
    def is_served() -> bool:
        with contextlib.suppress(NotFound):
            return list(client.list(kind)) is not None
        return False

    until(is_served)


def shadows(client: Client) -> list[str]:
    selector = existing.SHADOW
    found = client.list(CUSTOM_RESOURCE_DEFINITION, label_selector=selector)
    return [one["metadata"]["name"] for one in found if "deletionTimestamp" not in one["metadata"]]


def checked(client: Client, new: Json) -> existing.Checked:
    found = existing.check(client, new)
    assert found
    return found


def test_objects_that_fit_are_counted(client: Client, boats: Kind) -> None:
    wider = definition(boats.plural, size={"type": "integer", "minimum": 1}, sail={"type": "string"})
    assert checked(client, wider) == existing.Checked(1)


def test_an_object_that_would_be_refused_is_named_with_the_servers_reason(
    client: Client, boats: Kind, namespace: str
) -> None:
    client.create(boats, boat("small", size=3), namespace)
    found = checked(client, definition(boats.plural, size={"type": "integer", "maximum": 5}))
    assert (found.objects, found.already) == (2, 0)
    ((name, why),) = found.refused
    assert name == f"{namespace}/first"
    assert "spec.size" in why
    assert "should be less than or equal to 5" in why
    (told,) = existing.findings("boats", found, RuleAction.DENY)
    assert told.message.startswith(f"{name} would be refused: spec.size: ")


def test_rules_in_cel_are_asked_too(client: Client, boats: Kind) -> None:
    odd = {"type": "integer", "x-kubernetes-validations": [{"rule": "self % 2 == 0", "message": "odd"}]}
    assert "odd" in checked(client, definition(boats.plural, size=odd)).refused[0][1]


def test_an_object_that_is_invalid_already_does_not_count(
    client: Client, boats: Kind, namespace: str
) -> None:
    """It came before the schema that is in force: what is stored is not looked at when a schema changes."""
    narrow(client, boats, {"type": "integer", "maximum": 5})
    with pytest.raises(Invalid):
        client.create(boats, boat("second", size=7), namespace)
    narrower = definition(boats.plural, size={"type": "integer", "maximum": 4})
    assert checked(client, narrower) == existing.Checked(1, (), 1)


def narrow(client: Client, kind: Kind, schema: Json) -> None:
    name = f"{kind.plural}.{kind.group}"
    live = client.get(CUSTOM_RESOURCE_DEFINITION, name)
    path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size"
    patch = [{"op": "replace", "path": path, "value": schema}]
    client.patch(CUSTOM_RESOURCE_DEFINITION, name, patch, type=PatchType.JSON, uid=live["metadata"]["uid"])

    def is_in_force() -> bool:
        with contextlib.suppress(Invalid):
            namespace = next(iter(client.list(kind)))["metadata"]["namespace"]
            client.create(kind, boat("probe", size=999), namespace, dry_run=True)
            return False
        return True

    until(is_in_force)


def test_where_no_version_stays_every_object_is_told(client: Client, boats: Kind) -> None:
    found = checked(client, definition(boats.plural, "v2", size={"type": "integer"}))
    assert [why for _, why in found.refused] == ["no version that is served now would be there"]


def test_a_kind_that_the_cluster_does_not_know_has_no_objects(client: Client) -> None:
    assert existing.check(client, definition("submarines", size={"type": "integer"})) is None


def test_no_shadow_is_left_even_when_the_check_fails(client: Client, boats: Kind) -> None:
    before = shadows(client)
    fine = definition(boats.plural, size={"type": "integer"})
    broken = definition(boats.plural, size={"type": "integer", "properties": {}, "items": {}})
    broken["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["type"] = "array"
    with pytest.raises(Invalid):
        existing.check(client, broken)
    with contextlib.suppress(_StoppedError), existing.shadow(client, fine, "v1"):
        assert len(shadows(client)) == len(before) + 1
        raise _StoppedError
    assert shadows(client) == before


def test_a_shadow_that_was_left_behind_is_removed(
    client: Client, boats: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = existing.shadow_of(definition(boats.plural, size={"type": "integer"}), "v1", f"s{boats.plural}")
    client.create(CUSTOM_RESOURCE_DEFINITION, left)
    existing.remove_leftovers(client)
    assert left["metadata"]["name"] in shadows(client)
    monkeypatch.setattr(existing, "_LEFT_BEHIND", -1.0)
    existing.remove_leftovers(client)
    assert left["metadata"]["name"] not in shadows(client)


def test_a_term_removes_shadows_of_earlier_terms_and_no_others(client: Client, boats: Kind) -> None:
    for name, mark in (("sone", "term-1"), ("stwo", "term-2"), ("sthree", existing.MARK)):
        one = existing.shadow_of(definition(boats.plural, size={"type": "integer"}), "v1", name, mark)
        client.create(CUSTOM_RESOURCE_DEFINITION, one)
    existing.remove_leftovers(client, "term-2")
    left = {name.partition(".")[0] for name in shadows(client)}
    assert "sone" not in left
    assert {"stwo", "sthree"} <= left
    existing.remove_leftovers(client, "term-3")
    assert "stwo" not in {name.partition(".")[0] for name in shadows(client)}
    live = client.get(CUSTOM_RESOURCE_DEFINITION, f"sthree.{existing.GROUP}")
    client.delete(CUSTOM_RESOURCE_DEFINITION, f"sthree.{existing.GROUP}", uid=live["metadata"]["uid"])


def test_a_check_that_takes_too_long_is_given_up_and_leaves_no_shadow(client: Client, boats: Kind) -> None:
    before = shadows(client)
    with pytest.raises(ExistingError, match="too many to check in time"):
        existing.check(client, definition(boats.plural, size={"type": "integer"}), most_seconds=-1.0)
    assert shadows(client) == before


def test_a_thousand_objects_are_all_looked_at_and_stay_as_they_are(
    client: Client, boats: Kind, namespace: str
) -> None:
    for number in range(OBJECTS - 1):
        client.create(boats, boat(f"b{number}", size=number % 10), namespace)
    before = {one["metadata"]["name"]: one for one in client.list(boats)}
    found = checked(client, definition(boats.plural, size={"type": "integer", "maximum": 8}))
    assert found.objects == OBJECTS == len(before)
    assert len(found.refused) == sum(one["spec"]["size"] > 8 for one in before.values()) == 99
    assert {one["metadata"]["name"]: one for one in client.list(boats)} == before
    told = existing.findings("boats", found, RuleAction.WARN)
    assert told[-1].message == "and 79 more objects"
