"""Objects of ours that somebody else deletes again and again are made more slowly each time, and it is
told."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta

import msgspec
import pytest

from shiplift.api.placements import PLACEMENT, Turn
from shiplift.api.workloads import Cleanup, Hold, Mode, OnBlockedWorkload
from shiplift.engine.contested import Memory
from shiplift.engine.step import Step
from shiplift.facts import kinds
from shiplift.facts.workloads import Deployment, HorizontalPodAutoscaler
from shiplift.kube.errors import KubeError
from shiplift.local.stages import READY_AFTER
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.model import Migrating
from shiplift.workloads.names import FINALIZER
from shiplift.workloads.record import Record, Surge
from shiplift.workloads.steps import DeleteHold, DeletePlacement, MakeHold, WritePlacement
from tests.model import nature
from tests.operated import NEW, OLD
from tests.workloads.halfway import gated_and_held
from tests.workloads.players import Operator, finish, run
from tests.workloads.rig import Json, Scene
from tests.workloads.views import DEPLOYMENT, an_id, look, say, under_way
from tests.workloads.world import NEW as NEW_VERSION
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


# --- a placement that records what has to be undone ---


WEB = an_id("web")


def a_surge() -> World:
    """A workload that no budget lets go, with an autoscaler."""
    world = under_way((DEPLOYMENT, "web", 2), on_blocked=OnBlockedWorkload.SURGE)
    world.budget("web", {"app": "web"}, {"minAvailable": "100%"})
    world.autoscaler(WEB, 2, 9)
    nature.settle(world)
    return world


def play(world: World, operator: Operator, until: Callable[[], bool], rounds: int = 60) -> None:
    for _ in range(rounds):
        if until():
            return
        operator.round()
        nature.tick(world)
        world.pass_time(5)
    raise AssertionError("it did not come to that")


def is_raised(world: World) -> bool:
    row = world.row_of(WEB)
    return row is not None and row.replicas == 3


def deleted_in_a_surge() -> tuple[World, Operator]:
    world = a_surge()
    operator = Operator(world)
    play(world, operator, lambda: is_raised(world))
    world.end_placement(SPACE)
    return world, operator


def test_deleted_in_the_middle_of_a_surge_it_stays_until_the_surge_is_over_and_is_made_again() -> None:
    world, operator = deleted_in_a_surge()
    first = world.placement(SPACE)
    assert first is not None
    assert first.finalizers == (FINALIZER,)
    operator.round()
    assert world.migration is not None
    (note,) = world.migration.status.notes
    assert note.startswith(f"WorkloadPlacement {SPACE}/{PLACEMENT} is being deleted; it goes when what it")
    run(world, operator=operator)
    again = world.placement(SPACE)
    assert again is not None
    assert again.uid != first.uid
    assert (again.deleting, again.finalizers) == (0, ())
    finish(world, operator=operator)
    row = world.row_of(WEB)
    assert row is not None
    assert (row.replicas, world.all(HorizontalPodAutoscaler)[0].min_replicas) == (2, 2)
    assert world.placements() == []
    assert world.versions(WEB) == [NEW_VERSION, NEW_VERSION]


def test_deleted_in_the_middle_of_a_surge_and_aborted_all_is_as_it_was() -> None:
    world, operator = deleted_in_a_surge()
    world.migrate(abort=True)
    run(world, operator=operator)
    row = world.row_of(WEB)
    assert row is not None
    assert (row.replicas, world.all(HorizontalPodAutoscaler)[0].min_replicas) == (2, 2)
    assert world.placements() == []


def test_with_its_whole_namespace_it_goes_as_soon_as_its_workloads_have() -> None:
    world, operator = deleted_in_a_surge()
    for row in [*world.all(Deployment), *world.all(HorizontalPodAutoscaler)]:
        world.remove(row)
    play(world, operator, lambda: world.placements() == [], 4)


@pytest.mark.parametrize("cleanup", Cleanup)
def test_deleted_in_mode_template_the_tolerations_are_known_to_the_end(cleanup: Cleanup) -> None:
    world = under_way((DEPLOYMENT, "web", 2), mode=Mode.TEMPLATE, cleanup=cleanup)
    nature.settle(world)
    operator = Operator(world)
    play(world, operator, lambda: world.placement(SPACE) is not None)
    world.end_placement(SPACE)
    finish(world, operator=operator)
    row = world.row_of(WEB)
    assert row is not None
    assert world.migration is not None
    stay = cleanup is Cleanup.ON_NEXT_ROLLOUT
    assert bool(row.template.tolerations) is stay
    assert world.migration.status.inert_tolerations == ((str(WEB),) if stay else ())
    left = [(one.deleting, one.finalizers) for one in world.placements()]
    assert left == ([(0, ())] if stay else []), "an inert toleration keeps nobody's namespace"


def test_a_placement_of_an_earlier_release_gets_the_finalizer_and_one_that_binds_nothing_loses_it() -> None:
    world = a_surge()
    say(world, {WEB.owner_key: Turn.RELEASED}, {WEB.owner_key: Record(surge=Surge(2, 3))})
    row = world.placement(SPACE)
    assert row is not None
    world.put(msgspec.structs.replace(row, finalizers=()), kinds.WORKLOAD_PLACEMENT)
    step = only(decided(world, Memory()), WritePlacement)
    assert isinstance(step, WritePlacement)
    assert step.finalizers == (FINALIZER,)
    world.migrate(on_blocked=OnBlockedWorkload.WAIT)
    say(world, {WEB.owner_key: Turn.RELEASED}, {})
    row = world.placement(SPACE)
    assert row is not None
    world.put(msgspec.structs.replace(row, finalizers=("theirs", FINALIZER)), kinds.WORKLOAD_PLACEMENT)
    step = only(decided(world, Memory()), WritePlacement)
    assert isinstance(step, WritePlacement)
    assert step.finalizers == ("theirs",)


def test_a_surge_that_was_taken_back_and_an_inert_toleration_bind_nothing() -> None:
    assert Record(surge=Surge(2, 3)).binds
    assert not Record(surge=Surge(2, 2, gave_up="why")).binds
    assert Record(toleration=NEW).binds
    assert not Record(toleration=NEW, inert="1:digest").binds


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
    space = gated_and_held(scene, hold="Always")
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


def surging(scene: Scene) -> str:
    """The namespace of a workload that no budget lets go, with one replica more that takes its time."""
    space = scene.namespace()
    scene.deployment(space, "web", 1, pod_annotations={READY_AFTER: "5"})
    scene.budget(space, "always", "web", minAvailable=1)
    scene.wait_ready(space, web=1)
    scene.nodes("new", NEW)
    scene.migrate(onBlocked="Surge")
    scene.rig.start()
    scene.wait(lambda: replicas(scene, space) == 2)
    return space


def replicas(scene: Scene, space: str) -> int:
    return scene.client.get(kinds.DEPLOYMENT, "web", space)["spec"]["replicas"]


def placement(scene: Scene, space: str) -> Json:
    """What its metadata is; empty for the moment in which it is made again."""
    found = [one["metadata"] for one in scene.client.list(kinds.WORKLOAD_PLACEMENT, space)]
    return found[0] if found else {}


def test_a_placement_deleted_in_the_middle_of_a_surge_goes_when_that_is_over_and_is_made_again(
    scene: Scene,
) -> None:
    old = scene.nodes("old", OLD)
    space = surging(scene)
    first = placement(scene, space)
    assert first["finalizers"] == [FINALIZER]
    scene.drop(kinds.WORKLOAD_PLACEMENT, PLACEMENT, space)
    assert placement(scene, space)["deletionTimestamp"]
    name = f"WorkloadPlacement {space}/{PLACEMENT} is being deleted"
    scene.wait(lambda: [one for one in scene.status().get("notes", ()) if one.startswith(name)])
    scene.wait(lambda: scene.arrived(space, "web"))
    scene.wait(lambda: placement(scene, space).get("uid", first["uid"]) != first["uid"])
    scene.finish(old)
    assert replicas(scene, space) == 1


def test_a_namespace_deleted_in_the_middle_of_a_surge_goes_with_its_placement(scene: Scene) -> None:
    scene.nodes("old", OLD)
    space = surging(scene)
    scene.drop(kinds.NAMESPACE, space)
    scene.wait(lambda: space not in [one["metadata"]["name"] for one in scene.client.list(kinds.NAMESPACE)])
