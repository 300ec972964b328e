"""The WorkloadMigration is not gone before all is undone, and goes when nothing is left to undo."""

from __future__ import annotations

from typing import Any

from shiplift.api.placements import Turn
from shiplift.api.workloads import Cleanup, Hold, MigrationState, Mode, WorkloadMigrationStatus
from shiplift.engine import contested
from shiplift.engine.contested import Memory
from shiplift.engine.step import Outcome, Outcomes
from shiplift.facts import kinds
from shiplift.workloads.decide.finalizing import put_on
from shiplift.workloads.model import Reason
from shiplift.workloads.names import FINALIZER, MIGRATION
from shiplift.workloads.steps import MarkNode, SetFinalizer
from shiplift.workloads.tell.report import status_of
from tests.model import nature
from tests.operated import NEW, OLD
from tests.workloads.halfway import budgets, with_its_budget_held
from tests.workloads.players import Operator, finish, residue, run
from tests.workloads.rig import Scene
from tests.workloads.views import DEPLOYMENT, an_id, decided, look, say, under_way
from tests.workloads.world import World, a_world

WEB = an_id("web")
PUT_ON, TAKE_OFF = SetFinalizer("the-migration", True), SetFinalizer("the-migration", False)


def a_shop(**spec: Any) -> World:
    world = under_way((DEPLOYMENT, "web", 2), **spec)
    nature.settle(world)
    return world


def finalizers(world: World) -> tuple[str, ...]:
    assert world.migration is not None
    return world.migration.metadata.finalizers


def test_it_is_put_on_before_anything_is_changed() -> None:
    world = a_world()
    world.workload(DEPLOYMENT, "web", 2)
    world.node("new-1", NEW)
    nature.settle(world)
    decision = decided(world)
    assert (decision.steps, decision.reason) == ((PUT_ON,), Reason.STARTING)


def test_a_migration_of_a_release_that_had_none_gets_it_and_goes_on() -> None:
    world = a_shop()
    world.finalize()
    say(world, {WEB.owner_key: Turn.RELEASED})
    steps = decided(world).steps
    assert steps[0] == PUT_ON
    assert len(steps) > 1


def test_where_it_may_not_be_put_on_that_is_told_and_workloads_move() -> None:
    world = a_shop()
    world.finalize()
    say(world, {WEB.owner_key: Turn.RELEASED})
    refused = Outcomes().remember([Outcome.failed(PUT_ON, "forbidden")], world.now)
    decision = decided(world, refused)
    assert decision.steps
    assert PUT_ON not in decision.steps
    assert "put our finalizer on WorkloadMigration cluster: forbidden" in decision.notes


def test_it_goes_when_all_is_moved_and_nothing_is_left() -> None:
    world = a_shop()
    finish(world)
    assert finalizers(world) == ()
    assert residue(world) == []
    before = world.changes
    run(world)
    assert world.changes == before


def test_a_migration_that_is_deleted_half_way_is_gone_only_when_all_is_undone() -> None:
    world = a_shop(hold=Hold.ALWAYS)
    operator = Operator(world)
    operator.round()
    world.end_migration()
    assert world.migration is not None
    decision = decided(world)
    assert decision.reason is Reason.CLEANING_UP
    assert TAKE_OFF not in decision.steps
    run(world, operator=operator)
    assert world.migration is None
    assert residue(world) == []


def test_what_becomes_of_a_migration_that_is_being_deleted_is_told_in_its_status() -> None:
    world = a_shop()
    world.end_migration()
    status = status_of(decided(world))
    assert status.state is MigrationState.NO_UPGRADE
    assert status.message.endswith("things of ours are being taken out")


def test_tolerations_that_stay_on_purpose_keep_it_from_nothing() -> None:
    world = a_shop(mode=Mode.TEMPLATE)
    finish(world)
    assert finalizers(world) == ()
    assert world.migration is not None
    assert world.migration.status.inert_tolerations


def test_those_that_are_to_go_at_once_go_before_it_also_where_it_is_deleted() -> None:
    world = a_shop(mode=Mode.TEMPLATE, cleanup=Cleanup.IMMEDIATE)
    run(world)
    world.end_migration()
    run(world)
    row = world.row_of(WEB)
    assert row is not None
    assert row.template.tolerations == ()
    assert world.migration is None


def test_what_cannot_be_read_keeps_it_and_is_told() -> None:
    world = a_shop()
    world.end_migration()
    world.spoil(kinds.WORKLOAD_PLACEMENT, "shiplift", "not a list")
    run(world)
    assert finalizers(world) == (FINALIZER,)
    assert world.migration is not None
    assert "WorkloadPlacement shop/shiplift cannot be read" in world.migration.status.message


def test_one_that_was_never_begun_may_go_at_any_time() -> None:
    world = a_world()
    world.publish(WorkloadMigrationStatus())
    assert decided(world).steps == ()


def test_a_failure_to_take_it_off_is_told() -> None:
    world = a_shop()
    world.end_migration()
    while any(isinstance(step, MarkNode) for step in decided(world).steps):
        Operator(world).round()
    refused = Outcomes().remember([Outcome.failed(TAKE_OFF, "forbidden")], world.now)
    assert "take our finalizer off WorkloadMigration cluster: forbidden" in decided(world, refused).notes


def test_one_that_we_took_off_ourselves_is_not_somebody_else_at_work() -> None:
    world, known = a_shop(), Memory()
    known.note(PUT_ON, world.now)
    assert contested.wait(known.changes, PUT_ON, world.now)
    known.note(TAKE_OFF, world.now)
    assert not contested.wait(known.changes, PUT_ON, world.now)


def test_those_of_others_are_theirs() -> None:
    world = a_shop()
    world.finalize("example.com/theirs")
    assert decided(world).steps[0] == PUT_ON
    world.end_migration()
    assert put_on(look(world)) == (), "the API server takes no new ones any more"
    run(world)
    assert finalizers(world) == ("example.com/theirs",)
    assert not [step for step in decided(world).steps if isinstance(step, SetFinalizer)]
    assert residue(world) == []


# --- on a real cluster ---


def test_deleted_while_no_operator_runs_it_stays_until_one_has_undone_all(scene: Scene) -> None:
    scene.nodes("old", OLD)
    space = with_its_budget_held(scene)
    assert scene.migration()["metadata"]["finalizers"] == [FINALIZER]
    scene.rig.stop()
    scene.drop(kinds.WORKLOAD_MIGRATION, MIGRATION)
    assert scene.migration()["metadata"]["deletionTimestamp"]
    scene.rig.start()
    scene.wait(lambda: not list(scene.client.list(kinds.WORKLOAD_MIGRATION)))
    assert scene.residue() == []
    assert budgets(scene, space)["web"]["spec"]["maxUnavailable"] == 1
