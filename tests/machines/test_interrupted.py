"""From any state that can be reached, wherever bootstrap was killed, the end is the same: one cluster."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from shiplift.machines.model import CommandState, Purpose, Reason
from tests.examples import tries
from tests.machines.world import Laptop, World, bare, names, wanted


class Moment(NamedTuple):
    """A run of bootstrap: rounds until it is killed in the middle of one, and what happens around it."""

    rounds: int
    steps: int
    """How many steps of its last round are taken."""
    tick: bool
    silent: str
    cut: str
    """The machine whose power is cut when it is killed."""


NAMES = ("", "cp-1", "cp-2", "w-1")
MOMENTS = st.builds(
    Moment,
    st.integers(0, 6),
    st.integers(0, 3),
    st.booleans(),
    st.sampled_from(NAMES),
    st.sampled_from(NAMES),
)
SCRIPTS = st.lists(MOMENTS, max_size=8)


def play(world: World, script: list[Moment], control_planes: int, workers: int) -> None:
    asked = wanted(control_planes, workers)
    for moment in script:
        laptop = Laptop(world, asked)
        if moment.silent in world.machines:
            world.take_down(moment.silent)
        for _ in range(moment.rounds):
            laptop.round(tick=moment.tick)
        laptop.round(moment.steps, tick=False)
        world.bring_back()
        if moment.cut in world.machines and not _critical(world, moment.cut):
            world.power_cut(moment.cut)


def _critical(world: World, name: str) -> bool:
    """Whether `kubeadm init`, or a control plane's join, runs there: a person has to look then."""
    running = [one for one in world.machines[name].commands if one.state is CommandState.RUNNING]
    purposes = {Purpose.INIT, Purpose.JOIN} if name.startswith("cp") else {Purpose.INIT}
    return any(one.purpose in purposes for one in running)


@given(SCRIPTS, st.sampled_from((1, 3)), st.integers(0, 2))
@settings(max_examples=tries(300))
def test_every_interrupted_prefix_comes_to_the_same_end(
    script: list[Moment], control_planes: int, workers: int
) -> None:
    asked = wanted(control_planes, workers)
    world = World(*names(asked))
    play(world, script, control_planes, workers)
    decision = Laptop(world, asked).finish()
    assert world.judged == []
    assert (decision.complete, decision.message) == (True, decision.message)
    assert world.nodes == set(names(asked))
    assert sum(purpose is Purpose.INIT for _, purpose in world.begun) == 1


@given(SCRIPTS, SCRIPTS)
@settings(max_examples=tries(150))
def test_a_cluster_grows_wherever_it_was_interrupted(before: list[Moment], after: list[Moment]) -> None:
    world = World("cp-1", "w-1")
    play(world, before, 1, 1)
    asked = wanted(3, 2)
    world.machines |= {name: bare(name) for name in names(asked) if name not in world.machines}
    play(world, after, 3, 2)
    decision = Laptop(world, asked).finish()
    assert world.judged == []
    assert decision.complete
    assert sum(purpose is Purpose.INIT for _, purpose in world.begun) == 1


@given(SCRIPTS, st.integers(0, 12), st.sampled_from(("cp-1", "cp-2", "w-1")))
@settings(max_examples=tries(150))
def test_whatever_is_cut_off_or_silent_there_is_never_a_second_cluster(
    script: list[Moment], rounds: int, lost: str
) -> None:
    asked = wanted(3, 1)
    world = World(*names(asked))
    play(world, script, 3, 1)
    laptop = Laptop(world, asked)
    for _ in range(rounds):
        laptop.round()
    world.power_cut(lost)
    world.take_down(lost)
    decision = Laptop(world, asked).finish()
    world.bring_back()
    again = Laptop(world, asked).finish()
    assert world.judged == []
    assert decision.reason is not Reason.BOOTSTRAPPING
    assert again.complete or again.hint
