"""An API server whose version nobody says: it is waited for a while, then somebody has to look."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.upgrade.players import Judge, Operator, finish, holds, until, well
from tests.upgrade.world import World

MINUTE = timedelta(minutes=1)


def looks(world: World, operator: Operator, minutes: int) -> bool:
    """Whether somebody has to look after so many minutes."""
    for _ in range(minutes):
        operator.round()
        world.now += MINUTE
    operator.round()
    return holds(world, "Stalled")


@pytest.mark.parametrize("said", ["", "v0.0.0-master+$Format:%H$"])
@pytest.mark.parametrize("external", [False, True], ids=["our nodes", "nodes of others"])
def test_before_the_start_it_is_named_and_after_five_minutes_somebody_has_to_look(
    said: str, external: bool
) -> None:
    world = World.of(0 if external else 1, 2, **({"type": "External"} if external else {}))
    if external:
        world.server = said
    else:
        world.hosts["cp-0"].api_server, world.unheard = said, {"cp-0"}
    operator = Operator(world)
    assert not looks(world, operator, 4)
    assert looks(world, operator, 2)
    assert world.config.status.reason == "UnknownVersion"
    assert ("that answers" if external else "of node cp-0") in world.config.status.message


def test_a_server_that_is_silent_for_a_moment_is_nobodys_to_mend_however_long_the_turn_was() -> None:
    world = World.of(0, 2, version="1.36", type="External")
    operator = Operator(world)
    until(world, lambda: world.config.status.turn, operator)
    for _ in range(3):
        known, world.server = world.server, ""
        assert not looks(world, operator, 2)
        world.server = known
        assert not looks(world, operator, 20)


def test_a_server_that_becomes_silent_half_way_is_named_and_somebody_has_to_look() -> None:
    world = World.of(0, 2, version="1.36", type="External")
    operator = Operator(world)
    until(world, lambda: world.config.status.turn, operator)
    world.server = ""
    assert looks(world, operator, 6)
    assert "version" in world.config.status.message


def test_a_worker_that_is_labelled_as_control_plane_half_way_is_named() -> None:
    """Its agent knows of no API server there, and the NodeRollout of the control plane waits for it."""
    world = World.of(1, 3)
    operator = Operator(world)
    until(world, lambda: any(name.endswith("workers") for name in world.rollouts), operator)
    world.labelled.add("w-2")
    for _ in range(10):
        operator.round()
        world.turn()
    assert not holds(world, "Stalled")
    assert looks(world, operator, 6)
    assert "agent of node w-2 does not say which version its API server has" in world.config.status.message
    world.labelled.clear()
    world.turn()
    judge = Judge(world)
    finish(world)
    well(world, judge)
