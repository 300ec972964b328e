"""What a version may own, and how what it is made of is told apart."""

from __future__ import annotations

import pytest

from shiplift.facts.kinds import CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT
from shiplift.operators.names import BUNDLE, INVENTORY
from shiplift.operators.observe.pieces import digest_of, inventory, kinds_of

CRD = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "x"}}
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "ops"}}


def test_the_kinds_of_a_version_are_written_down_and_read_again() -> None:
    assert kinds_of({INVENTORY: inventory([CRD, MAP, MAP])}) == {CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION}


@pytest.mark.parametrize("text", [None, "", "[]", "no JSON", '[{"kind": 3}]'])
def test_where_nobody_says_it_may_own_anything(text: str | None) -> None:
    found = kinds_of({INVENTORY: text} if text is not None else {})
    assert {DEPLOYMENT, CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION} <= found
    assert len(found) > 8


def test_the_same_of_two_versions_has_one_digest() -> None:
    def of(bundle: str, **more: str) -> str:
        meta = {"name": "x", "annotations": {BUNDLE: bundle, **more}}
        return digest_of({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})

    assert of("a.v1") == of("a.v2")
    assert of("a.v1") != of("a.v1", other="x")
