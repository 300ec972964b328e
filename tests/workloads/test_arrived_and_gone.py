"""Whom nobody waits for: workloads that are left alone, and those that were deleted after they arrived."""

from __future__ import annotations

import msgspec
import pytest

from shiplift.api.placements import Turn
from shiplift.facts import kinds
from shiplift.facts.workloads import Deployment
from shiplift.workloads.model import Reason
from tests.model import nature
from tests.operated import NEW as NEW_VERSION
from tests.operated import OLD
from tests.workloads.players import Operator, finish, run
from tests.workloads.rig import Scene
from tests.workloads.views import DEPLOYMENT, an_id, arrive, look, say, status, under_way
from tests.workloads.world import NEW, World

WEB, DB = an_id("web"), an_id("db")
ELSEWHERE = an_id("db", namespace="kube-system")


def a_shop(*, exists: bool = True, excluded: bool = True) -> World:
    """web waits for a database of another namespace, which is excluded."""
    world = under_way((DEPLOYMENT, "web", 2), exclude_namespaces=("kube-system",) if excluded else ())
    if exists:
        world.workload(DEPLOYMENT, "db", 1, "kube-system")
    world.order("order", [(WEB, ELSEWHERE)])
    nature.settle(world)
    return world


# --- left alone ---


def test_nobody_waits_for_a_workload_of_an_excluded_namespace() -> None:
    world = a_shop()
    view = look(world)
    assert WEB in view.order.ready
    assert view.order.missing == ()
    finish(world)
    assert world.versions(WEB) == [NEW, NEW]


def test_one_that_does_not_exist_is_missing_in_an_excluded_namespace_too() -> None:
    (line,) = status(a_shop(exists=False)).workloads
    assert line.reason == Reason.MISSING_DEPENDENCY.value


def test_a_namespace_that_is_excluded_no_more_is_waited_for_again() -> None:
    assert WEB not in look(a_shop(excluded=False)).order.ready


def test_what_becomes_of_a_workload_that_is_left_alone_is_seen_event_by_event() -> None:
    world = a_shop()
    operator = Operator(world)
    operator.round()
    row = world.row_of(ELSEWHERE)
    assert row is not None
    world.put(msgspec.structs.replace(row, generation=7))
    operator.round()
    world.remove(row)
    operator.round()
    migration = world.migration
    assert migration is not None
    assert [one.dependency for one in migration.status.missing] == [str(ELSEWHERE)]


# --- arrived, and then deleted ---


def halfway() -> World:
    """web waits for db, which has arrived; that is written down."""
    world = under_way((DEPLOYMENT, "web", 2), (DEPLOYMENT, "db", 1))
    world.order("order", [(WEB, DB)])
    say(world, {WEB.owner_key: Turn.HELD, DB.owner_key: Turn.RELEASED})
    arrive(world, "db")
    world.publish(status(world))
    return world


def delete(world: World, name: str = "db") -> None:
    row = world.named(Deployment, name, "shop")
    assert row is not None
    world.remove(row)
    nature.settle(world)


def test_one_that_had_arrived_and_is_deleted_stays_arrived_for_every_later_operator() -> None:
    world = halfway()
    migration = world.migration
    assert migration is not None
    assert migration.status.relied_on == (str(DB),)
    delete(world)
    view = look(world)
    assert WEB in view.order.ready
    assert view.order.missing == ()
    again = status(world)
    assert again.relied_on == (str(DB),)
    assert not any("does not exist" in one.message for one in again.workloads)
    finish(world)
    assert world.versions(WEB) == [NEW, NEW]


def test_one_that_is_deleted_before_it_arrived_is_missing() -> None:
    world = under_way((DEPLOYMENT, "web", 2), (DEPLOYMENT, "db", 1))
    world.order("order", [(WEB, DB)])
    world.publish(status(world))
    delete(world)
    (line,) = status(world).workloads
    assert line.reason == Reason.MISSING_DEPENDENCY.value


def test_one_of_the_same_name_that_comes_later_is_another() -> None:
    world = halfway()
    delete(world)
    world.workload(DEPLOYMENT, "db", 1)
    nature.settle(world)
    assert WEB not in look(world).order.ready


def test_nobody_is_remembered_whom_nobody_needs() -> None:
    world = halfway()
    run(world)
    migration = world.migration
    assert migration is not None
    assert len(migration.status.met) == 2
    assert migration.status.relied_on == ()


def test_who_has_arrived_misses_nobody() -> None:
    world = halfway()
    run(world)
    delete(world)
    assert look(world).order.missing == ()
    assert status(world).missing == ()


def test_a_new_target_begins_anew() -> None:
    world = halfway()
    delete(world)
    world.migrate(target="v1.37.0")
    assert look(world).order.missing != ()


# --- on a real cluster ---


@pytest.mark.parametrize("mode", ["Inject", "Template"])
def test_dependents_of_what_is_excluded_or_deleted_after_it_arrived_move(scene: Scene, mode: str) -> None:
    old = scene.nodes("old", OLD)
    space, apart = scene.namespace(), scene.namespace("apart")
    scene.deployment(apart, "cache", 1)
    scene.gate(space)
    for name in ("db", "web"):
        scene.deployment(space, name, 2)
    needs = [
        {"kind": "Deployment", "name": "cache", "namespace": apart},
        {"kind": "Deployment", "name": "db"},
        {"kind": "Deployment", "name": "gate"},
    ]
    web = {"kind": "Deployment", "name": "web", "dependsOn": needs}
    scene.client.create(
        kinds.WORKLOAD_ORDER, {"metadata": {"name": "order"}, "spec": {"workloads": [web]}}, space
    )
    scene.wait_ready(space, db=2, web=2)
    scene.nodes("new", NEW_VERSION)
    scene.migrate(mode=mode, excludeNamespaces=[apart])
    scene.rig.start()
    scene.wait(lambda: f"Deployment {space}/db" in scene.status().get("reliedOn", []))
    scene.drop(kinds.DEPLOYMENT, "db", space)
    scene.rig.stop()
    scene.rig.start()
    scene.open_gate()
    scene.wait(lambda: scene.arrived(space, "web"))
    assert "missing" not in scene.status()
    scene.remove(old)
    scene.wait_state("NoUpgrade")
