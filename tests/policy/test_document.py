"""What a provider may say: its own fields, and nothing that is somebody else's."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from shiplift.kube.documents import read
from shiplift.policy.document import first
from tests.policy.views import AT, NEW


def test_yaml_and_json_are_the_same_policy() -> None:
    said = f"""
id: p1
desired: {{version: {NEW}}}
upgradeAt: {AT}
windows: [{{schedule: "0 22 * * *", duration: 2h}}]
"""
    json = msgspec.json.encode(
        {
            "id": "p1",
            "desired": {"version": NEW},
            "upgradeAt": AT,
            "windows": [{"schedule": "0 22 * * *", "duration": "2h"}],
        }
    )
    one, other = first(read(said)), first(read(json))
    assert one is not None
    assert one == other
    assert one.digest == (other.digest if other else "")
    assert one.fields["upgradeAt"] == AT


def test_of_several_the_first_counts_and_an_empty_list_is_none() -> None:
    many = {"policies": [{"id": "a", "desired": {"version": NEW}}, {"id": "b", "desired": {"version": NEW}}]}
    found = first(many)
    assert found is not None
    assert found.id == "a"
    assert first({"policies": []}) is None


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"id": "p", "desired": {"version": NEW}, "approved": {"by": "me"}}, "unknown field `approved`"),
        ({"id": "p", "desired": {"version": NEW}, "paused": True}, "unknown field `paused`"),
        ({"id": "p", "desired": {"version": NEW}, "notify": []}, "unknown field `notify`"),
        ({"id": "p", "desired": {"version": NEW}, "strategy": {}}, "unknown field `strategy`"),
        ({"id": "p"}, "missing required field `desired`"),
        ({"desired": {"version": NEW}}, "missing required field `id`"),
        ({"id": "", "desired": {"version": NEW}}, r"`\$\.id`"),
        ({"id": "p", "desired": {"version": "latest"}}, r"`\$\.desired\.version`"),
        ({"id": "p", "desired": {"version": NEW}, "upgradeAt": "soon"}, r"`\$\.upgradeAt`"),
        ({"id": "p", "desired": {"version": NEW}, "upgradeAt": "2026-11-20T02:00:00"}, r"`\$\.upgradeAt`"),
        ({"id": "p", "desired": {"version": NEW}, "PDBForceDrainTimeout": -1}, "PDBForceDrainTimeout"),
        ({"policies": [{"id": "p"}]}, r"`\$\[0\]`"),
        ({"policies": {}}, "Expected `array`"),
        ([], "Expected `object`"),
        ("x", "Expected `object`"),
    ],
)
def test_what_is_not_a_policy_is_refused_by_name(said: Any, why: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=why):
        first(said)
