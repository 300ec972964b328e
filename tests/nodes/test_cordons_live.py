"""Cordons and pods that others touch meanwhile, on a real API server."""

from __future__ import annotations

from typing import Any

from shiplift.api.marks import CORDONED_BY
from shiplift.facts import kinds
from tests.nodes.rig import Scene
from tests.operated import NEW
from tests.until import until


def _mark(scene: Scene, node: str) -> str:
    return scene.notes(node).get(CORDONED_BY, "")


def test_a_node_whose_mark_is_taken_off_at_once_is_uncordoned_and_one_by_hand_stays(scene: Scene) -> None:
    nodes = scene.nodes(2)
    rollout = scene.roll()
    scene.rig.start()
    until(lambda: _mark(scene, nodes[0]) == rollout)
    scene.change(kinds.NODE, nodes[0], {"metadata": {"annotations": {CORDONED_BY: None}}})
    until(lambda: scene.version(nodes[0]) == NEW and not scene.cordoned(nodes[0]))
    scene.change(kinds.NODE, nodes[0], {"spec": {"unschedulable": True}})
    scene.phase(rollout, "Complete", 60)
    assert [scene.cordoned(one) for one in nodes] == [True, False]
    assert scene.residue() == [f"{nodes[0]}: cordon"]


def test_pods_that_come_back_to_a_cordoned_node_are_evicted_once(scene: Scene) -> None:
    (node,), space = scene.nodes(1), scene.namespace()
    scene.deployment(space, "web", 2)
    stays: dict[str, Any] = {"spec": {"template": {"spec": {"tolerations": [{"operator": "Exists"}]}}}}
    scene.change(kinds.DEPLOYMENT, "web", stays, space)
    scene.budget(space, "web", minAvailable=1)
    until(lambda: _tolerating(scene, space) == 2, 60)
    first = {one["metadata"]["uid"] for one in scene.client.list(kinds.POD, space)}
    rollout = scene.roll()
    scene.rig.start()
    seen: set[str] = set(first)

    def over() -> bool:
        seen.update(one["metadata"]["uid"] for one in scene.client.list(kinds.POD, space))
        return scene.status(rollout).get("phase") == "Complete"

    until(over, 60)
    assert scene.version(node) == NEW
    assert len(seen) <= 4, "each of two is evicted at most once"


def _tolerating(scene: Scene, space: str) -> int:
    """Pods that are Ready and stay where others do not; all others are gone."""
    pods = list(scene.client.list(kinds.POD, space))
    ready = [one for one in pods if any(_is_ready(each) for each in one["status"].get("conditions", []))]
    tolerant = [one for one in ready if {"operator": "Exists"} in one["spec"].get("tolerations", [])]
    return len(tolerant) if len(tolerant) == len(pods) else 0


def _is_ready(condition: dict[str, Any]) -> bool:
    return (condition["type"], condition["status"]) == ("Ready", "True")
