"""What Prometheus is told: workloads that are stuck, also at the end, and users' budgets that are held."""

from __future__ import annotations

from datetime import timedelta
from typing import cast

import msgspec

from shiplift.api.marks import HOLD_LEDGER
from shiplift.api.placements import Turn
from shiplift.api.workloads import Hold, MigrationState, Mode, WorkloadMigrationStatus
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.facts.workloads import PodDisruptionBudget
from shiplift.kube.store import Store
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.model import Migrating, Reason
from shiplift.workloads.tell.metrics import MigrationCollector
from shiplift.workloads.tell.report import status_of
from tests.model import nature
from tests.workloads.players import Operator, run
from tests.workloads.views import DEPLOYMENT, an_id, change_pod, look, say, under_way
from tests.workloads.world import NEW, World

WEB = an_id("web")
LOOPS = "CrashLoopBackOff: back-off 5m0s restarting failed container"


def metric(world: World, name: str, after: timedelta = timedelta(0)) -> dict[str, float]:
    """Its samples by the value of their last label."""
    now = (world.now + after).timestamp()
    families = MigrationCollector(cast("Store", world), lambda: now).collect()
    (family,) = [one for one in families if one.name == name]
    return {next(reversed(one.labels.values()), ""): one.value for one in family.samples}


def overdue(world: World, after: timedelta) -> float:
    return metric(world, "shiplift_migration_overdue_workloads", after)[""]


def publish(world: World) -> WorkloadMigrationStatus:
    status = status_of(decide(look(world), world.now))
    world.publish(status)
    return status


def crash_loops(world: World) -> None:
    pod = next(pod for pod in world.pods(WEB) if pod.node.startswith("new"))
    change_pod(world, pod, ready=False, waiting=LOOPS)


def half_there(replicas: int = 3) -> World:
    """One pod of web is on a target node, and crash-loops there."""
    world = under_way((DEPLOYMENT, "web", replicas))
    world.budget("web", {"app": "web"}, {"maxUnavailable": 1})
    say(world, {WEB.owner_key: Turn.RELEASED})
    nature.delete(world, world.pods(WEB)[0])
    nature.settle(world)
    crash_loops(world)
    (budget,) = world.all(PodDisruptionBudget)
    world.put(msgspec.structs.replace(budget, current_healthy=replicas - 1, disruptions_allowed=0))
    return world


def test_while_others_are_away_the_line_names_the_pod_that_fails_and_why() -> None:
    (line,) = status_of(decide(look(world := half_there()), world.now)).workloads
    assert line.reason == Reason.BUDGET_EXHAUSTED.value
    assert line.message.startswith("2 pods to move; PodDisruptionBudget shop/web needs 2 healthy pods")
    pod = next(pod for pod in world.pods(WEB) if not pod.ready)
    assert line.message.endswith(f"; pod {pod.name} on {pod.node} is not Ready ({LOOPS})")


def test_a_workload_that_crash_loops_after_the_last_old_node_is_gone_is_overdue() -> None:
    world = under_way((DEPLOYMENT, "web", 1))
    run(world)
    world.publish(msgspec.structs.replace(publish(world), met=()))
    crash_loops(world)
    for node in world.all(Node):
        if node.kubelet_version != NEW:
            world.remove(node)
    status = publish(world)
    assert status.state is MigrationState.UPGRADE
    (line,) = status.workloads
    assert line.reason == Reason.NOT_READY.value
    assert overdue(world, timedelta(minutes=5)) == 0
    assert overdue(world, timedelta(minutes=11)) == 1


def test_neither_a_turn_that_has_not_come_nor_soaking_nor_a_pause_is_overdue() -> None:
    world = under_way((DEPLOYMENT, "web", 1), (DEPLOYMENT, "db", 1), soak="1h")
    world.order("order", [(WEB, an_id("db"))])
    operator = Operator(world)
    run(world, operator=operator)
    status = publish(world)
    assert {one.reason for one in status.workloads} == {"WaitsForDependency", "Soaking"}
    assert overdue(world, timedelta(minutes=50)) == 0
    assert not [one for one in status_of(later(world)).workloads if "no progress" in one.message]


def later(world: World) -> Migrating:
    return decide(look(world), world.now + timedelta(minutes=50))


def test_budgets_of_users_that_are_held_are_named_and_ours_are_not() -> None:
    world = under_way((DEPLOYMENT, "web", 2), (DEPLOYMENT, "api", 2), hold=Hold.ALWAYS, mode=Mode.INJECT)
    world.order("order", [(WEB, an_id("gone")), (an_id("api"), an_id("gone"))])
    world.budget("web", {"app": "web"}, {"maxUnavailable": 1})
    world.budget("idle", {"app": "idle"}, {"maxUnavailable": 1})
    nature.settle(world)
    assert metric(world, "shiplift_held_budget") == {}
    Operator(world).round()
    assert len(world.all(PodDisruptionBudget)) == 3
    assert metric(world, "shiplift_held_budget") == {"web": 1.0}


def test_at_most_a_hundred_of_them_are_named() -> None:
    world = under_way((DEPLOYMENT, "web", 1))
    for number in range(130):
        world.budget(f"b{number:03}", {"app": "web"}, {"maxUnavailable": 1})
    for row in world.all(PodDisruptionBudget):
        world.put(msgspec.structs.replace(row, annotations=Labels({HOLD_LEDGER: "{}"})))
    assert len(metric(world, "shiplift_held_budget")) == 100
