"""Objects of ours that somebody else deletes again and again are made more slowly each time, and it is
told."""

from __future__ import annotations

import threading
from datetime import timedelta

import msgspec

from shiplift.api.workloads import Hold, Turn
from shiplift.engine.contested import Memory
from shiplift.engine.step import Step
from shiplift.facts import kinds
from shiplift.kube.errors import KubeError
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.model import Migrating
from shiplift.workloads.names import PLACEMENT
from shiplift.workloads.steps import DeleteHold, DeletePlacement, MakeHold, WritePlacement
from tests.workloads.rig import NEW, OLD, Scene
from tests.workloads.views import DEPLOYMENT, an_id, look, say, under_way
from tests.workloads.world import SPACE, World

HOLD = "shiplift-hold-deployment-web"


def a_shop() -> World:
    """web waits for api, so it is held."""
    world = under_way((DEPLOYMENT, "web", 3), (DEPLOYMENT, "api", 1), hold=Hold.ALWAYS)
    world.order("order", [(an_id("web"), an_id("api"))])
    return world


def decided(world: World, memory: Memory, seconds: float = 0.0) -> Migrating:
    view = msgspec.structs.replace(look(world), changes=memory.changes)
    return decide(view, world.now + timedelta(seconds=seconds))


def only(decision: Migrating, of: type[Step]) -> Step:
    (step,) = [step for step in decision.steps if isinstance(step, of)]
    return step


def has(decision: Migrating, of: type[Step]) -> bool:
    return any(isinstance(step, of) for step in decision.steps)


def made(world: World, of: type[Step], times: int) -> Memory:
    """A step of that type was taken so often."""
    memory = Memory()
    step = only(decided(world, memory), of)
    for _ in range(times):
        memory.note(step, world.now)
    return memory


def test_a_hold_that_somebody_deletes_is_made_again_more_slowly_each_time_and_told() -> None:
    world = a_shop()
    memory = made(world, MakeHold, 2)
    at_once = decided(world, memory)
    assert not has(at_once, MakeHold)
    (note,) = [note for note in at_once.notes if "deleted by somebody else" in note]
    assert note.startswith(f"PodDisruptionBudget {SPACE}/{HOLD}, by which we hold Deployment {SPACE}/web, is")
    assert not has(decided(world, memory, 3.0), MakeHold)
    assert has(decided(world, memory, 5.0), MakeHold)


def test_a_placement_that_somebody_deletes_is_made_again_more_slowly_each_time_and_told() -> None:
    world = a_shop()
    memory = made(world, WritePlacement, 2)
    at_once = decided(world, memory)
    assert not has(at_once, WritePlacement)
    (note,) = [note for note in at_once.notes if "deleted by somebody else" in note]
    assert note.startswith(f"WorkloadPlacement {SPACE}/{PLACEMENT} is deleted")
    assert has(decided(world, memory, 5.0), WritePlacement)


def test_a_placement_that_says_something_else_is_written_at_once() -> None:
    world = a_shop()
    memory = made(world, WritePlacement, 5)
    say(world, {"Deployment.web": Turn.HELD})
    decision = decided(world, memory)
    assert has(decision, WritePlacement)
    assert not [note for note in decision.notes if "deleted by somebody else" in note]


def test_what_we_delete_ourselves_nobody_else_has_deleted() -> None:
    world = a_shop()
    memory = made(world, MakeHold, 2)
    memory.note(only(decided(world, memory, 9.0), WritePlacement), world.now)
    memory.note(DeleteHold(SPACE, HOLD, "uid", 1), world.now)
    memory.note(DeletePlacement(SPACE, "uid", 1), world.now)
    assert memory.changes == {}


# --- on a real API server ---


def delete_until(scene: Scene, space: str, over: threading.Event, seen: list[str]) -> None:
    while not over.wait(0.05):
        try:
            found = scene.client.get(kinds.POD_DISRUPTION_BUDGET, HOLD, space)
            scene.client.delete(kinds.POD_DISRUPTION_BUDGET, HOLD, space, uid=found["metadata"]["uid"])
            seen.append(found["metadata"]["uid"])
        except KubeError:
            continue


def test_a_fight_over_a_hold_is_slow_and_told(scene: Scene) -> None:
    """A hundred times in ten seconds, in silence: seen before it was noticed."""
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    scene.gate(space)
    scene.deployment(space, "web", 2)
    scene.order(space, web=["gate"])
    scene.wait_ready(space, web=2)
    scene.nodes("new", NEW)
    scene.migrate(hold="Always")
    scene.rig.start()
    scene.wait_held(space)
    over, seen = threading.Event(), list[str]()
    fight = threading.Thread(target=delete_until, args=(scene, space, over, seen), daemon=True)
    fight.start()
    try:
        name = f"PodDisruptionBudget {space}/{HOLD}"
        scene.wait(lambda: [one for one in scene.status().get("notes", ()) if one.startswith(name)])
        over.wait(8)
    finally:
        over.set()
        fight.join(10)
    assert 2 <= len(set(seen)) <= 8
    scene.open_gate()
    scene.finish(old)
    assert scene.arrived(space, "web")
