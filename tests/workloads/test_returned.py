"""A workload that has arrived and whose pods come back to old nodes is moved again, and nobody says meanwhile
that all have arrived."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest

from shiplift.api.placements import Turn
from shiplift.api.workloads import Mode, WorkloadMigrationStatus
from shiplift.engine.step import Outcomes
from shiplift.facts import kinds
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.kube.store import Store
from shiplift.local.nodes import Pool
from shiplift.view.section import Arrival
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.face.apart import workload_apart
from shiplift.workloads.face.arrival import arrival
from shiplift.workloads.model import Evicted, Reason
from shiplift.workloads.names import PODS_POLICY, SKIP
from shiplift.workloads.observe.observer import Observer
from shiplift.workloads.record import Record, Surge
from shiplift.workloads.steps import Evict
from shiplift.workloads.tell.report import status_of
from tests.model import nature
from tests.operated import NEW as NEW_VERSION
from tests.operated import OLD as OLD_VERSION
from tests.workloads.players import Operator, finish, residue, run
from tests.workloads.rig import Scene
from tests.workloads.test_bystanders import BINDING, restored
from tests.workloads.views import (
    DEPLOYMENT,
    an_id,
    arrive,
    change,
    change_pod,
    look,
    say,
    tally,
    under_way,
)
from tests.workloads.world import NEW, OLD, World

WEB, API = an_id("web"), an_id("api")


def moved(mode: Mode = Mode.INJECT, **spec: Any) -> tuple[World, Operator]:
    """Everything has arrived, and the old nodes are still there."""
    world = under_way((DEPLOYMENT, "web", 3), (DEPLOYMENT, "api", 1), mode=mode, **spec)
    world.order("order", [(API, WEB)])
    operator = run(world)
    assert world.versions(WEB) == [NEW] * 3
    assert status(world).message == "all workloads have arrived; 2 nodes of another version left"
    return world, operator


def status(world: World) -> WorkloadMigrationStatus:
    migration = world.migration
    assert migration is not None
    return migration.status


def send_back(world: World) -> None:
    """A pod of web is made again while target nodes are closed, and nothing keeps it off old ones."""
    close(world, closed=True)
    world.steers = False
    nature.delete(world, world.pods(WEB)[0])
    nature.settle(world)
    assert OLD in world.versions(WEB)
    world.steers = True


def close(world: World, *, closed: bool) -> None:
    for node in world.all(Node):
        if node.kubelet_version == NEW:
            world.put(msgspec.structs.replace(node, unschedulable=closed))


def on_old_nodes() -> World:
    """web has arrived, as the status has it, and is on old nodes."""
    world = under_way((DEPLOYMENT, "web", 3))
    say(world, {"Deployment.web": Turn.RELEASED})
    arrive(world, "web")
    return world


def test_pods_of_a_workload_that_has_arrived_are_moved_off_old_nodes_again() -> None:
    world = on_old_nodes()
    decision = decide(look(world), world.now)
    assert any(isinstance(step, Evict) for step in decision.steps)
    assert decision.met == tuple(one.row.uid for one in look(world).tallies.values())


def test_nobody_says_that_all_have_arrived_while_pods_are_on_old_nodes() -> None:
    world = on_old_nodes()
    told = status_of(decide(look(world), world.now))
    assert "have arrived" not in told.message
    assert (told.progress.done, told.progress.total) == (0, 1)
    assert [one.name for one in told.workloads] == ["web"]
    migration = world.migration
    assert migration is not None
    assert arrival(msgspec.structs.replace(migration, status=told)) is Arrival.NOT_YET
    assert workload_apart(look(world), WEB) == ""


@pytest.mark.parametrize("mode", [Mode.INJECT, Mode.TEMPLATE])
def test_a_pod_that_was_sent_back_is_moved_when_target_nodes_take_it(mode: Mode) -> None:
    world, operator = moved(mode)
    send_back(world)
    run(world, operator=operator)
    assert status(world).progress.done == 1
    close(world, closed=False)
    run(world, operator=operator)
    assert world.versions(WEB) == [NEW] * 3
    assert status(world).message == "all workloads have arrived; 2 nodes of another version left"


def test_the_end_comes_also_after_a_pod_was_sent_back() -> None:
    world, operator = moved()
    send_back(world)
    close(world, closed=False)
    finish(world, operator=operator)
    assert residue(world) == []


def test_those_that_depend_on_it_do_not_wait_again() -> None:
    world = under_way((DEPLOYMENT, "web", 3), (DEPLOYMENT, "api", 1))
    world.order("order", [(API, WEB)])
    say(world, {"Deployment.web": Turn.RELEASED, "Deployment.api": Turn.HELD})
    arrive(world, "web")
    view = look(world)
    assert API in view.order.ready
    assert view.returned == {WEB}
    assert status_of(decide(view, world.now)).relied_on == (str(WEB),)


def test_evictions_of_a_workload_that_came_back_are_counted_and_stopped_as_those_of_others() -> None:
    world = on_old_nodes()
    world.publish(status_of(decide(look(world), world.now), Evicted({WEB: 6})))
    assert status(world).workloads[0].evictions == 6
    decision = decide(look(world), world.now)
    assert decision.lines[WEB].reason is Reason.EVICTED_TOO_OFTEN
    assert not any(isinstance(step, Evict) for step in decision.steps)


def test_one_that_is_not_whole_yet_counts_as_back_also_after_a_restart() -> None:
    world = on_old_nodes()
    world.publish(status_of(decide(look(world), world.now)))
    for pod in world.pods(WEB):
        change_pod(world, pod, deleting=True)
    assert not tally(look(world), "web").away
    assert look(world).returned == {WEB}


def test_a_workload_with_a_pod_that_fails_where_it_belongs_is_not_back() -> None:
    world, _ = moved()
    change_pod(world, world.pods(WEB)[0], ready=False)
    assert look(world).returned == frozenset()
    assert "all workloads have arrived" in decide(look(world), world.now).message


def test_one_that_is_left_alone_does_not_count_as_back() -> None:
    world = on_old_nodes()
    change(world, "web", annotations=Labels({SKIP: "true"}))
    assert look(world).returned == frozenset()


def test_what_came_back_is_seen_event_by_event() -> None:
    world, _ = moved()
    observer = Observer(cast("Store", world), lambda: world.inject, now=lambda: world.now)
    world.listeners.append(observer.heard)
    assert observer.observe(Outcomes()).returned == frozenset()
    change_pod(world, world.pods(WEB)[0], ready=False)
    assert observer.observe(Outcomes()).returned == frozenset(), "it fails where it belongs"
    send_back(world)
    assert observer.observe(Outcomes()).returned == {WEB}


def test_one_that_is_written_down_as_arrived_later_is_back_though_no_pod_has_changed() -> None:
    world = under_way((DEPLOYMENT, "web", 3))
    observer = Observer(cast("Store", world), lambda: world.inject, now=lambda: world.now)
    world.listeners.append(observer.heard)
    assert observer.observe(Outcomes()).returned == frozenset()
    arrive(world, "web")
    assert observer.observe(Outcomes()).returned == {WEB}


def test_one_that_never_arrived_is_not_back_though_the_status_names_it() -> None:
    world = under_way((DEPLOYMENT, "web", 3))
    world.publish(status_of(decide(look(world), world.now)))
    assert [one.name for one in status(world).workloads] == ["web"]
    assert look(world).returned == frozenset()


def test_one_that_is_whole_again_counts_as_back_until_its_surge_is_over() -> None:
    world = on_old_nodes()
    world.publish(status_of(decide(look(world), world.now)))
    for pod in world.pods(WEB):
        change_pod(world, pod, node="new-1")
    turns, surge = {WEB.owner_key: Turn.RELEASED}, Record(surge=Surge(3, 4))
    say(world, turns, {WEB.owner_key: surge})
    assert tally(look(world), "web").complete
    assert look(world).returned == {WEB}
    say(world, turns)
    assert look(world).returned == frozenset()


# --- on a real API server ---


def test_pods_that_came_back_while_the_policy_was_away_are_moved_again(scene: Scene) -> None:
    old = scene.nodes("old", OLD_VERSION)
    space = scene.namespace()
    scene.deployment(space, "web", 3)
    scene.wait_ready(space, web=3)
    new = scene.nodes("new", NEW_VERSION)
    scene.migrate()
    scene.rig.start()
    scene.wait(lambda: "all workloads have arrived" in scene.status().get("message", ""))
    with restored(scene, BINDING, PODS_POLICY):
        scene.drop(BINDING, PODS_POLICY)
        scene.wait(lambda: not scene.in_force(space))
        cordon(scene, new, closed=True)
        for pod in scene.pods(space, "web"):
            scene.drop(kinds.POD, pod["metadata"]["name"], space)
        scene.wait(lambda: "old" in scene.places(space, "web"))
        scene.wait(lambda: scene.line("web"))
        assert scene.status()["progress"]["summary"] == "0/1"
        assert "all workloads have arrived" not in scene.status()["message"]
        cordon(scene, new, closed=False)
    scene.wait(lambda: scene.arrived(space, "web"))
    scene.wait(lambda: "all workloads have arrived" in scene.status()["message"])
    scene.finish(old)


def cordon(scene: Scene, pool: Pool, *, closed: bool) -> None:
    for name in pool.names():
        scene.change(kinds.NODE, "", name, {"spec": {"unschedulable": closed}})
