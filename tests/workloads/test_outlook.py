"""When it may end: an estimate while it goes on by itself, else what has to happen first. Never both."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import msgspec
import pytest

from shiplift.api.placements import Turn
from shiplift.api.workloads import Mode, OnBlockedWorkload, WorkloadMigrationStatus
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.model import Evicted
from shiplift.workloads.names import FINALIZER, SKIP
from shiplift.workloads.record import Record, Surge
from shiplift.workloads.tell.report import status_of
from tests.model import nature
from tests.workloads.players import Operator, run
from tests.workloads.views import (
    DB,
    DEPLOYMENT,
    STATEFUL_SET,
    WEB,
    a_shop,
    an_id,
    arrive,
    change,
    change_pod,
    look,
    say,
    status,
    under_way,
)
from tests.workloads.world import NEW, OLD, World

API = an_id("api")
HELD, RELEASED = Turn.HELD, Turn.RELEASED


def told(world: World) -> WorkloadMigrationStatus:
    """The status, which is written down."""
    found = status(world)
    world.publish(found)
    return found


def move(world: World, *numbers: int) -> None:
    for number in numbers:
        change_pod(world, world.pods(DB)[number], node="new-1")


# --- an estimate ---


def test_the_estimate_comes_from_the_pace_so_far() -> None:
    world = a_shop(4)
    assert told(world).eta is None, "nothing has moved yet"
    world.pass_time(60)
    move(world, 0)
    found = status(world)
    assert found.eta is not None
    assert found.eta.likely == world.now + timedelta(minutes=5)
    assert found.needs == ""


def test_pods_that_were_there_before_make_no_pace() -> None:
    world = a_shop(4)
    move(world, 0)
    told(world)
    world.pass_time(60)
    assert status(world).eta is None
    move(world, 1)
    eta = status(world).eta
    assert eta is not None
    assert eta.likely == world.now + timedelta(minutes=4)


def test_time_in_which_something_had_to_happen_first_makes_no_pace() -> None:
    world = a_shop(4, paused=True)
    told(world)
    world.pass_time(3600)
    world.migrate(paused=False)
    told(world)
    world.pass_time(60)
    move(world, 0)
    eta = status(world).eta
    assert eta is not None
    assert eta.likely == world.now + timedelta(minutes=5)


def test_a_pace_from_the_future_begins_anew() -> None:
    """Whoever wrote it has another clock."""
    world = a_shop(4)
    told(world)
    world.pass_time(-600)
    found = told(world)
    assert found.pace is not None
    assert found.pace.since == world.now.replace(microsecond=0)


def test_another_target_has_a_pace_of_its_own() -> None:
    world = a_shop(4)
    told(world)
    world.pass_time(60)
    move(world, 0)
    world.migrate(target=OLD)
    assert status(world).eta is None


# --- or what has to happen first ---


def closed_targets(world: World) -> None:
    for node in world.all(Node):
        if node.kubelet_version == NEW:
            world.put(msgspec.structs.replace(node, unschedulable=True))


def a_cycle(world: World) -> None:
    world.order("more", [(DB, WEB)])
    say(world, {WEB.owner_key: HELD, DB.owner_key: HELD})


def a_budget_that_lets_nobody_go(world: World) -> None:
    world.budget("db", {"app": "db"}, {"minAvailable": 2})
    nature.settle(world)


def no_targets(world: World) -> None:
    for node in world.all(Node):
        if node.kubelet_version == NEW:
            world.remove(node)


def a_pause(world: World) -> None:
    world.migrate(paused=True)


@pytest.mark.parametrize(
    ("happens", "needs", "blocked"),
    [
        (closed_targets, "StatefulSet shop/db: 0 of 2 target nodes fit: 2 unschedulable;", 1),
        (a_cycle, "StatefulSet shop/db and Deployment shop/web depend on each other", 2),
        (a_budget_that_lets_nobody_go, "StatefulSet shop/db: PodDisruptionBudget shop/db needs 2 of 2", 1),
        (no_targets, f"nodes that run {NEW}", 0),
        (a_pause, "paused: `shiplift resume` goes on", 0),
    ],
)
def test_where_something_has_to_happen_first_that_is_told_and_no_estimate(
    happens: Callable[[World], None], needs: str, blocked: int
) -> None:
    world = a_shop(4)
    told(world)
    world.pass_time(60)
    move(world, 0)
    assert told(world).eta is not None
    happens(world)
    found = told(world)
    assert (found.eta, found.pace) == (None, None)
    assert found.needs.startswith(needs)
    assert found.blocked == blocked


def test_what_stalls_the_whole_is_what_it_needs() -> None:
    world = a_shop(4, on_blocked=OnBlockedWorkload.STOP)
    a_budget_that_lets_nobody_go(world)
    found = status(world)
    assert found.needs == found.message
    assert found.eta is None


def test_who_has_not_moved_for_too_long_is_what_it_needs() -> None:
    world = a_shop(4)
    told(world)
    move(world, 0)
    change_pod(world, world.pods(DB)[0], ready=False, waiting="CrashLoopBackOff")
    move(world, 1)
    assert told(world).needs == ""
    world.pass_time(timedelta(minutes=11).total_seconds())
    found = status(world)
    assert found.eta is None
    assert found.needs.startswith("StatefulSet shop/db: pod db-0 on new-1 is not Ready (CrashLoopBackOff)")


def test_how_many_are_blocked_is_told_with_the_first() -> None:
    world = under_way((DEPLOYMENT, "api", 2), (STATEFUL_SET, "db", 2))
    say(world, {API.owner_key: RELEASED, DB.owner_key: RELEASED})
    closed_targets(world)
    found = status(world)
    assert found.blocked == 2
    assert found.needs.startswith("Deployment shop/api: ")
    assert found.needs.endswith(" (and 1 more)")


# --- numbers agree ---


def test_pods_that_are_between_two_nodes_change_no_total() -> None:
    world = a_shop(4)
    change_pod(world, world.pods(DB)[0], deleting=1)
    assert status(world).pods.summary == "0/6"


def test_the_pod_that_a_surge_adds_is_not_counted() -> None:
    world = a_shop(4)
    arrive(world, "db")
    records = {WEB.owner_key: Record(surge=Surge(4, 5))}
    say(world, {WEB.owner_key: RELEASED, DB.owner_key: RELEASED}, records)
    change(world, "web", replicas=5)
    nature.settle(world)
    found = status(world)
    assert len(world.pods(WEB)) == 5
    assert next(one.pods.total for one in found.workloads if one.name == "web") == 4
    assert found.pods.total == 6


def test_rows_and_totals_add_up() -> None:
    world = a_shop(4)
    move(world, 0)
    change_pod(world, world.pods(WEB)[0], deleting=1)
    found = status(world)
    assert sum(one.pods.total for one in found.workloads) == found.pods.total
    assert sum(one.pods.done for one in found.workloads) == found.pods.done
    assert sum(one.workloads.total for one in found.waves) == found.progress.total


def test_the_headline_counts_as_the_rest_does() -> None:
    """Who has opted out takes no part, and who arrives now has arrived."""
    world = a_shop(4)
    world.workload(DEPLOYMENT, "api", 1)
    nature.settle(world)
    change(world, "api", annotations=Labels({SKIP: "true"}))
    move(world, 0, 1)
    found = status(world)
    assert found.progress.summary == "1/2"
    assert found.message == f"1 of 2 workloads left to move to {NEW}"


# --- the last move ---


def finished(mode: Mode = Mode.INJECT) -> World:
    world = a_shop(4, mode=mode)
    told(world)
    run(world, operator=Operator(world))
    for node in world.all(Node):
        if node.kubelet_version == OLD:
            world.remove(node)
    return world


def test_what_the_last_move_was_is_kept() -> None:
    world = finished()
    began = status(world)
    assert began.last is not None
    found = began.last
    assert (found.target, found.outcome) == (NEW, "Moved")
    assert (found.workloads.summary, found.pods.summary) == ("2/2", "6/6")
    world.publish(began)
    world.pass_time(3600)
    assert status(world).last == found


def test_an_abort_is_the_end_of_a_move() -> None:
    world = a_shop(4)
    move(world, 0)
    told(world)
    world.migrate(abort=True)
    decision = decide(look(world), world.now)
    found = status_of(decision, Evicted(made_room={an_id("web"): 2})).last
    assert found is not None
    assert (found.outcome, found.workloads.summary, found.pods.summary) == ("Aborted", "0/2", "1/6")
    assert found.moves == 2


def test_a_deletion_is_the_end_of_a_move_and_no_other_has_taken_its_place() -> None:
    world = a_shop(4)
    move(world, 0)
    told(world)
    world.finalize(FINALIZER)
    world.end_migration()
    found = status(world).last
    assert found is not None
    assert (found.target, found.outcome, found.pods.summary) == (NEW, "Deleted", "1/6")


def test_another_target_is_the_end_of_a_move() -> None:
    world = a_shop(4)
    told(world)
    world.migrate(target=OLD)
    found = status(world).last
    assert found is not None
    assert (found.target, found.outcome) == (NEW, "Replaced")


def test_while_a_move_goes_on_the_one_before_it_is_the_last() -> None:
    world = a_shop(4)
    assert told(world).last is None
    assert status(world).last is None
