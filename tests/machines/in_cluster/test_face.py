"""What people see of pools and machines."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, cast

import msgspec
import pytest
from rich.console import Console

from shiplift import api
from shiplift.api.machines import Machine, MachinePool
from shiplift.face.parts import FaceError, Question
from shiplift.facts.kinds import MACHINE, MACHINE_POOL, Kind
from shiplift.kube.client import Client, Written
from shiplift.kube.errors import KubeError
from shiplift.kube.store import Store
from shiplift.kube.undoing import UndoError
from shiplift.machines.face import layout
from shiplift.machines.face.explain import EXPLAIN
from shiplift.machines.face.fleet import FleetView, changes, fleet_data, fleet_view
from shiplift.machines.face.status import STATUS
from shiplift.machines.face.undo import undo_all
from shiplift.view.section import Arrival
from shiplift.view.values import Heard
from tests.machines.in_cluster.world import FakeStore, World, hosts, spec
from tests.operators.world import FakeClient

NOW = 1_795_000_000


def pools(world: World) -> list[MachinePool]:
    return [
        api.decode(MACHINE_POOL, msgspec.json.encode(one))  # type: ignore[misc]
        for one in world.of(MACHINE_POOL).values()
    ]


def seen(world: World, heard: Heard | None = None) -> FleetView:
    found = fleet_view(pools(world), NOW, heard)
    assert found is not None
    return found


def drawn(picture: Any, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(picture)
    return console.file.getvalue()  # type: ignore[attr-defined]


def a_world(wanted: Any = 2, *, settled: bool = True) -> World:
    world = World()
    world.pool("burst", wanted)
    if settled:
        world.settle()
    return world


def test_without_a_pool_there_is_nothing_to_tell() -> None:
    assert fleet_view([], NOW, None) is None
    assert STATUS.look(lambda _: [], NOW, None) is None


@pytest.mark.parametrize(
    ("wanted", "state", "arrival"),
    [
        (spec(2), "complete", Arrival.MOVED),
        (spec(2, paused=True), "paused", Arrival.MOVED),
        (spec(2, kwok={"cpu": "9999"}), "stalled", Arrival.NOT_YET),
        (hosts("rack-0"), "led by laptop", Arrival.MOVED),
    ],
)
def test_one_word_says_where_a_pool_is(wanted: Any, state: str, arrival: Arrival) -> None:
    view = seen(a_world(wanted))
    assert (view.pools[0].state, view.arrival) == (state, arrival)
    assert bool(view.stalled) == (state == "stalled")


def test_a_pool_that_nobody_has_looked_at_says_so_and_hints_at_an_operator() -> None:
    view = seen(a_world(settled=False))
    assert (view.pools[0].state, view.arrival) == ("not seen", Arrival.NOT_YET)
    assert "layer machines" in view.hints[0]


def test_what_was_said_of_an_earlier_spec_does_not_count() -> None:
    world = a_world()
    world.edit("burst", replicas=3)
    view = seen(world)
    assert (view.pools[0].state, view.arrival) == ("not seen", Arrival.NOT_YET)


def test_more_machines_than_asked_for_hold_nobody_up() -> None:
    world = a_world()
    world.edit("burst", replicas=1)
    world.settle()
    view = seen(world)
    assert (view.pools[0].state, view.arrival) == ("too many", Arrival.MOVED)
    assert (
        "burst: 1 machine with a node that is Ready; 1 machine more than asked for: burst-1" in view.stalled
    )


def test_the_section_names_the_pools_and_how_many_are_ready() -> None:
    world = a_world()
    world.pool("racks", hosts("rack-0", "rack-1", replicas=2))
    world.settle()
    told = drawn(STATUS.picture(seen(world), None, None))
    assert "2 of 4 ready, in 2 pools" in told
    assert "burst  Kwok      2/2" in told
    assert "led by laptop" in told
    assert "and 1 more" in drawn(STATUS.picture(seen(world), 1, 1))


def test_a_change_is_told_once() -> None:
    world = a_world(settled=False)
    before = seen(world)
    world.settle()
    after = seen(world)
    assert changes(before, after) == ["burst: complete, 2 of 2 ready"]
    assert changes(after, after) == []


def test_programs_read_the_same() -> None:
    data = fleet_data(seen(a_world()))
    assert data["arrival"] == "Moved"
    assert data["pools"] == [
        {
            "name": "burst",
            "role": "Worker",
            "provider": "Kwok",
            "version": "1.36.3",
            "wanted": 2,
            "machines": 2,
            "ready": 2,
            "state": "complete",
            "message": "2 machines with a node that is Ready",
            "stalled": False,
        }
    ]


def test_a_silent_operator_is_told_of_and_which_one_to_run() -> None:
    assert (
        "`--layers machines` where no other layer is installed" in seen(a_world(), Heard(NOW - 100)).hints[0]
    )


def test_a_pool_that_is_complete_and_paused_says_both() -> None:
    world = a_world()
    world.edit("burst", paused=True)
    world.settle()
    assert seen(world).pools[0].state == "complete, paused"


# --- one of them ---


class Reading:
    """The objects of a world."""

    namespace = ""

    def __init__(self, world: World) -> None:
        self._world = world

    def objects(self, kind: Kind) -> Sequence[Any]:
        return [api.decode(kind, msgspec.json.encode(one)) for one in self._world.of(kind).values()]

    def collected(self, watches: Any) -> Any:
        raise AssertionError("nothing but our own objects is read")


def explained(world: World, kind: str, name: str) -> str:
    return drawn(EXPLAIN.picture(EXPLAIN.explained(Reading(world), Question(kind, name), NOW)))


def test_a_pool_is_explained_with_its_machines() -> None:
    told = explained(a_world(), "machinepool", "burst")
    assert "burst, complete" in told
    assert "2 of role Worker, version 1.36.3, by Kwok" in told
    assert "burst-1  joined  burst-1  its node is Ready" in told


def test_those_that_are_not_as_they_should_be_come_first_and_a_hint_says_what_helps() -> None:
    world = a_world(spec(3, joinTimeout="1m"))
    world.fall_ill("burst-2")
    world.settle()
    world.passes(minutes=2)
    world.settle()
    told = explained(world, "mpool", "burst")
    assert told.index("burst-2") < told.index("burst-0")
    assert "hint: `kubectl describe node`" in told


def test_a_machine_is_explained_with_its_pool() -> None:
    world = a_world()
    told = explained(world, "machine", "burst-1")
    assert "burst-1, joined" in told
    assert "burst, complete" in told
    world.delete(MACHINE_POOL, "burst")
    assert "burst, which is not there" in explained(world, "machine", "burst-1")


def test_a_node_is_explained_by_its_machine() -> None:
    world = a_world()
    assert explained(world, "node", "burst-1") == explained(world, "machine", "burst-1")
    with pytest.raises(FaceError, match="no Machine has node by-hand"):
        explained(world, "node", "by-hand")


@pytest.mark.parametrize(
    ("kind", "name", "hint"),
    [
        ("machinepool", "brust", "did you mean machinepool/burst?"),
        ("machine", "x", "`kubectl get machines` lists them"),
    ],
)
def test_what_is_not_there_is_said_with_what_may_be_meant(kind: str, name: str, hint: str) -> None:
    with pytest.raises(FaceError, match=f"there is no .* {name}") as caught:
        explained(a_world(), kind, name)
    assert caught.value.hint == hint


def test_texts_of_others_do_nothing_to_a_terminal() -> None:
    world = a_world()
    pool = pools(world)[0]
    evil = msgspec.structs.replace(pool, status=msgspec.structs.replace(pool.status, message="a\x1b[2Jb"))
    view = fleet_view([evil], NOW, None)
    assert view is not None
    assert "\x1b" not in drawn(layout.fleet(view, None))
    machine: Machine = api.decode(MACHINE, msgspec.json.encode(world.of(MACHINE)["burst-0"]))  # type: ignore[assignment]
    assert machine.status.message == "its node is Ready"


# --- undo ---


class Refusing(FakeClient):
    """A webhook refuses changes of one pool."""

    def patch(self, kind: Kind, name: str, *given: Any, **more: Any) -> Written:
        if name == "a":
            raise KubeError("a webhook says no")
        return super().patch(kind, name, *given, **more)


def test_undo_pauses_every_pool_that_can_be_paused_and_names_the_other() -> None:
    world = World()
    for name in ("a", "b", "c"):
        world.pool(name, 1)
    said: list[str] = []
    client = cast("Client", Refusing(world.cluster, lambda _: None))
    with pytest.raises(UndoError, match="MachinePool a cannot be paused: a webhook says no"):
        undo_all(client, cast("Store", FakeStore(world.cluster)), said.append)
    paused = {name: one["spec"].get("paused", False) for name, one in world.of(MACHINE_POOL).items()}
    assert paused == {"a": False, "b": True, "c": True}
    assert [one.split()[1] for one in said] == ["b", "c"]
