"""What the tests of passages have in common: a shop under way, and its workload's way through the gates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from shiplift.api.placements import Turn
from shiplift.api.workloads import WorkloadKind, WorkloadState, WorkloadStatus
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod
from shiplift.workloads.face.passage import GateView, Passage, Passing, passage
from shiplift.workloads.model import Reason
from shiplift.workloads.record import Record
from tests.model import nature
from tests.workloads.views import DEPLOYMENT, an_id, look, say, under_way
from tests.workloads.world import NEW, World

WEB, API = an_id("web"), an_id("api")
MOMENT = datetime(2030, 1, 1, tzinfo=UTC)
NOW = int(MOMENT.timestamp())


def pods_of(world: World) -> list[Pod]:
    return sorted(world.pods(WEB), key=lambda pod: (pod.node, pod.name))


def way(world: World, pod: Pod | None = None) -> Passage:
    """As the command sees it, which knows of no placement whether it is in force."""
    return passage(look(world, in_force=False), WEB, pod or pods_of(world)[0], NOW)


def closed(found: Passage) -> GateView:
    (one,) = [gate for gate in (*found.workload, *found.pod) if gate.passing is Passing.CLOSED]
    return one


def released(world: World, **records: Record) -> World:
    say(world, {WEB.owner_key: Turn.RELEASED}, {an_id(name).owner_key: one for name, one in records.items()})
    return world


def a_shop(replicas: int = 3, **spec: Any) -> World:
    return under_way((DEPLOYMENT, "web", replicas), **spec)


def a_budget(**limits: Any) -> World:
    world = released(a_shop())
    world.budget("web", {"app": "web"}, limits)
    nature.settle(world)
    return world


def without_room(world: World) -> World:
    for node in world.all(Node):
        if node.kubelet_version == NEW:
            world.put(msgspec.structs.replace(node, unschedulable=True))
    return world


def told(world: World, reason: Reason, message: str, **more: Any) -> World:
    """The operator has said that of the workload, ten minutes ago."""
    migration, row = world.migration, world.row_of(WEB)
    assert migration is not None
    assert row is not None
    line = WorkloadStatus(
        kind=WorkloadKind.DEPLOYMENT,
        namespace=WEB.namespace,
        name=WEB.name,
        state=WorkloadState.BLOCKED,
        uid=row.uid,
        reason=reason.value,
        message=message,
        since=MOMENT - timedelta(minutes=10),
        **more,
    )
    world.publish(msgspec.structs.replace(migration.status, workloads=(line,)))
    return world
