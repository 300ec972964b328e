"""What the original falls over, and the conductor does not: an UpgradeConfig that is replaced in the middle,
a provider that flaps, a clock that jumps."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from shiplift.api.upgrade import Policy, PolicyLost
from tests.upgrade.players import Judge, Operator, finish, until, well
from tests.upgrade.world import NEW, World


@pytest.mark.parametrize("rollouts", [1, 2], ids=["control plane", "workers"])
def test_one_that_is_replaced_in_the_middle_is_finished_by_the_new_one(rollouts: int) -> None:
    world = World.of(1, 3)
    until(world, lambda: len(world.rollouts) == rollouts)
    before = world.config.metadata.uid
    world.ask()
    assert world.config.metadata.uid != before
    judge = Judge(world)
    finish(world)
    well(world, judge)


def test_one_that_is_replaced_in_the_middle_by_another_version_goes_there() -> None:
    world = World.of(1, 3)
    until(world, lambda: len(world.rollouts) == 2)
    world.ask(version="v1.36.4")
    judge = Judge(world)
    finish(world)
    well(world, judge, "v1.36.4")


def test_a_policy_that_comes_and_goes_makes_it_rest_and_go_on() -> None:
    world = World.of(1, 3, onPolicyLost=PolicyLost.PAUSE.value)
    judge, operator = Judge(world), Operator(world)
    until(world, lambda: world.rollouts, operator)
    for turn in range(40):
        lost = Policy(provider="HTTP", id="p", lost=turn % 3 == 0)
        status = msgspec.structs.replace(world.config.status, policy=lost)
        world.publish(world.config.metadata.uid, status)
        operator.round()
        world.turn()
    world.publish(
        world.config.metadata.uid,
        msgspec.structs.replace(world.config.status, policy=Policy(provider="HTTP", id="p")),
    )
    finish(world)
    well(world, judge)
    assert len([one for one in judge.taken if one.startswith("make NodeRollout")]) == 2


@pytest.mark.parametrize("days", [-30, 30])
@pytest.mark.parametrize("windows", [[], [{"schedule": "0 9 * * *", "duration": "4h"}]])
def test_a_clock_that_jumps_in_the_middle_makes_nothing_twice(
    days: int, windows: list[dict[str, str]]
) -> None:
    world = World.of(1, 3, windows=windows, upgradeAt="2026-05-04T08:59:00Z", startDeadline="30m")
    judge = Judge(world)
    until(world, lambda: world.rollouts)
    world.now += timedelta(days=days)
    finish(world)
    well(world, judge)
    assert len([one for one in judge.taken if one.startswith("make NodeRollout")]) == 2
    assert world.config.status.history[0].version == NEW
