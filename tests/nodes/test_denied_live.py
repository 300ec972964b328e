"""Somebody denies what a rollout has to write, on a real API server: it is told, and nothing is lost."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from shiplift.facts import kinds
from tests.nodes.rig import Scene
from tests.operated import NEW
from tests.until import until

POLICY, BINDING = kinds.VALIDATING_ADMISSION_POLICY, kinds.VALIDATING_ADMISSION_POLICY_BINDING


@contextlib.contextmanager
def denied(scene: Scene, group: str, resource: str, allowed: str) -> Iterator[None]:
    """A policy lets only those updates of a resource through of which an expression is true."""
    name = f"denied-{scene.name}"
    rule = {"apiGroups": [group], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": [resource]}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": allowed}]}
    bound = {"policyName": name, "validationActions": ["Deny"]}
    scene.client.create(POLICY, {"metadata": {"name": name}, "spec": spec})
    scene.client.create(BINDING, {"metadata": {"name": name}, "spec": bound})
    try:
        yield
    finally:
        for kind in (BINDING, POLICY):
            uid = scene.client.get(kind, name)["metadata"]["uid"]
            scene.client.delete(kind, name, uid=uid)


def test_a_status_that_cannot_be_written_is_told_by_an_event_and_nothing_is_begun(scene: Scene) -> None:
    (node,) = scene.nodes(1)
    with denied(scene, "shiplift.dev", "noderollouts/status", "false"):
        rollout = scene.roll()
        scene.rig.start()
        until(lambda: "CannotTell" in scene.events(rollout), 60, 0.5)
        assert not scene.cordoned(node)
    scene.phase(rollout, "Complete", 90)
    assert scene.version(node) == NEW


@pytest.mark.long(seconds=65)
def test_a_node_that_cannot_be_given_back_keeps_its_slot_and_needs_somebody(scene: Scene) -> None:
    first, *others = scene.nodes(3)
    kept = f"object.metadata.name != '{first}' || !has(oldObject.spec.unschedulable)"
    kept += " || (has(object.spec.unschedulable) && object.spec.unschedulable)"
    with denied(scene, "", "nodes", kept):
        rollout = scene.roll(maxUnavailable=1)
        scene.rig.start()
        told = until(lambda: _stalled(scene, rollout), 120, 0.5)
        assert told["reason"] == "CannotBeDone"
        assert f"uncordon node {first}" in told["message"]
        assert scene.cordoned(first)
        assert not any(map(scene.cordoned, others))
        assert sum(bool(one.get("token")) for one in scene.status(rollout)["nodes"]) == 2
    scene.phase(rollout, "Complete", 90)
    assert scene.residue() == []


def _stalled(scene: Scene, rollout: str) -> dict[str, str] | None:
    found = scene.status(rollout).get("conditions", [])
    return next((one for one in found if (one["type"], one["status"]) == ("Stalled", "True")), None)
