"""From stored bytes to Structs: unknown fields pass, what does not fit is named, and nothing crashes."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift import api
from shiplift.api.values import Duration, Version
from shiplift.engine import versions
from shiplift.facts import kinds
from shiplift.facts.kinds import (
    MACHINE_POOL,
    OPERATOR_VERSION,
    UPGRADE_CONFIG,
    WORKLOAD_MIGRATION,
    WORKLOAD_ORDER,
    Kind,
)
from tests.api.api_examples import ALL, IDS, changed, examples, full, minimal


def raw(manifest: Any) -> bytes:
    return json.dumps(manifest).encode()


def test_every_kind_of_ours_has_a_struct() -> None:
    assert tuple(api.TYPES) == kinds.OURS
    assert all(kind == api.row_type(kind).KIND for kind in kinds.OURS)


@pytest.mark.parametrize(("kind", "index"), ALL, ids=IDS)
def test_what_is_encoded_is_decoded_again(kind: Kind, index: int) -> None:
    decoded = api.decode(kind, raw(examples(kind)[index]))
    assert api.decode(kind, msgspec.json.encode(decoded)) == decoded


@pytest.mark.parametrize("kind", api.TYPES, ids=str)
def test_unknown_fields_are_passed_over(kind: Kind) -> None:
    stored = full(kind)
    for part in ("metadata", "spec", "status"):
        stored = changed(stored, f"{part}.fromTheFuture", {"a": [1]})
    assert api.decode(kind, raw(stored)) == api.decode(kind, raw(full(kind)))


def test_absent_parts_have_their_defaults() -> None:
    decoded = api.decode(WORKLOAD_MIGRATION, raw(minimal(WORKLOAD_MIGRATION)))
    assert isinstance(decoded, api.WorkloadMigration)
    assert (decoded.spec.paused, decoded.spec.target, decoded.spec.soak) == (False, None, "0s")
    assert (decoded.status.state, decoded.status.workloads) == ("NoUpgrade", ())


def test_what_is_absent_or_default_is_not_sent() -> None:
    for kind in api.TYPES:
        assert sent(kind, minimal(kind)) == minimal(kind)


def sent(kind: Kind, manifest: dict[str, Any]) -> dict[str, Any]:
    """What we would send of this object after reading it."""
    return json.loads(msgspec.json.encode(api.decode(kind, raw(manifest))))


def test_the_fields_keep_the_names_of_the_api() -> None:
    spec = sent(OPERATOR_VERSION, full(OPERATOR_VERSION))["spec"]
    assert {"ownedCRDs", "requiredCRDs", "minKubernetesVersion"} <= set(spec)
    assert "PDBForceDrainTimeout" in sent(UPGRADE_CONFIG, full(UPGRADE_CONFIG))["spec"]


@pytest.mark.parametrize(
    ("kind", "path", "value", "message"),
    [
        (
            UPGRADE_CONFIG,
            "spec.type",
            "Talos",
            "UpgradeConfig cluster: spec.type:"
            " it has to be one of Kubeadm, OpenShift, External, and is 'Talos'",
        ),
        (
            UPGRADE_CONFIG,
            "spec.desired",
            None,
            "UpgradeConfig cluster: spec: object missing required field `desired`",
        ),
        (
            UPGRADE_CONFIG,
            "metadata.uid",
            5,
            "UpgradeConfig cluster: metadata.uid:"
            " it has to be a text, and is a whole number; put it in quotes",
        ),
        (
            MACHINE_POOL,
            "spec.replicas",
            "3",
            "MachinePool workers: spec.replicas: it has to be a whole number, and is a text",
        ),
        (
            WORKLOAD_ORDER,
            "spec.workloads.0.name",
            "",
            "WorkloadOrder default/shop: spec.workloads[0].name: expected `str` of length >= 1",
        ),
        (
            UPGRADE_CONFIG,
            "metadata.name",
            7,
            "UpgradeConfig (without a name): metadata.name:"
            " it has to be a text, and is a whole number; put it in quotes",
        ),
    ],
)
def test_an_object_that_does_not_fit_is_named_with_its_field(
    kind: Kind, path: str, value: Any, message: str
) -> None:
    with pytest.raises(api.UnfitObjectError) as refusal:
        api.decode(kind, raw(changed(minimal(kind), path, value)))
    assert str(refusal.value) == message
    assert refusal.value.hint


@pytest.mark.parametrize(
    "stored",
    [b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b"[" * 100_000, b'{"metadata":' * 5000],
    ids=lambda stored: repr(stored[:12]),
)
def test_bytes_that_are_no_object_are_one_clear_error(stored: bytes) -> None:
    with pytest.raises(api.UnfitObjectError, match=r"^UpgradeConfig \(without a name\): "):
        api.decode(UPGRADE_CONFIG, stored)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def places(value: Any, above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path for key, one in items for path in [(*above, str(key)), *places(one, (*above, str(key)))]]


@given(st.data())
def test_any_field_may_hold_anything_and_the_answer_is_an_object_or_one_error(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(tuple(api.TYPES)))
    path = data.draw(st.sampled_from(places(full(kind))))
    value = data.draw(json_values.filter(lambda value: value is not None))
    stored = changed(full(kind), ".".join(path), value) if all("." not in one for one in path) else full(kind)
    assert isinstance(object_or_error(kind, raw(stored)), (api.TYPES[kind], api.UnfitObjectError))


def object_or_error(kind: Kind, stored: bytes) -> api.Resource | api.UnfitObjectError:
    try:
        return api.decode(kind, stored)
    except api.UnfitObjectError as error:
        return error


@given(st.from_regex(Duration.__metadata__[0].pattern, fullmatch=True).filter(lambda text: len(text) >= 2))
def test_every_duration_that_the_server_accepts_is_read(text: str) -> None:
    assert api.duration(text) >= timedelta(0)


@pytest.mark.parametrize(
    ("text", "seconds"), [("0s", 0), ("90s", 90), ("15m", 900), ("1h30m", 5400), ("2h0m1s", 7201)]
)
def test_a_duration_is_hours_minutes_and_seconds(text: str, seconds: int) -> None:
    assert api.duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "5", "5d", "-1s", "1s1m", "1 h", "1.5h"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration such as"):
        api.duration(text)


@given(st.from_regex(Version.__metadata__[0].pattern, fullmatch=True, alphabet=st.characters(codec="ascii")))
def test_every_version_that_the_server_accepts_is_read(text: str) -> None:
    assert versions.parse(text.rstrip("\n"))


def unread(**more: Any) -> dict[str, Any]:
    """A WorkloadMigration that another version wrote: this one cannot read it."""
    whole = changed(full(WORKLOAD_MIGRATION), "spec.mode", "Teleport")
    return {**whole, "spec": {**whole["spec"], "abort": False, **more}}


def test_a_migration_that_is_aborted_or_deleted_is_known_to_be_whatever_else_it_says() -> None:
    with pytest.raises(api.UnfitObjectError, match=r"spec\.mode"):
        api.decode(WORKLOAD_MIGRATION, raw(unread()))
    aborted = api.decode(WORKLOAD_MIGRATION, raw(unread(abort=True)))
    assert isinstance(aborted, api.WorkloadMigration)
    assert (aborted.spec.abort, aborted.metadata.name) == (True, "cluster")
    deleted = changed(unread(), "metadata.deletionTimestamp", "2026-11-16T12:00:00Z")
    going = api.decode(WORKLOAD_MIGRATION, raw(deleted))
    assert going.metadata.deletion_timestamp is not None
    with pytest.raises(api.UnfitObjectError):
        api.decode(WORKLOAD_MIGRATION, raw(unread(abort="yes")))
