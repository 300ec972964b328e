"""Views for the tests of single rules: a small cluster that is under way, looked at by the real observer."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

import msgspec

from shiplift.api.marks import label_value
from shiplift.api.placements import Turn, WorkloadPlacement, WorkloadPlacementSpec
from shiplift.api.workloads import MigrationState, Mode, WorkloadKind, WorkloadMigrationStatus
from shiplift.engine.step import Outcomes
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod
from shiplift.kube.store import Store
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.model import Migrating, Tally, View
from shiplift.workloads.names import FINALIZER
from shiplift.workloads.observe.observer import Observer
from shiplift.workloads.record import RECORDS, Record
from shiplift.workloads.tell.report import status_of
from tests.model import nature
from tests.workloads.world import NEW, SPACE, World, a_world

_LATER = datetime(2100, 1, 1, tzinfo=UTC)
"""When the tests are over: what kubelets say of their pods is believed."""
DEPLOYMENT, STATEFUL_SET = WorkloadKind.DEPLOYMENT, WorkloadKind.STATEFUL_SET
WEB, DB = WorkloadId("Deployment", SPACE, "web"), WorkloadId("StatefulSet", SPACE, "db")


def under_way(
    *workloads: tuple[WorkloadKind, str, int], mode: Mode = Mode.INJECT, target: str = NEW, **spec: Any
) -> World:
    """A migration that has begun: workloads on old nodes, target nodes marked and empty."""
    world = a_world(mode, **spec)
    for kind, name, replicas in workloads:
        world.workload(kind, name, replicas)
    nature.settle(world)
    world.publish(WorkloadMigrationStatus(state=MigrationState.UPGRADE, target=target, mode=mode))
    world.finalize(FINALIZER)
    world.node("new-1", NEW)
    world.node("new-2", NEW)
    for node in world.all(Node):
        world.put(world.marked(node))
    return world


def a_shop(web: int = 3, db: int = 2, **spec: Any) -> World:
    """web waits for db, which may go; with so many pods."""
    world = under_way((DEPLOYMENT, "web", web), (STATEFUL_SET, "db", db), **spec)
    world.order("order", [(WEB, DB)])
    say(world, {WEB.owner_key: Turn.HELD, DB.owner_key: Turn.RELEASED})
    return world


def say(
    world: World,
    turns: dict[str, Turn] | None = None,
    records: dict[str, Record] | None = None,
    *,
    target: str = NEW,
    namespace: str = SPACE,
) -> None:
    """Write the placement of a namespace."""
    spec = WorkloadPlacementSpec(
        target=label_value(target), turns=turns or {}, ledger=RECORDS.encode(records or {})
    )
    binds = any(one.binds for one in (records or {}).values())
    world.write_placement(namespace, spec, (FINALIZER,) if binds else ())
    world.learn()


def said(world: World, namespace: str = SPACE) -> WorkloadPlacementSpec | None:
    row = world.placement(namespace)
    return None if row is None else cast("WorkloadPlacement", row.object).spec


def arrive(world: World, *names: str) -> None:
    """These are written down as having arrived."""
    migration = world.migration
    assert migration is not None
    rows = [row for name in names for kind in WorkloadKind if (row := world.row_of(an_id(name, kind)))]
    world.publish(msgspec.structs.replace(migration.status, met=tuple(row.uid for row in rows)))


def look(world: World, outcomes: Outcomes | None = None, *, in_force: bool = True) -> View:
    """What the observer sees; with every placement seen to be in force, unless told otherwise."""
    observer = Observer(cast("Store", world), lambda: world.inject, now=lambda: _LATER)
    if in_force:
        for row in world.placements():
            observer.in_force.note(row.uid, row.generation, observer.in_force.now())
    return observer.observe(outcomes or Outcomes())


def decided(world: World, outcomes: Outcomes | None = None) -> Migrating:
    return decide(look(world, outcomes), world.now)


def status(world: World) -> WorkloadMigrationStatus:
    """What the operator would write now."""
    return status_of(decided(world))


def an_id(name: str, kind: WorkloadKind = DEPLOYMENT, namespace: str = SPACE) -> WorkloadId:
    return WorkloadId(kind.value, namespace, name)


def tally(view: View, name: str) -> Tally:
    return next(one for id_, one in view.tallies.items() if id_.name == name)


def cordon(world: World, *names: str) -> None:
    for name in names:
        node = world.named(Node, name, "")
        assert node is not None
        world.put(msgspec.structs.replace(node, unschedulable=True))


def change_pod(world: World, pod: Pod, **values: Any) -> Pod:
    return world.put(msgspec.structs.replace(pod, **values))


def change(world: World, name: str, **values: Any) -> None:
    """Change a workload, as its owner would."""
    for kind in WorkloadKind:
        row = world.row_of(an_id(name, kind))
        if row is not None:
            world.put(msgspec.structs.replace(row, **values))


def evicting(*pods: Pod) -> Outcomes:
    """The evictions of these pods are under way."""
    return Outcomes(running=frozenset(f"evict {pod.uid}" for pod in pods))
