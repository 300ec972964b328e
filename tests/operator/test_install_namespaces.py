"""What is installed: rights where they are needed and nowhere else, and never to all Secrets."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import msgspec
import pytest

from shiplift.engine.layer import Layer
from shiplift.facts.kinds import CONFIG_MAP, SECRET
from shiplift.facts.meta import Row
from shiplift.kube import rbac
from shiplift.kube.part import Context, LayerPart
from shiplift.kube.watch import Watch
from shiplift.operator import install
from shiplift.operator.layers import LAYERS

SYSTEM = "shiplift-system"


def _make(_: Context) -> Layer[Any, Any, Any]:
    raise AssertionError("nothing is made")


def _nobody(*_: Row | object | None) -> tuple[Hashable, ...]:
    return ()


PART = LayerPart("reader", (Watch(CONFIG_MAP, "ops"), Watch(CONFIG_MAP, SYSTEM)), _nobody, _make)


def rights(part: LayerPart) -> dict[tuple[str, str], list[rbac.Rule]]:
    """By kind of role and namespace."""
    return {
        (one["kind"], one["metadata"].get("namespace", "")): one["rules"]
        for one in install.manifests(SYSTEM, [part])
        if one["kind"] in ("Role", "ClusterRole") and one["metadata"]["name"] == install.ACCOUNT
    }


def reads(rules: list[rbac.Rule]) -> bool:
    return any(CONFIG_MAP.plural in one["resources"] for one in rules)


def test_what_is_watched_in_one_namespace_is_granted_there_only() -> None:
    found = rights(PART)
    assert {where for where, rules in found.items() if reads(rules)} == {("Role", "ops"), ("Role", SYSTEM)}
    assert ("RoleBinding", "ops") in {
        (one["kind"], one["metadata"].get("namespace")) for one in install.manifests(SYSTEM, [PART])
    }


@pytest.mark.parametrize(
    "part",
    [
        msgspec.structs.replace(PART, watches=(Watch(SECRET),)),
        msgspec.structs.replace(PART, rules=(rbac.rule("", ["secrets"], ["get"], ["mine"]),)),
    ],
)
def test_no_layer_gets_a_right_to_secrets_across_the_cluster(part: LayerPart) -> None:
    with pytest.raises(ValueError, match="asks for Secrets of the whole cluster"):
        install.manifests(SYSTEM, [part])


def test_the_layers_that_there_are_ask_for_none() -> None:
    assert install.manifests(SYSTEM, LAYERS.values())
