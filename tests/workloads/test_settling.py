"""Before the first move nodes that are still coming are waited for: never for ever, and only then."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.api.placements import Turn
from shiplift.api.workloads import Mode, WaitForNodes
from shiplift.engine.decision import requeue
from shiplift.facts.nodes import Node
from shiplift.workloads.decide.settling import MOST, wait
from shiplift.workloads.model import Evicted, Reason
from shiplift.workloads.record import Record
from shiplift.workloads.steps import WritePlacement
from tests.model import nature
from tests.workloads.players import Operator
from tests.workloads.views import DEPLOYMENT, STATEFUL_SET, an_id, arrive, decided, look, say, under_way
from tests.workloads.world import NEW, World

DB = an_id("db", STATEFUL_SET)


def a_shop(*ages: float, ready: bool = True, mode: Mode = Mode.INJECT, **asked: Any) -> World:
    """Six pods of a database on old nodes, and target nodes that were made so many seconds ago."""
    world = under_way((STATEFUL_SET, "db", 6), mode=mode, wait_for_nodes=WaitForNodes(**asked))
    for name in ("new-1", "new-2"):
        world.remove(a_node(world, name))
    for number, age in enumerate(ages):
        join(world, number, age, ready=ready)
    return world


def a_node(world: World, name: str) -> Node:
    found = world.named(Node, name, "")
    assert found is not None
    return found


def join(world: World, number: int, age: float = 0, *, ready: bool = True) -> None:
    node = world.node(f"new-{number}", NEW, created=int(world.now.timestamp() - age))
    world.put(world.marked(msgspec.structs.replace(node, ready=ready)))


def released(world: World) -> bool:
    steps = [step for step in decided(world).steps if isinstance(step, WritePlacement)]
    return any(step.turns.get(DB.owner_key) is Turn.RELEASED for step in steps)


def left(world: World) -> float | None:
    found = wait(look(world), (), world.now)
    return None if found is None else found.left


# --- by time, which is the default ---


def test_a_node_that_came_a_second_ago_does_not_take_everything() -> None:
    world = a_shop(1)
    decision = decided(world)
    assert not released(world)
    assert decision.lines[DB].reason is decision.reason is Reason.WAITING_FOR_NODES
    assert (
        decision.message
        == decision.lines[DB].message
        == (
            f"nodes of {NEW} are still coming; the first move waits until none has come for 10s"
            " (spec.waitForNodes of WorkloadMigration cluster)"
        )
    )
    assert decision.look_again == requeue(timedelta(seconds=9))


@pytest.mark.parametrize(
    ("ages", "settle", "expected"),
    [
        ((10,), "10s", None),
        ((9,), "10s", 1),
        ((30, 20, 4), "10s", 6),
        ((0,), "0s", None),
        ((0,), "1m", 60),
        ((3600, 1), "10s", 9),
        ((59, 50, 40, 30, 20, 10, 1), "10s", 1),
        ((61, 50, 40, 30, 20, 10, 1), "10s", None),
        ((121, 1), "10s", 9),
        ((61, 1), "10s", None),
        ((62, 1), "10s", 9),
        ((-3600,), "10s", None),
    ],
)
def test_how_long_is_waited(ages: tuple[float, ...], settle: str, expected: float | None) -> None:
    assert left(a_shop(*ages, settle=settle)) == expected


@pytest.mark.parametrize(("age", "expected"), [(12, 48), (59, 1), (60, None)])
def test_a_node_that_is_not_ready_is_waited_for_as_well_but_not_for_ever(
    age: float, expected: float | None
) -> None:
    world = a_shop(30)
    join(world, 9, age, ready=False)
    world.put(msgspec.structs.replace(a_node(world, "new-0"), created=int(world.now.timestamp() - age)))
    assert left(world) == expected


@given(st.lists(st.integers(0, 70), min_size=1, max_size=12), st.booleans())
def test_no_stream_of_nodes_is_waited_for_longer_than_so_many_times(gaps: list[int], ready: bool) -> None:
    """At the latest so long after a node came before which none had come for as long."""
    world = a_shop(settle="10s")
    began, waited = world.now, 0.0
    for number, gap in enumerate(gaps):
        if number == 0 or gap > MOST * 10:
            began = world.now + timedelta(seconds=gap)
        world.pass_time(gap)
        join(world, number, ready=ready)
        waited = (world.now - began).total_seconds()
        if waited >= MOST * 10:
            assert left(world) is None
        assert (left(world) or 0) <= MOST * 10


# --- by count ---


@pytest.mark.parametrize(("count", "waits"), [(2, False), (3, True)])
def test_with_a_count_so_many_have_to_be_ready(count: int, waits: bool) -> None:
    world = a_shop(1, 1, count=count)
    join(world, 9, 1, ready=False)
    assert (left(world) is not None) is waits


def test_the_count_is_not_waited_for_for_ever() -> None:
    world = a_shop(0, count=3)
    found = wait(look(world), (), world.now)
    assert found is not None
    assert found.why == (
        f"1 of 3 nodes of {NEW} are Ready (spec.waitForNodes of WorkloadMigration cluster); the first move"
        " waits for the others until none has come for 10m"
    )
    world.pass_time(599)
    assert left(world) == 1
    world.pass_time(1)
    assert left(world) is None


def test_a_start_that_is_yet_to_come_does_not_prolong_the_wait_for_the_count() -> None:
    """Written by a leader whose clock was ahead."""
    world = a_shop(0, count=3)
    assert world.migration is not None
    ahead = world.now + timedelta(hours=1)
    world.publish(msgspec.structs.replace(world.migration.status, started_at=ahead))
    world.pass_time(599)
    assert left(world) == 1
    world.pass_time(1)
    assert left(world) is None


def started_now(world: World) -> World:
    assert world.migration is not None
    world.publish(msgspec.structs.replace(world.migration.status, started_at=world.now))
    return world


def test_the_deadline_of_the_count_begins_with_the_migration_where_nodes_were_there_before() -> None:
    world = started_now(a_shop(3600, count=3))
    world.pass_time(10)
    assert left(world) == 590


def test_where_there_is_no_target_node_yet_none_is_waited_for_by_count() -> None:
    """Nothing can move anyway, and the deadline begins with the first."""
    assert left(started_now(a_shop(count=3))) is None


# --- only before the first move ---


@pytest.mark.parametrize("mode", [Mode.INJECT, Mode.TEMPLATE])
def test_once_a_workload_is_released_nothing_is_waited_for(mode: Mode) -> None:
    world = a_shop(1, mode=mode)
    turns = {DB.owner_key: Turn.RELEASED} if mode is Mode.INJECT else {}
    say(world, turns, {DB.owner_key: Record(toleration=NEW)} if mode is Mode.TEMPLATE else {})
    view = look(world)
    assert wait(view, {DB}, world.now) is None


def test_after_the_first_eviction_nothing_is_waited_for() -> None:
    world = a_shop(1)
    assert world.migration is not None
    world.publish(msgspec.structs.replace(world.migration.status, moves=1))
    assert left(world) is None


def test_an_eviction_that_is_in_no_status_yet_counts() -> None:
    world = a_shop(1)
    view = msgspec.structs.replace(look(world), evicted=Evicted({DB: 1}))
    assert wait(view, (), world.now) is None


def test_in_mode_template_a_workload_that_has_arrived_was_moved() -> None:
    """Its template was changed, and so it was rolled out."""
    world = a_shop(1, mode=Mode.TEMPLATE)
    arrive(world, "db")
    assert wait(look(world), {DB}, world.now) is None


def test_a_workload_that_was_there_before_is_no_move() -> None:
    world = a_shop(1)
    web = world.workload(DEPLOYMENT, "web", 0)
    nature.settle(world)
    row = world.row_of(web)
    assert row is not None
    assert world.migration is not None
    world.publish(msgspec.structs.replace(world.migration.status, met=(row.uid,)))
    say(world, {web.owner_key: Turn.RELEASED, DB.owner_key: Turn.HELD})
    world.put(msgspec.structs.replace(a_node(world, "new-0"), created=int(world.now.timestamp())))
    assert not released(world)


# --- spread ---


def test_the_pods_of_a_database_are_spread_over_nodes_that_come_one_after_the_other() -> None:
    world = a_shop(0)
    operator = Operator(world)
    for second in range(120):
        operator.round()
        nature.tick(world)
        if second in (6, 9):
            join(world, second)
    assert world.versions(DB) == [NEW] * 6
    assert sorted(pod.node for pod in world.pods(DB)) == [
        "new-0",
        "new-0",
        "new-6",
        "new-6",
        "new-9",
        "new-9",
    ]
