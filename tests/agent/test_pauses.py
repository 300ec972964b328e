"""What is waited for after a loop: a Node that changes, but not while its machine goes down."""

from __future__ import annotations

from collections.abc import Callable

from shiplift.agent.loop import Loop
from shiplift.agent.model import Progress, Seen, Work, Write
from shiplift.agent.program import Agent, Doors
from shiplift.agent.protocol import Order, Reboot
from tests.agent.world import AGENT_VERSION, World, order


class NodeThatChanges(Doors):
    """Whoever waits for a change of it is woken at once."""

    def __init__(self, world: World) -> None:
        self._world, self.waits = world, 0
        self.refuses = False
        """Whether somebody else always writes first."""

    def read(self) -> Seen | None:
        return self._world.read()

    def write(self, write: Write) -> bool:
        return not self.refuses and self._world.write(write)

    def wait(self, seconds: float) -> None:
        self.waits += 1


class SlowToRestart(World):
    """What runs on it is ended first."""

    def restart(self) -> None:
        self.restart_required = True


def stepped(world: World, until: Callable[[], bool]) -> tuple[Agent, NodeThatChanges, list[float]]:
    """An agent after the loops that it took."""
    doors, slept = NodeThatChanges(world), list[float]()
    agent = Agent(doors, Loop(doors, world, AGENT_VERSION), slept.append)
    for _ in range(20):
        if until():
            return agent, doors, slept
        agent.step()
        world.tick()
    raise AssertionError(f"it never came so far: {world}")


def test_a_machine_that_goes_down_is_not_told_again_because_its_node_changes() -> None:
    world = SlowToRestart()
    world.give(Order(order().token, reboot=Reboot.ALWAYS))
    agent, doors, slept = stepped(world, lambda: world.work.progress is Progress.DONE)
    waits = doors.waits
    for _ in range(3):
        agent.step()
    assert slept == [20.0] * 3
    assert doors.waits == waits


def test_a_restart_that_was_not_come_to_is_not_waited_for() -> None:
    """Somebody else wrote the Node first: the next loop begins as soon as that is heard."""
    world = SlowToRestart()
    world.give(Order(order().token, reboot=Reboot.ALWAYS))
    agent, doors, slept = stepped(world, lambda: world.work == Work(Progress.DONE))
    waits = doors.waits
    doors.refuses = True
    agent.step()
    assert (slept, doors.waits) == ([], waits + 1)
