"""Mode Template without the right to change templates: said before the start and half-way, never tried."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from shiplift.api.workloads import MigrationState, Mode, WorkloadMigrationStatus
from shiplift.engine.decision import Requeue
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.memory import InForce
from shiplift.workloads.model import Migrating, Reason
from shiplift.workloads.steps import SetTolerations
from shiplift.workloads.tell.report import status_of
from tests.model import nature
from tests.workloads import server
from tests.workloads.views import DEPLOYMENT, look, under_way
from tests.workloads.world import World

MISSING = ("patch deployments.apps", "patch statefulsets.apps")


def decided(world: World, *missing: str) -> Migrating:
    view = msgspec.structs.replace(look(world), missing_rights=missing)
    return decide(view, world.now)


def a_world(mode: Mode = Mode.TEMPLATE) -> World:
    return under_way((DEPLOYMENT, "web", 2), mode=mode)


def asked(decision: Migrating) -> list[SetTolerations]:
    return [step for step in decision.steps if isinstance(step, SetTolerations)]


def test_before_the_start_the_rights_are_named_and_nothing_is_begun() -> None:
    world = a_world()
    world.publish(WorkloadMigrationStatus())
    decision = decided(world, *MISSING)
    assert (decision.reason, decision.stalled, decision.moving) == (Reason.MISSING_RIGHT, True, False)
    assert not decision.steps
    (stalled,) = (one for one in status_of(decision).conditions if one.type == "Stalled")
    assert (stalled.status, stalled.reason) == ("True", "MissingRight")
    assert stalled.message == (
        "mode Template needs rights that the operator does not have:"
        " patch deployments.apps, patch statefulsets.apps;"
        " what installed shiplift grants them when it is applied again with --template"
        " (podTemplates of the chart),"
        " or set spec.mode of WorkloadMigration cluster to Inject, on Kubernetes 1.36 and newer"
    )


def test_mode_inject_is_no_way_out_where_it_is_not_there_or_the_move_has_begun() -> None:
    world = a_world()
    assert "Inject" not in decided(world, *MISSING).message
    world.publish(WorkloadMigrationStatus())
    view = look(world)
    assert view.migration is not None
    spec = msgspec.structs.replace(view.spec, mode=Mode.AUTO)
    migration = msgspec.structs.replace(view.migration, spec=spec)
    unchosen = msgspec.structs.replace(view, migration=migration, missing_rights=MISSING)
    said = decide(unchosen, world.now).message
    assert said.endswith("with --template (podTemplates of the chart)")


def test_no_event_tells_that_a_right_was_granted_so_it_is_looked_at_again_soon() -> None:
    world = a_world()
    assert decided(world, *MISSING).look_again == Requeue(timedelta(seconds=2))
    world.publish(WorkloadMigrationStatus())
    assert decided(world, *MISSING).look_again == Requeue(timedelta(seconds=2))


def test_half_way_it_stalls_keeps_its_place_and_goes_on_when_granted() -> None:
    world = a_world()
    while not asked(decision := decided(world)):
        assert decision.steps, "nothing is left to do, and web was never released"
        for step in decision.steps:
            server.take(world, step, InForce())
        nature.settle(world)
    stalled = decided(world, *MISSING)
    assert (stalled.reason, stalled.stalled, stalled.moving) == (Reason.MISSING_RIGHT, True, True)
    assert not asked(stalled)
    status = status_of(stalled)
    assert status.state is MigrationState.UPGRADE
    (line,) = status.workloads
    assert line.message.startswith("nothing new starts: mode Template needs rights")
    assert asked(decided(world)) == asked(decision)
