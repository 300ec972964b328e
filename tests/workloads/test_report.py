"""What people read: one line for each workload that waits, what it waits for, and what would unblock it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from shiplift.api.placements import Turn
from shiplift.api.workloads import (
    MigrationState,
    Mode,
    OnBlockedWorkload,
    OnCycle,
    OnMissing,
    WorkloadMigrationStatus,
    WorkloadStatus,
)
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.decide.waiting import how_far
from shiplift.workloads.model import Evicted
from shiplift.workloads.names import SKIP
from shiplift.workloads.steps import HoldBudget
from shiplift.workloads.tell.report import WEIGHT, status_of
from tests.model import nature
from tests.workloads import server
from tests.workloads.players import Operator, run
from tests.workloads.views import (
    DB,
    DEPLOYMENT,
    WEB,
    a_shop,
    an_id,
    arrive,
    change,
    change_pod,
    evicting,
    look,
    say,
    status,
)
from tests.workloads.world import NEW, OLD, World

HELD, RELEASED = Turn.HELD, Turn.RELEASED


def one_of(world: World, name: str) -> WorkloadStatus:
    return next(one for one in status(world).workloads if one.name == name)


def line(world: World, name: str) -> str:
    one = one_of(world, name)
    return f"{one.state} {one.reason}: {one.message}"


def cordon_targets(world: World) -> None:
    for node in world.all(Node):
        if node.kubelet_version == NEW:
            world.put(msgspec.structs.replace(node, unschedulable=True))


# --- lines ---


def test_who_waits_for_a_dependency() -> None:
    assert line(a_shop(), "web") == (
        "Held WaitsForDependency: waits for StatefulSet shop/db, 0 of 2 pods moved"
        " (said by WorkloadOrder shop/order)"
    )


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"ready": 2}, "0 of 2 pods moved"),
        ({"away": (), "ready": 1}, "1 of 2 pods that have moved are Ready"),
        ({"away": (), "leaving": 1}, "all of whose pods have moved, until those that leave have ended (1)"),
        ({"away": ()}, "all of whose pods have moved, until they have been Ready for a while"),
    ],
)
def test_a_dependency_whose_pods_have_all_moved_says_what_is_missing(
    known: dict[str, Any], said: str
) -> None:
    tally = look(a_shop()).tallies[DB]
    assert how_far(msgspec.structs.replace(tally, **{"ready": 2, "leaving": 0} | known)) == said


def test_who_waits_for_several() -> None:
    world = a_shop()
    more = world.workload(DEPLOYMENT, "api", 1)
    world.order("more", [(WEB, more)])
    nature.settle(world)
    assert " and 1 more" in line(world, "web")


def test_who_waits_for_what_does_not_exist() -> None:
    world = a_shop()
    world.order("more", [(DB, an_id("bd"))])
    assert line(world, "db") != ""
    say(world, {WEB.owner_key: HELD, DB.owner_key: HELD})
    assert line(world, "db") == (
        "Blocked MissingDependency: waits for Deployment shop/bd, which does not exist"
        " (said by WorkloadOrder shop/more); correct it,"
        " or set spec.onMissing of WorkloadMigration cluster to Ignore"
    )


def test_who_is_in_a_cycle() -> None:
    world = a_shop(on_cycle=OnCycle.STOP)
    world.order("more", [(DB, WEB)])
    say(world, {WEB.owner_key: HELD, DB.owner_key: HELD})
    assert line(world, "db") == (
        "Blocked InCycle: is in a cycle with Deployment shop/web (said by WorkloadOrder shop/more);"
        " remove a dependency, or set spec.onCycle of WorkloadMigration cluster to Collapse"
    )


def test_who_is_evicted() -> None:
    world = a_shop()
    node = world.pods(DB)[1].node
    assert line(world, "db") == (
        f"Moving Evicting: move pod shop/db-1 of StatefulSet shop/db away from node {node}"
    )


def test_whose_placement_is_not_in_force() -> None:
    world = a_shop()
    decision = decide(look(world, in_force=False), world.now)
    found = next(one for one in status_of(decision).workloads if one.name == "db")
    assert (found.reason, found.message) == (
        "PlacementNotInForce",
        "API servers are asked whether they go by shiplift-pods",
    )


@pytest.mark.parametrize(
    ("change_it", "expected"),
    [
        (
            {"node": "", "ready": False, "unschedulable": "0/4 nodes are available"},
            "Blocked PodsPending: pod db-1 fits on no target node: 0/4 nodes are available",
        ),
        ({"deleting": 1}, "Moving PodsTerminating: 1 pod still terminating"),
        (
            {"ready": False, "waiting": "CrashLoopBackOff"},
            "Moving PodsNotReady: pod db-1 on new-1 is not Ready (CrashLoopBackOff)",
        ),
    ],
)
def test_what_is_still_on_its_way(change_it: dict[str, Any], expected: str) -> None:
    world = a_shop()
    for pod in world.pods(DB):
        change_pod(world, pod, node="new-1")
    change_pod(world, world.pods(DB)[1], **change_it)
    assert line(world, "db") == expected


def test_who_soaks() -> None:
    world = a_shop(soak="1h")
    for pod in world.pods(DB):
        change_pod(world, pod, node="new-1", ready_since=int(world.now.timestamp()))
    assert line(world, "db") == (
        "Moving Soaking: all pods are there; they are watched until they have been Ready for 1h"
    )


def test_whose_budget_is_still_held() -> None:
    world = a_shop()
    uid = world.budget("db", {"app": "db"}, {"maxUnavailable": 1})
    assert server.take(world, HoldBudget(DB, "db", uid), {}).ok
    nature.settle(world)
    assert line(world, "db") == ("Released BudgetStillHeld: its PodDisruptionBudget is being given back")


def test_whose_budget_has_no_room_now() -> None:
    world = a_shop()
    arrive(world, "db")
    say(world, {WEB.owner_key: RELEASED, DB.owner_key: RELEASED})
    world.budget("web", {"app": "web"}, {"minAvailable": 2})
    change_pod(world, world.pods(WEB)[0], ready=False, waiting="CrashLoopBackOff", node="new-1")
    nature.tick(world)
    broken = next(pod.name for pod in world.pods(WEB) if not pod.ready)
    assert line(world, "web") == (
        "Moving BudgetExhausted: 2 pods to move; PodDisruptionBudget shop/web needs 2 healthy pods and has"
        f" just 2; pod {broken} on new-1 is not Ready (CrashLoopBackOff)"
    )


def test_who_has_no_budget_and_waits_for_its_own_pods_exhausts_none() -> None:
    world = a_shop()
    arrive(world, "db")
    say(world, {WEB.owner_key: RELEASED, DB.owner_key: RELEASED})
    change_pod(world, world.pods(WEB)[0], ready=False, waiting="CrashLoopBackOff", node="new-1")
    nature.tick(world)
    broken = next(pod.name for pod in world.pods(WEB) if not pod.ready)
    assert line(world, "web") == (
        "Moving PodsNotReady: 2 pods to move; 2 of 3 pods are Ready; the others come first;"
        f" pod {broken} on new-1 is not Ready (CrashLoopBackOff)"
    )


def test_whose_budget_never_lets_one_go() -> None:
    world = a_shop()
    arrive(world, "db")
    say(world, {WEB.owner_key: RELEASED, DB.owner_key: RELEASED})
    world.budget("web", {"app": "web"}, {"minAvailable": 3})
    nature.settle(world)
    assert line(world, "web") == (
        "Blocked NeverEvictable: PodDisruptionBudget shop/web needs 3 of 3 pods healthy:"
        " it never lets one go; change the budget,"
        " or set spec.onBlocked of WorkloadMigration cluster to Surge"
    )


def test_who_has_two_budgets() -> None:
    world = a_shop()
    arrive(world, "db")
    say(world, {WEB.owner_key: RELEASED, DB.owner_key: RELEASED})
    for name in ("one", "two"):
        world.budget(name, {"app": "web"}, {"maxUnavailable": 1})
    nature.settle(world)
    pod = look(world).tallies[WEB].away[0].name
    assert line(world, "web") == (
        f"Blocked TwoBudgets: PodDisruptionBudgets shop/one and shop/two both select pod shop/{pod};"
        " change the budget, or set spec.onBlocked of WorkloadMigration cluster to Surge"
    )


def test_who_finds_no_slot() -> None:
    world = a_shop()
    cordon_targets(world)
    assert line(world, "db") == (
        "Blocked NoSlot: 0 of 2 target nodes fit: 2 unschedulable; add target nodes, or wait"
    )


def test_who_is_rolled_out_in_mode_template() -> None:
    world = a_shop(mode=Mode.TEMPLATE)
    run(world, operator=Operator(world))
    told = status(world)
    assert told.message == "all workloads have arrived; 2 nodes of another version left"
    assert told.needs == "2 nodes of other versions have to go, or to be upgraded"


# --- the whole ---


def test_those_that_need_somebody_come_first() -> None:
    world = a_shop()
    cordon_targets(world)
    assert [one.name for one in status(world).workloads] == ["db", "web"]


def test_who_has_arrived_or_opted_out_is_not_listed() -> None:
    world = a_shop()
    for pod in world.pods(DB):
        change_pod(world, pod, node="new-1")
    arrive(world, "db")
    change(world, "web", annotations=Labels({SKIP: "true"}))
    found = status(world)
    assert found.workloads == ()
    assert found.progress.summary == "1/1"


def test_progress_waves_and_versions_are_counted() -> None:
    world = a_shop()
    for pod in world.pods(DB):
        change_pod(world, pod, node="new-1")
    found = status(world)
    assert (found.progress.summary, found.pods.summary) == ("1/2", "2/5")
    assert [(one.number, one.workloads.summary) for one in found.waves] == [(0, "1/1"), (1, "0/1")]
    assert [(one.version, one.nodes) for one in found.versions] == [(OLD, 2), (NEW, 2)]


def test_of_more_versions_than_the_status_holds_those_of_most_nodes_are_told() -> None:
    world = a_shop()
    for number in range(70):
        world.node(f"n{number}", f"v1.30.{number}")
    found = status(world)
    written = msgspec.convert(msgspec.to_builtins(found), WorkloadMigrationStatus)
    assert written.versions == found.versions
    assert len(found.versions) == 64
    assert [one.version for one in found.versions if one.nodes > 1] == [OLD, NEW]


def test_a_pod_that_is_being_evicted_is_still_to_be_moved() -> None:
    world = a_shop()
    one = world.pods(WEB)[0]
    view = look(world, evicting(one))
    assert status_of(decide(view, world.now)).pods.summary == "0/5"


def test_missing_dependencies_and_cycles_are_named() -> None:
    world = a_shop(on_missing=OnMissing.BLOCK, on_cycle=OnCycle.STOP)
    world.order("more", [(DB, an_id("bd")), (DB, WEB)])
    found = status(world)
    assert [(one.dependent, one.dependency) for one in found.missing] == [
        ("StatefulSet shop/db", "Deployment shop/bd")
    ]
    assert len(found.cycles) == 1


def test_moves_add_up_and_begin_anew_with_another_target() -> None:
    world = a_shop()
    assert world.migration is not None
    world.publish(msgspec.structs.replace(world.migration.status, moves=5))
    assert status_of(decide(look(world), world.now), Evicted(made_room={an_id("web"): 2})).moves == 7
    world.migrate(target=OLD)
    assert status_of(decide(look(world), world.now), Evicted(made_room={an_id("web"): 2})).moves == 2


def test_since_is_kept_while_nothing_moves_and_stuck_is_said_after_the_deadline() -> None:
    world = a_shop()
    cordon_targets(world)
    first = status(world)
    world.publish(first)
    began = next(one.since for one in first.workloads if one.name == "db")
    world.pass_time(timedelta(minutes=11).total_seconds())
    again = one_of(world, "db")
    assert again.since == began
    assert " (no progress for 11 min; " in again.message
    assert again.message.endswith("leave it out with shiplift.dev/skip-migration: true)")
    assert "no progress" not in one_of(world, "web").message


def test_replicas_that_somebody_adds_are_no_progress() -> None:
    world = a_shop()
    first = status(world)
    world.publish(first)
    began = next(one.since for one in first.workloads if one.name == "web")
    world.pass_time(120)
    change(world, "web", replicas=5)
    again = one_of(world, "web")
    assert (again.pods.total, again.since) == (5, began)


def test_a_block_with_the_policy_stop_stalls_the_whole_and_names_who() -> None:
    world = a_shop(on_blocked=OnBlockedWorkload.STOP)
    world.budget("db", {"app": "db"}, {"minAvailable": 2})
    nature.settle(world)
    found = status(world)
    assert found.message.startswith(
        "StatefulSet shop/db: PodDisruptionBudget shop/db needs 2 of 2 pods healthy"
    )
    assert {one.type: one.status.value for one in found.conditions}["Stalled"] == "True"


def test_paused_says_so_and_starts_nothing() -> None:
    world = a_shop(paused=True)
    decision = decide(look(world), world.now)
    assert decision.steps == ()
    assert status_of(decision).message == "paused: what is in flight ends, nothing new starts"


def test_without_a_target_only_the_common_part_is_told() -> None:
    world = a_shop()
    world.migrate(abort=True)
    found = status(world)
    assert (found.state, found.target, found.workloads, found.met) == (
        MigrationState.NO_UPGRADE,
        None,
        (),
        (),
    )


# --- pressing ---


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"met": ("u",)}, True),
        ({"emptying": "old-1"}, True),
        ({"target": OLD}, True),
        ({"observed_generation": 99}, True),
        ({"message": "other"}, False),
        ({"moves": 3}, False),
    ],
)
def test_only_what_decisions_depend_on_is_pressing(changed: dict[str, Any], expected: bool) -> None:
    before = status(a_shop())
    assert WEIGHT.pressing(before, msgspec.structs.replace(before, **changed)) is expected
