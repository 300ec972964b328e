"""What a version may own, and how what it is made of is told apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest

from shiplift.facts.kinds import CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT
from shiplift.kube.client import Client
from shiplift.operators.names import BUNDLE, INVENTORY
from shiplift.operators.observe.pieces import digest_of, has_pods, inventory, kinds_of

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


class Pods:
    """A door behind which there are these pods."""

    def __init__(self, *pods: dict[str, Any]) -> None:
        self._pods = pods

    def list(self, *_: object) -> Iterator[dict[str, Any]]:
        return iter(self._pods)


def pod(replica_set: str, phase: str = "Running", **meta: str) -> dict[str, Any]:
    owner = {"kind": "ReplicaSet", "name": replica_set}
    about = {"labels": {"pod-template-hash": "abc"}, "ownerReferences": [owner], **meta}
    return {"metadata": about, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (pod("boats-abc"), True),
        (pod("boats-abc", deletionTimestamp="2026-11-18T00:00:00Z"), True),
        (pod("boats-abc", "Failed"), False),
        (pod("fleet-abc"), False),
        (pod("boats-big-abc"), False),
    ],
)
def test_a_pod_acts_until_it_has_ended_whoever_has_deleted_it(found: dict[str, Any], expected: bool) -> None:
    client = cast("Client", Pods(found))
    assert has_pods(client, "ops", "boats", "app=boats") is expected
