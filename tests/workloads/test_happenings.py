"""Events on the WorkloadMigration are few: it began, cannot go on by itself and why, can again, ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import msgspec
import pytest

from shiplift.api.workloads import WorkloadState
from shiplift.facts import kinds
from shiplift.facts.nodes import Node
from shiplift.kube.client import Client
from shiplift.kube.events import EventType, Recorder, Regarding
from shiplift.kube.statuses import Pace
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.memory import Evictions
from shiplift.workloads.names import FINALIZER
from shiplift.workloads.tell.happenings import of_workload
from shiplift.workloads.tell.publish import Publisher
from shiplift.workloads.tell.report import status_of
from tests.model import nature
from tests.workloads.players import Operator, run
from tests.workloads.views import DEPLOYMENT, STATEFUL_SET, an_id, look
from tests.workloads.world import NEW, OLD, World, a_world

WEB, DB = an_id("web"), an_id("db", STATEFUL_SET)


class Told:
    """A publisher whose Events are kept; the clock never holds it up."""

    barrier = None

    def __init__(self, world: World) -> None:
        self.world, self.now = world, 0.0
        self.said: list[tuple[str, str, EventType]] = []
        self.publisher = Publisher(
            cast("Client", self), cast("Recorder", self), Evictions(), Pace(lambda: self.now)
        )

    def patch(self, *_: Any, **__: Any) -> Told:
        return self

    def record(self, regarding: Regarding, reason: str, note: str, *, type: EventType, **_: Any) -> None:  # noqa: A002
        if regarding.kind == kinds.WORKLOAD_MIGRATION:
            assert (regarding.name, regarding.namespace, regarding.uid) == ("cluster", "", "the-migration")
            self.said.append((reason, note, type))

    def tell(self) -> list[str]:
        """The reasons of the Events of one more round."""
        self.said.clear()
        self.now += 100
        decision = decide(look(self.world), self.world.now)
        list(self.publisher.publish(decision))
        self.world.publish(status_of(decision))
        return [reason for reason, _, _ in self.said]


@pytest.fixture
def told() -> Told:
    world = a_world(target=NEW)
    world.workload(DEPLOYMENT, "web", 4)
    world.workload(STATEFUL_SET, "db", 2)
    world.order("order", [(WEB, DB)])
    nature.settle(world)
    return Told(world)


def add_nodes(world: World, *, closed: bool = False) -> None:
    for name in ("new-1", "new-2"):
        world.node(name, NEW, unschedulable=closed)


def open_targets(world: World) -> None:
    for node in world.all(Node):
        world.put(msgspec.structs.replace(node, unschedulable=False))


def test_the_way_of_a_migration_in_events(told: Told) -> None:
    world = told.world
    assert told.tell() == ["Started"]
    assert told.said[0][1] == f"moving to {NEW}: 2 workloads, 6 pods, in mode Inject"
    assert told.tell() == ["WaitingForNodes"]
    assert told.said[0][1:] == (f"no node runs {NEW} yet (2 on {OLD})", EventType.NORMAL)
    assert told.tell() == []
    add_nodes(world, closed=True)
    assert told.tell() == ["Blocked"]
    assert told.said[0][1].startswith("StatefulSet shop/db: 0 of 2 target nodes fit")
    assert told.said[0][2] is EventType.WARNING
    world.node("new-3", NEW, unschedulable=True)
    assert told.tell() == [], "it is blocked as before"
    open_targets(world)
    assert told.tell() == ["Unblocked"]
    run(world, operator=Operator(world))
    told.tell()
    for node in world.all(Node):
        if node.kubelet_version == OLD:
            world.remove(node)
    assert told.tell() == ["Finished"]
    assert told.said[0][1].startswith(f"moved to {NEW} in ")
    assert told.tell() == []


def pause(world: World) -> None:
    world.migrate(paused=True)


def abort(world: World) -> None:
    world.migrate(abort=True)


def turn_back(world: World) -> None:
    world.migrate(target=OLD)


def delete(world: World) -> None:
    world.finalize(FINALIZER)
    world.end_migration()


@pytest.mark.parametrize(
    ("does", "reasons"),
    [
        (pause, ["Paused"]),
        (abort, ["Aborted"]),
        (delete, ["Deleted"]),
        (turn_back, ["Replaced", "Started"]),
    ],
)
def test_what_somebody_asks_for_is_told(
    told: Told, does: Callable[[World], None], reasons: list[str]
) -> None:
    add_nodes(told.world)
    told.tell()
    told.tell()
    does(told.world)
    assert told.tell() == reasons


def test_an_event_on_a_workload_speaks_of_the_workload() -> None:
    """How its turn is brought about comes after that it has come."""
    world = a_world(target=NEW)
    world.workload(DEPLOYMENT, "web", 2)
    nature.settle(world)
    add_nodes(world)
    told = Told(world)
    told.tell()
    released = next(one for one in status_of(decide(look(world), world.now)).workloads)
    assert released.state is WorkloadState.RELEASED
    assert of_workload(released) == ("ItsTurn", "its turn has come: its release is being written down", False)
    asked = msgspec.structs.replace(released, reason="PlacementNotInForce", message="API servers are asked")
    assert of_workload(asked) == ("ItsTurn", "its turn has come; API servers are asked", False)
    at_once = msgspec.structs.replace(asked, state=WorkloadState.MOVING, reason="Evicting", message="a pod")
    assert of_workload(at_once, WorkloadState.HELD) == ("ItsTurn", "its turn has come; a pod", False)
    assert of_workload(at_once, WorkloadState.RELEASED) == ("Evicting", "a pod", False)
    stuck = msgspec.structs.replace(released, state=WorkloadState.BLOCKED, reason="NoSlot", message="full")
    assert of_workload(stuck) == ("NoSlot", "full", True)


def test_no_turn_has_come_before_the_move_is_written_down(told: Told) -> None:
    add_nodes(told.world)
    begins = status_of(decide(look(told.world), told.world.now))
    assert {one.state for one in begins.workloads} == {WorkloadState.HELD}
    db = next(one for one in begins.workloads if one.name == "db")
    assert (db.reason, db.message) == ("Starting", "the move is being written down")
