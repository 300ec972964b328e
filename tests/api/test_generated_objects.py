"""Struct and schema agree: what fits the one, the real API server takes; what it takes fits the other.

The only thing that may be said against a fitting object is a CEL rule: those look at several fields at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from shiplift import api
from shiplift.facts.kinds import UPGRADE_CONFIG, Kind
from shiplift.kube.client import Client
from shiplift.kube.errors import Invalid
from tests.api.api_examples import changed, full, minimal
from tests.api.api_values import any_json, fitting
from tests.api.test_crd_refusals import messages_of_rules

RULES = messages_of_rules()
something = any_json.filter(lambda value: value is not None)
KINDS = pytest.mark.parametrize("kind", api.TYPES, ids=str)


def tried(count: int) -> settings:
    return settings(
        max_examples=count, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )


def part_of(kind: Kind, name: str) -> type:
    return next(one.type for one in msgspec.structs.fields(api.TYPES[kind]) if one.name == name)


def decoded(kind: Kind, manifest: dict[str, Any]) -> Any:
    return api.decode(kind, json.dumps(manifest).encode())


def broken_rules(refusal: Invalid) -> list[str]:
    return [rule for cause in refusal.causes for rule in RULES if cause.message.endswith(rule)]


@contextmanager
def stored(client: Client, kind: Kind, manifest: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The object on the server, for as long as it is needed."""
    created = client.create(kind, manifest).object
    meta = created["metadata"]
    try:
        yield created
    finally:
        client.delete(kind, meta["name"], meta.get("namespace", ""), uid=meta["uid"])


def answer(client: Client, kind: Kind, sent: dict[str, Any], subresource: str) -> dict[str, Any] | Invalid:
    """What the server would keep of this object, or what it has against it."""
    try:
        if subresource:
            return client.update(kind, sent, subresource, dry_run=True).object
        return client.create(kind, sent, dry_run=True).object
    except Invalid as refusal:
        return refusal


def check_agreement(client: Client, kind: Kind, sent: dict[str, Any], subresource: str = "") -> None:
    ours = decoded(kind, sent)
    written = json.loads(msgspec.json.encode(ours)) | {"metadata": sent["metadata"]}
    kept = answer(client, kind, {"status": {}, **written}, subresource)
    if isinstance(kept, Invalid):
        event("refused by a rule")
        assert len(broken_rules(kept)) == len(kept.causes), kept.message
    else:
        part = subresource or "spec"
        assert getattr(decoded(kind, kept), part) == getattr(ours, part)


@KINDS
def test_a_fitting_spec_is_accepted_and_comes_back_equal(client: Client, kind: Kind) -> None:
    @tried(25)
    @given(fitting(part_of(kind, "spec")))
    def agree(spec: dict[str, Any]) -> None:
        check_agreement(client, kind, minimal(kind) | {"spec": spec})

    agree()


@KINDS
def test_a_fitting_status_is_accepted_and_comes_back_equal(client: Client, kind: Kind) -> None:
    @tried(25)
    @given(fitting(part_of(kind, "status")))
    def agree(status: dict[str, Any]) -> None:
        check_agreement(client, kind, {**example, "status": status}, "status")

    with stored(client, kind, minimal(kind)) as example:
        agree()


def places(value: Any, above: str) -> list[str]:
    """The dotted path of everything below a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    below = [(f"{above}.{key}", one) for key, one in items if "." not in str(key)]
    return [path for path, _ in below] + [path for start, one in below for path in places(one, start)]


def check_readable(client: Client, kind: Kind, sent: dict[str, Any], subresource: str = "") -> None:
    """The operator must never meet an object of its own that it cannot read."""
    kept = answer(client, kind, sent, subresource)
    event("refused" if isinstance(kept, Invalid) else "accepted")
    assert isinstance(kept, Invalid) or decoded(kind, kept)


@KINDS
@tried(60)
@given(data=st.data())
def test_whatever_spec_the_server_takes_can_be_read(client: Client, kind: Kind, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(places(full(kind)["spec"], "spec")))
    check_readable(client, kind, changed(full(kind), path, data.draw(something)))


@KINDS
def test_whatever_status_the_server_takes_can_be_read(client: Client, kind: Kind) -> None:
    @tried(60)
    @given(st.sampled_from(places(full(kind)["status"], "status")), something)
    def readable(path: str, value: Any) -> None:
        check_readable(
            client, kind, changed({**example, "status": full(kind)["status"]}, path, value), "status"
        )

    with stored(client, kind, minimal(kind)) as example:
        readable()


@pytest.mark.parametrize("value", [[], ["2026-05-01T22:00:00Z"], {}, 5, "2026-02-30T00:00:00Z", "now"])
def test_a_time_is_nothing_but_a_time(client: Client, value: Any) -> None:
    with pytest.raises(Invalid, match=r"spec.upgradeAt"):
        client.create(UPGRADE_CONFIG, changed(full(UPGRADE_CONFIG), "spec.upgradeAt", value), dry_run=True)
