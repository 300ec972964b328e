"""An API server that refuses what an agent reads or writes is asked ever less often, until it does not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shiplift.agent import program
from shiplift.agent.loop import Loop
from shiplift.agent.model import Seen, Write
from shiplift.agent.program import Agent, Doors
from tests.agent.world import AGENT_VERSION, World, order


class Server(Doors):
    """With a clock of its own; what it refuses is said by functions of the time."""

    def __init__(self, world: World) -> None:
        self._world, self.now = world, 0.0
        self.gives: Callable[[float], bool] = lambda _: True
        self.takes: Callable[[float], bool] = lambda _: True
        self.read_at, self.wrote_at, self.waited = list[float](), list[float](), list[float]()

    def read(self) -> Seen | None:
        self.read_at.append(self.now)
        return self._world.read() if self.gives(self.now) else None

    def write(self, write: Write) -> bool:
        self.wrote_at.append(self.now)
        return self.takes(self.now) and self._world.write(write)

    def wait(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.now += seconds

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server(World())
    monkeypatch.setattr(program, "time", made)
    return made


def lives(server: Server, until: float, world: World | None = None) -> None:
    hands = world or World()
    agent = Agent(server, Loop(server, hands, AGENT_VERSION), lambda _: None, lambda: 0.0)
    while server.now < until:
        agent.step()


def later_than(times: list[float], minute: float) -> int:
    return sum(time >= 60 * minute for time in times)


def test_writes_that_are_denied_for_long_are_tried_once_or_twice_a_minute(server: Server) -> None:
    server.takes = lambda now: now < 180
    lives(server, 1800)
    # the last ten minutes
    assert 10 <= later_than(server.wrote_at, 20) <= 20
    assert 10 <= later_than(server.read_at, 20) <= 20


def test_reads_that_are_refused_for_long_are_tried_once_or_twice_a_minute(server: Server) -> None:
    server.gives = lambda now: now < 180
    lives(server, 1800)
    assert 10 <= later_than(server.read_at, 20) <= 20


def test_the_first_look_after_a_fault_is_a_second_later(server: Server) -> None:
    server.gives = lambda _: False
    lives(server, 20)
    assert server.waited[:4] == [1.0, 1.5, 2.25, 3.375]


@pytest.mark.parametrize("away", [3.0, 20.0, 60.0])
def test_the_first_success_makes_it_as_quick_as_before(server: Server, away: float) -> None:
    server.gives = lambda now: not 120 <= now < 120 + away
    lives(server, 400)
    back = next(time for time in server.read_at if time >= 120 + away)
    assert back - (120 + away) <= 0.5 * away + 1
    faults = [one for one, at in zip(server.waited, server.read_at, strict=True) if 120 <= at < 120 + away]
    assert faults[0] == 1.0
    after = [one for one, at in zip(server.waited, server.read_at, strict=True) if at >= 120 + away]
    assert max(after) == 30.0


def test_an_order_that_waits_for_a_write_is_claimed_as_soon_as_that_is_taken(server: Server) -> None:
    world = server._world  # pyright: ignore[reportPrivateUsage]
    world.give(order())
    server.takes = lambda now: now >= 2
    lives(server, 4, world)
    assert world.claimed
    assert server.wrote_at[:3] == [0.0, 1.0, 2.5]


def test_it_is_listened_for_changes_also_after_a_fault(server: Server) -> None:
    """A Node that somebody else wrote first, or an order that comes, ends the wait."""
    server.takes = lambda _: False
    slept = list[float]()
    agent = Agent(server, Loop(server, World(), AGENT_VERSION), slept.append, lambda: 0.0)
    for _ in range(5):
        agent.step()
    assert (slept, len(server.waited)) == ([], 5)
    assert min(server.waited) >= 1.0


def test_agents_that_fail_together_come_back_apart(server: Server) -> None:
    server.gives = lambda _: False
    for chance in (0.0, 0.9):
        Agent(server, Loop(server, World(), AGENT_VERSION), chance=lambda chance=chance: chance).step()
    assert server.waited == [1.0, 1.45]
