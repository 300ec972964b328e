"""A migration from its first node to its clean end, in both modes."""

from __future__ import annotations

from tests.operated import OLD
from tests.workloads.rig import Scene


def shop(scene: Scene) -> str:
    """Three workloads in a row: web needs api, api needs db."""
    space = scene.namespace()
    scene.stateful_set(space, "db", 2)
    scene.deployment(space, "api", 2)
    scene.deployment(space, "web", 3)
    scene.order(space, web=["api"], api=["sts/db"])
    scene.wait_ready(space, db=2, api=2, web=3)
    return space


def test_workloads_move_in_dependency_order_and_nothing_is_left(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = shop(scene)
    scene.begin()
    scene.finish(old)
    assert scene.arrived(space, "db", "api", "web")
    assert "target" not in scene.status()


def test_mode_template_does_it_the_seeds_way(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = shop(scene)
    scene.begin(mode="Template")
    scene.finish(old)
    assert scene.arrived(space, "db", "api", "web")
    scene.wait(lambda: len(scene.status().get("inertTolerations", [])) == 3)
