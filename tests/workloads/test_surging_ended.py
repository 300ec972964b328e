"""Surges under way when their workload is not moved any more: opted out, left out, deleted, or aborted."""

from __future__ import annotations

import msgspec

from shiplift.api.workloads import MigrationState
from shiplift.facts.meta import Labels
from shiplift.workloads.names import SKIP
from shiplift.workloads.record import Surge
from tests.model import nature
from tests.workloads.players import Operator
from tests.workloads.test_surging import WEB, old_pods, raised, scaler
from tests.workloads.views import change, said
from tests.workloads.world import SPACE, World


def with_floor() -> World:
    """Raised, the floor of its autoscaler too."""
    world = raised(Surge(2, 3, "web-scaler", 2))
    world.autoscaler(WEB, 3, 5)
    return world


def play(world: World, rounds: int = 12) -> None:
    operator = Operator(world)
    for _ in range(rounds):
        operator.round()
        nature.tick(world)
        world.pass_time(5)
    operator.die()


def records(world: World) -> dict[str, str]:
    spec = said(world)
    return dict(spec.ledger) if spec else {}


def test_opted_out_in_the_middle_of_a_surge_all_is_as_it_was_while_others_are_moved() -> None:
    world = with_floor()
    change(world, "web", annotations=Labels({SKIP: "true"}))
    play(world)
    row = world.row_of(WEB)
    assert row is not None
    assert (row.replicas, scaler(world).min_replicas, records(world)) == (2, 2, {})
    assert world.migration is not None
    assert world.migration.status.state is MigrationState.UPGRADE


def test_excluded_in_the_middle_of_a_surge_all_is_as_it_was_and_nothing_moves() -> None:
    world = with_floor()
    before = {pod.uid for pod in old_pods(world)}
    world.migrate(exclude_namespaces=(SPACE,))
    play(world)
    row = world.row_of(WEB)
    assert row is not None
    assert (row.replicas, scaler(world).min_replicas, records(world)) == (2, 2, {})
    assert world.migration is not None
    assert world.migration.status.progress.total == 0
    assert before & {pod.uid for pod in world.pods(WEB)}


def test_of_a_workload_that_is_deleted_in_the_middle_of_a_surge_the_floor_goes_back() -> None:
    world = with_floor()
    gone = world.row_of(WEB)
    assert gone is not None
    world.remove(gone)
    play(world)
    assert (scaler(world).min_replicas, records(world)) == (2, {})


def test_aborted_the_floor_goes_back_though_its_workload_is_gone() -> None:
    world = with_floor()
    gone = world.row_of(WEB)
    assert gone is not None
    world.remove(gone)
    world.migrate(abort=True)
    play(world)
    assert scaler(world).min_replicas == 2
    assert said(world) is None


def test_of_a_workload_that_is_gone_a_floor_that_somebody_else_set_stays() -> None:
    world = with_floor()
    gone = world.row_of(WEB)
    assert gone is not None
    world.remove(gone)
    world.put(msgspec.structs.replace(scaler(world), min_replicas=4))
    play(world)
    assert (scaler(world).min_replicas, records(world)) == (4, {})
