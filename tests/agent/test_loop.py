"""The loop over both sides: heartbeats in time, actions in order, nothing after one that failed."""

from __future__ import annotations

import pytest

from shiplift.agent import protocol
from shiplift.agent.errors import JournalError
from shiplift.agent.loop import AT_REST, AT_WORK, Loop
from shiplift.agent.model import Record, Seen, Write
from shiplift.agent.protocol import Result
from tests.agent.world import AGENT_VERSION, World, order, settle


def beats(world: World) -> int:
    agent = protocol.agent_of(world.seen.annotations)
    return agent.heartbeat if agent else 0


def test_at_rest_a_node_is_written_once_a_minute() -> None:
    world = World()
    agent = Loop(world, world, AGENT_VERSION)
    for second in range(181):
        agent.once(float(second))
    assert beats(world) == 4
    assert (AT_REST, AT_WORK) == (60.0, 10.0)


def test_at_work_it_is_written_every_ten_seconds() -> None:
    world = World()
    world.give(order())
    agent = Loop(world, world, AGENT_VERSION)
    for second in range(62):
        agent.once(float(second))
    # the claim, then one every ten seconds
    assert beats(world) == 7


def test_a_heartbeat_goes_on_after_the_agent_was_started_again() -> None:
    world = World()
    Loop(world, world, AGENT_VERSION).once(0)
    Loop(world, world, AGENT_VERSION).once(0)
    assert beats(world) == 2


class Refusing(World):
    """Somebody else always writes first."""

    def write(self, write: Write) -> bool:
        self.patch({"example.org/x": self.seen.resource_version})
        return super().write(write)


def test_a_claim_that_was_not_written_is_not_acted_on() -> None:
    world = Refusing()
    world.give(order())
    agent = Loop(world, world, AGENT_VERSION)
    for second in range(5):
        agent.once(float(second))
    assert world.begun == []
    assert world.readiness is None
    assert agent.due is None


def test_what_follows_a_write_that_failed_is_left_for_the_next_loop() -> None:
    world = Refusing()
    world.give(order())
    world.patch({protocol.READY: f"false {order().token}"})
    agent = Loop(world, world, AGENT_VERSION)
    agent.once(0)
    assert world.begun == []
    assert world.record is not None


def test_an_order_that_comes_to_a_full_disk_is_answered_and_the_heart_goes_on_beating() -> None:
    world = World(full=True)
    agent = Loop(world, world, AGENT_VERSION)
    agent.once(0)
    world.give(order())
    for second in range(1, 181):
        agent.once(float(second))
    assert world.outcome is not None
    assert world.outcome.result is Result.REFUSED
    assert "No space left on device; nothing was begun" in world.outcome.message
    assert (world.begun, world.record, world.judged) == ([], None, [])
    # at first, the answer, and one a minute after it
    assert beats(world) == 4


def test_work_that_died_on_a_full_disk_is_answered_as_half_way() -> None:
    world = World()
    world.give(order())
    agent = Loop(world, world, AGENT_VERSION)
    for second in range(3):
        agent.once(float(second))
    world.worker_dies()
    world.full = True
    agent.once(3)
    assert world.outcome is not None
    assert (world.outcome.result, world.begun) == (Result.FAILED, [str(order().token)])


def test_once_there_is_room_the_next_order_is_done() -> None:
    world = World(full=True)
    world.give(order())
    settle(world)
    world.full = False
    world.give(order(attempt=2))
    settle(world)
    assert world.outcome is not None
    assert (world.outcome.token, world.outcome.result) == (str(order(attempt=2).token), Result.DONE)


class Damaged(World):
    """Its journal cannot be written, for a reason of its own."""

    def keep(self, record: Record) -> None:
        raise JournalError("the journal is of a newer agent")


def test_whatever_keeps_an_order_from_being_written_down_is_named() -> None:
    world = Damaged()
    world.give(order())
    settle(world)
    assert world.outcome is not None
    assert "the journal is of a newer agent" in world.outcome.message


class Blind(World):
    def read(self) -> Seen | None:
        return None


def test_without_its_node_an_agent_does_nothing() -> None:
    world = Blind()
    world.give(order())
    decision = Loop(world, world, AGENT_VERSION).once(0)
    assert (decision.actions, decision.says) == ((), "the Node cannot be read")


@pytest.mark.parametrize("at_rest", [1.0, 30.0])
def test_the_heartbeat_at_work_is_never_slower_than_at_rest(at_rest: float) -> None:
    world = World()
    world.give(order())
    agent = Loop(world, world, AGENT_VERSION, at_rest)
    agent.once(5)
    assert agent.due == 5 + min(at_rest, AT_WORK)
