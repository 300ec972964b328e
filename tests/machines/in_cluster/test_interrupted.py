"""Wherever the operator is killed, before a write or after it, and whatever others do meanwhile: the end is
the same, every node's machine is written down first, and nothing is there twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from shiplift.facts.kinds import MACHINE, MACHINE_POOL, NODE
from tests.examples import tries
from tests.machines.in_cluster.world import World

POOLS = ("burst", "spare")


def _loses_node(world: World, pool: str, number: int) -> None:
    world.delete(NODE, f"{pool}-{number}")


def _loses_machine(world: World, pool: str, number: int) -> None:
    world.delete(MACHINE, f"{pool}-{number}")


def _falls_ill(world: World, pool: str, number: int) -> None:
    if (name := f"{pool}-{number}") in world.of(NODE):
        world.fall_ill(name, ill=False)


def _scales(world: World, pool: str, number: int) -> None:
    world.edit(pool, replicas=number)


def _is_replaced(world: World, pool: str, number: int) -> None:
    """The pool is deleted and made again."""
    world.delete(MACHINE_POOL, pool)
    world.pool(pool, number)


Act = Callable[[World, str, int], None]
ACTS: tuple[Act, ...] = (_loses_node, _loses_machine, _falls_ill, _scales, _is_replaced)


class Moment(NamedTuple):
    """Rounds, then one in which the operator is killed at its n-th write; others act after its look."""

    rounds: int
    kill: int
    act: Act | None
    pool: str
    number: int


moments = st.builds(
    Moment,
    st.integers(0, 3),
    st.integers(0, 9),
    st.one_of(st.none(), st.sampled_from(ACTS)),
    st.sampled_from(POOLS),
    st.integers(0, 4),
)


def play(world: World, script: list[Moment]) -> None:
    for one in script:
        for _ in range(one.rounds):
            world.round()
        world.kill_at = world.writes + one.kill if one.kill else -1
        act = one.act
        world.round(between=(lambda: act(world, one.pool, one.number)) if act else None)  # noqa: B023 - at once
        world.kill_at = -1


@given(st.lists(moments, max_size=6), st.integers(0, 4), st.integers(0, 4))
@settings(max_examples=tries(300))
def test_every_interrupted_prefix_comes_to_the_same_end(
    script: list[Moment], first: int, second: int
) -> None:
    world = World()
    world.pool("burst", 2)
    world.pool("spare", 1)
    play(world, script)
    tidy(world)
    for pool, wanted in zip(POOLS, (first, second), strict=True):
        world.edit(pool, replicas=wanted)
    world.settle()
    for pool, wanted in zip(POOLS, (first, second), strict=True):
        machines = [name for name in world.names(MACHINE) if name.startswith(f"{pool}-")]
        assert len(machines) == wanted
        assert set(machines) <= set(world.names(NODE))
        assert world.said(pool) == ("True", "Complete")
        assert world.status(pool)["ready"]["summary"] == f"{wanted}/{wanted}"
    assert world.cluster.wrong == []


def tidy(world: World) -> None:
    """Somebody removes everything, as nothing else does, and nobody does it again: what is asked for later
    has to come anew, as if it were for the first time."""
    world.settle()
    for pool in POOLS:
        world.edit(pool, replicas=0)
    for kind in (NODE, MACHINE):
        for name in world.names(kind):
            world.delete(kind, name)
    world.settle()
    world.passes(minutes=11)


@given(st.lists(moments, max_size=6))
@settings(max_examples=tries(300))
def test_the_operator_removes_nothing_and_makes_nothing_that_is_there(script: list[Moment]) -> None:
    world = World()
    world.pool("burst", 3)
    world.pool("spare", 1)
    play(world, [one._replace(act=None) for one in script])
    world.settle()
    wanted = ["burst-0", "burst-1", "burst-2", "spare-0"]
    assert sorted(world.cluster.made) == sorted(
        [f"MachinePool {one}" for one in POOLS]
        + [f"Machine {one}" for one in wanted]
        + [f"Node {one}" for one in wanted]
    )
    assert world.said("burst") == world.said("spare") == ("True", "Complete")


def test_whichever_write_is_the_last_of_an_operator_the_end_is_the_same() -> None:
    clean = World()
    clean.pool("burst", 3)
    clean.settle()
    for number in range(1, clean.writes + 1):
        world = World()
        world.pool("burst", 3)
        world.kill_at = number
        world.settle()
        world.settle()
        assert world.names(NODE) == clean.names(NODE)
        assert world.names(MACHINE) == clean.names(MACHINE)
        assert world.status("burst")["ready"] == clean.status("burst")["ready"]
        assert len(world.cluster.made) == len(clean.cluster.made), f"killed at write {number}"
        assert world.cluster.wrong == []
