"""A deadline of whoever drains nodes, on the real API server: the order is kept until it cannot be."""

from __future__ import annotations

from shiplift.facts import kinds
from tests.operated import OLD
from tests.until import until
from tests.workloads.rig import Scene


def test_who_is_held_on_a_node_that_is_drained_is_let_go_before_the_other_side_stops_waiting(
    scene: Scene,
) -> None:
    old, space = scene.nodes("old", OLD), scene.namespace()
    scene.gate(space)
    scene.deployment(space, "web", 2)
    scene.order(space, web=["gate"])
    scene.wait_ready(space, web=2)
    scene.begin(drainDeadline="10s")
    scene.wait_held(space)
    assert scene.status().get("draining", []) == []
    for name in old.names():
        scene.change(kinds.NODE, "", name, {"spec": {"unschedulable": True}})
    until(lambda: scene.arrived(space, "web"), 60)
    told = scene.status()
    assert {one["node"] for one in told["draining"]} == set(old.names())
    assert {one["reason"] for one in told["exceptions"]} == {"DrainDeadline"}
    assert {one["workload"] for one in told["exceptions"]} == {f"Deployment {space}/web"}
    assert not scene.arrived(space, "gate"), "what it depends on has not moved"
    for name in old.names():
        scene.change(kinds.NODE, "", name, {"spec": {"unschedulable": False}})
    scene.open_gate()
    until(lambda: scene.arrived(space, "gate", "web"), 60)
    scene.finish(old)
