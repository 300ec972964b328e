"""From any state that can be reached, wherever the agent was killed, the end is the same."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from shiplift.agent.loop import Loop
from shiplift.agent.model import Progress
from shiplift.agent.protocol import CHANGES_ALLOWED, Operation, Order, Readiness, Reboot, Result
from tests.agent.world import AGENT_VERSION, OLD, Killed, World, order, settle
from tests.examples import tries


@dataclass(frozen=True)
class Moment:
    """A life of an agent: loops until it is killed after so many actions, and what happens around it."""

    actions: int
    loops: int
    tick: bool
    worker_dies: bool
    touched: bool
    """Whether somebody else writes on the Node meanwhile: what the agent saw is then old."""
    late: bool


MOMENTS = st.builds(
    Moment, st.integers(1, 4), st.integers(1, 4), st.booleans(), st.booleans(), st.booleans(), st.booleans()
)
SCRIPTS = st.lists(MOMENTS, max_size=6)
ORDERS = st.builds(
    order, st.sampled_from([Operation.PACKAGES, Operation.UPGRADE_NODE]), reboot=st.sampled_from(Reboot)
)


def play(world: World, script: list[Moment], between: Callable[[World], object] = lambda _: None) -> None:
    for moment in script:
        agent = Loop(world, world, AGENT_VERSION)
        world.lives, world.late = moment.actions, moment.late
        with contextlib.suppress(Killed):
            for number in range(moment.loops):
                agent.once(float(number))
                if moment.touched:
                    world.patch({"example.org/x": str(number)})
        if moment.tick:
            world.tick()
        if moment.worker_dies:
            world.worker_dies()
        between(world)


def in_time(script: list[Moment]) -> list[Moment]:
    """Where all depends on what the Node says at this moment."""
    return [replace(moment, late=False) for moment in script]


def ended(world: World, given: Order) -> tuple[object, ...]:
    """What the end is compared by."""
    assert world.judged == []
    assert world.readiness == Readiness(True, str(given.token))
    assert world.outcome is not None
    return world.outcome.result, world.software, world.current


def calm(given: Order, *, fails: bool = False) -> World:
    world = World(fails=fails)
    world.give(given)
    settle(world)
    return world


@given(ORDERS, SCRIPTS, st.booleans(), st.booleans())
@settings(max_examples=tries(400))
def test_every_interrupted_prefix_comes_to_the_same_end(
    asked: Order, script: list[Moment], fails: bool, required: bool
) -> None:
    world = World(fails=fails, restart_required=required)
    world.give(asked)
    play(world, script)
    settle(world)
    expected = calm(asked, fails=fails)
    assert ended(world, asked) == ended(expected, asked)


@given(ORDERS, SCRIPTS)
@settings(max_examples=tries(200))
def test_the_machines_record_may_be_lost_at_any_time(asked: Order, script: list[Moment]) -> None:
    world = World()
    world.give(asked)
    play(world, script, World.lose_record)
    settle(world)
    assert ended(world, asked) == ended(calm(asked), asked)


@given(ORDERS, SCRIPTS)
@settings(max_examples=tries(200))
def test_work_is_begun_once_unless_it_dies(asked: Order, script: list[Moment]) -> None:
    world = World()
    world.give(asked)
    play(world, [replace(moment, worker_dies=False) for moment in script])
    settle(world)
    assert world.begun == [str(asked.token)]
    assert world.boots == (2 if asked.reboot is Reboot.ALWAYS and asked.token.operation.wants_cordon else 1)


@given(ORDERS, SCRIPTS, SCRIPTS, st.booleans())
@settings(max_examples=tries(200))
def test_what_was_answered_is_not_done_again(
    asked: Order, script: list[Moment], after: list[Moment], lost: bool
) -> None:
    world = calm(asked)
    begun = list(world.begun)
    if lost:
        world.lose_record()
    play(world, script + after)
    settle(world)
    assert world.begun == begun
    assert world.judged == []


@given(ORDERS, SCRIPTS, SCRIPTS)
@settings(max_examples=tries(300))
def test_an_order_is_withdrawn_whole_or_done(asked: Order, before: list[Moment], after: list[Moment]) -> None:
    world = World()
    world.give(asked)
    play(world, before)
    answered = world.readiness is not None and world.readiness.ready
    withdrawn = world.withdraw()
    play(world, after)
    settle(world)
    assert world.judged == []
    if withdrawn and not answered:
        assert world.begun == []
        assert world.readiness is None
        assert world.software == OLD
    else:
        assert ended(world, asked) == ended(calm(asked), asked)


@given(ORDERS, SCRIPTS, SCRIPTS, st.booleans())
@settings(max_examples=tries(200))
def test_an_order_that_is_erased_after_the_claim_is_answered(
    asked: Order, before: list[Moment], after: list[Moment], lost: bool
) -> None:
    world = World()
    world.give(asked)
    play(world, before)
    claimed = world.claimed
    world.patch({CHANGES_ALLOWED: None})
    if lost:
        world.lose_record()
    play(world, in_time(after))
    settle(world)
    assert world.judged == []
    if claimed and not lost:
        assert ended(world, asked) == ended(calm(asked), asked)
    if claimed and lost:
        assert world.outcome is not None
        assert world.outcome.result is Result.FAILED


@given(ORDERS, SCRIPTS, SCRIPTS)
@settings(max_examples=tries(200))
def test_on_a_node_that_was_uncordoned_nothing_is_begun(
    asked: Order, before: list[Moment], after: list[Moment]
) -> None:
    world = World()
    world.give(asked)
    play(world, before)
    world.patch({}, unschedulable=False)
    play(world, in_time(after))
    settle(world)
    assert world.judged == []
    assert world.work.progress is not Progress.RUNNING
    assert not world.claimed or (world.work.progress is Progress.DONE and asked.reboot is Reboot.ALWAYS)


@given(ORDERS, SCRIPTS, SCRIPTS)
@settings(max_examples=tries(200))
def test_on_a_node_that_is_cordoned_again_every_order_is_answered(
    asked: Order, before: list[Moment], after: list[Moment]
) -> None:
    world = World()
    world.give(asked)
    play(world, before)
    world.patch({}, unschedulable=False)
    play(world, in_time(after))
    world.patch({}, unschedulable=True)
    settle(world)
    assert world.judged == []
    assert world.readiness == Readiness(True, str(asked.token))
    assert world.outcome is not None
    if world.outcome.result is Result.DONE:
        assert ended(world, asked) == ended(calm(asked), asked)


@given(ORDERS, SCRIPTS, SCRIPTS)
@settings(max_examples=tries(200))
def test_a_disk_may_fill_up_at_any_time_and_every_order_is_answered(
    asked: Order, before: list[Moment], after: list[Moment]
) -> None:
    world = World()
    world.give(asked)
    play(world, before)
    world.full = True
    play(world, after)
    settle(world)
    assert world.judged == []
    assert world.readiness == Readiness(True, str(asked.token))
    assert world.outcome is not None
    if world.outcome.result is Result.REFUSED:
        assert (world.begun, world.software) == ([], OLD)


@given(ORDERS, ORDERS, SCRIPTS, SCRIPTS)
@settings(max_examples=tries(200))
def test_a_later_order_is_done_after_the_claimed_one(
    first: Order, other: Order, before: list[Moment], after: list[Moment]
) -> None:
    second = order(other.token.operation, attempt=2, reboot=other.reboot)
    world = World()
    world.give(first)
    play(world, before)
    claimed = world.claimed
    world.give(second)
    play(world, after)
    settle(world)
    assert ended(world, second)[0] is Result.DONE
    if claimed:
        assert world.begun[0] == str(first.token)
