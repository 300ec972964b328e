"""An upgrade that came from a provider: asked for once more before the start, and what becomes of it
without."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from shiplift.api.marks import PROVIDER_LABEL, REFRESH_ASKED, REFRESH_AT, REFRESH_DONE, UPGRADE_HOLD
from shiplift.api.upgrade import Desired, Policy, PolicyLost
from tests.upgrade.players import Judge, Operator, finish, holds, until, well
from tests.upgrade.world import NEW, World

PLANE, WORKERS = "upgrade-v1.36.3-control-plane", "upgrade-v1.36.3-workers"
LOST = Policy(provider="HTTP", id="p", lost=True)


def of_provider(**spec: Any) -> World:
    world = World.of(1, 2, **spec)
    world.mark({PROVIDER_LABEL: "HTTP"})
    return world


def answer(world: World) -> None:
    """The layer policy has asked, and the UpgradeConfig is what the provider said."""
    world.mark(**{REFRESH_DONE: world.config.metadata.annotations[REFRESH_ASKED]})


def told(world: World) -> str:
    Operator(world).round()
    return world.config.status.reason or ""


def tell(world: World, policy: Policy | None) -> None:
    assert world.upgrade is not None
    status = msgspec.structs.replace(world.config.status, policy=policy)
    world.publish(world.config.metadata.uid, status)


def test_the_provider_is_asked_once_more_before_anything_is_done() -> None:
    world = of_provider()
    judge = Judge(world)
    finish(world)
    (wish,) = judge.taken
    assert wish.startswith("ask for the policy once more")
    assert world.config.status.reason == "Refreshing"
    answer(world)
    finish(world)
    assert judge.taken[1] == "put our finalizer on the UpgradeConfig"
    well(world, judge)


def test_one_that_was_made_by_hand_asks_nobody() -> None:
    world = World.of(1, 2)
    finish(world)
    assert REFRESH_ASKED not in world.config.metadata.annotations


def test_while_the_provider_does_not_answer_nothing_starts_and_why_is_told() -> None:
    world = of_provider()
    told(world)
    tell(world, Policy(provider="HTTP", message="provider HTTP cannot be asked: connection refused"))
    asked = world.config.metadata.annotations[REFRESH_ASKED]
    world.now += timedelta(hours=2)
    assert told(world) == "Refreshing"
    assert "connection refused" in world.config.status.message
    assert any(one.type == "Stalled" and one.status == "True" for one in world.config.status.conditions)
    assert world.config.metadata.annotations[REFRESH_ASKED] == asked, "one wish is enough"
    assert world.config.status.target_version is None


def test_an_answer_to_an_old_wish_is_no_answer() -> None:
    world = of_provider()
    told(world)
    first = world.config.metadata.annotations[REFRESH_ASKED]
    world.now += timedelta(minutes=10)
    answer(world)
    told(world)
    assert world.config.metadata.annotations[REFRESH_ASKED] != first
    answer(world)
    until(world, lambda: world.config.status.target_version == NEW, rounds=5)


@pytest.mark.parametrize("wish", ["w-1", "2026-05-04T09:00:00", ""])
def test_a_wish_of_somebody_else_does_not_count_for_ours(wish: str) -> None:
    world = of_provider()
    world.mark(**{REFRESH_ASKED: wish, REFRESH_DONE: wish})
    told(world)
    assert world.config.metadata.annotations[REFRESH_ASKED] != wish


def test_what_the_answer_has_changed_goes_through_all_gates() -> None:
    world = of_provider()
    told(world)
    world.change(desired=Desired(version="v1.38.0"))
    answer(world)
    assert told(world) == "VersionRefused"


def test_without_its_policy_it_is_finished_all_the_same_and_that_is_told() -> None:
    world = World.of(1, 2)
    judge = Judge(world)
    until(world, lambda: WORKERS in world.rollouts)
    tell(world, LOST)
    Operator(world).round()
    assert "its policy is gone, and it is finished all the same" in world.config.status.message
    finish(world)
    well(world, judge)


def test_where_it_is_to_rest_without_its_policy_nodes_rest_and_go_on_when_it_is_back() -> None:
    world = World.of(1, 3, onPolicyLost="Pause")
    judge = Judge(world)
    until(world, lambda: WORKERS in world.rollouts)
    tell(world, LOST)
    finish(world)
    assert world.config.status.reason == "PolicyLost"
    assert world.rollouts[WORKERS].metadata.annotations[UPGRADE_HOLD] == "policy lost"
    assert world.migration is not None
    assert world.migration.metadata.annotations[UPGRADE_HOLD] == "policy lost"
    tell(world, Policy(provider="HTTP", id="p"))
    finish(world)
    well(world, judge)


def test_a_control_plane_is_never_left_half_upgraded() -> None:
    world = World.of(3, 2, onPolicyLost="Pause")
    until(world, lambda: PLANE in world.rollouts and world.rollouts[PLANE].status.start_time is not None)
    tell(world, LOST)
    finish(world)
    planes = [one for one in world.hosts.values() if one.api_server]
    assert {one.api_server for one in planes} == {NEW}
    assert WORKERS not in world.rollouts
    assert world.config.status.reason == "PolicyLost"


def test_whoever_wants_to_go_on_without_it_says_so() -> None:
    world = World.of(1, 2, onPolicyLost="Pause")
    judge = Judge(world)
    until(world, lambda: WORKERS in world.rollouts)
    tell(world, LOST)
    finish(world)
    world.change(on_policy_lost=PolicyLost.FINISH)
    finish(world)
    well(world, judge)


def test_a_provider_that_takes_minutes_to_answer_is_not_asked_for_ever() -> None:
    """What counts is when it said it, not when it was asked."""
    world = of_provider()
    told(world)
    first = world.config.metadata.annotations[REFRESH_ASKED]
    world.now += timedelta(minutes=4)
    answer(world)
    world.mark(**{REFRESH_AT: f"{world.now - timedelta(seconds=5):%Y-%m-%dT%H:%M:%SZ}"})
    until(world, lambda: world.config.status.target_version == NEW, rounds=5)
    assert world.config.metadata.annotations[REFRESH_ASKED] == first


@pytest.mark.parametrize("said", ["soon", "2020-05-04T09:00:00Z", "2026-05-04T09:00:00"])
def test_an_answer_that_is_old_or_dated_by_nobody_is_none(said: str) -> None:
    world = of_provider()
    told(world)
    first = world.config.metadata.annotations[REFRESH_ASKED]
    world.now += timedelta(minutes=4)
    answer(world)
    world.mark(**{REFRESH_AT: said})
    told(world)
    assert world.config.metadata.annotations[REFRESH_ASKED] != first


@pytest.mark.parametrize("wish", ["", "somebody's own"], ids=["ours", "of somebody else"])
def test_a_provider_that_nobody_asks_is_somebodys_to_look_at_after_a_while(wish: str) -> None:
    """No operator has the layer policy, or it finds no settings that it can read."""
    world = of_provider()
    if wish:
        world.mark(**{REFRESH_ASKED: wish})
    operator = Operator(world)
    for minute in range(8):
        operator.round()
        world.turn()
        assert holds(world, "Stalled") == (minute >= 5), minute
        world.now += timedelta(minutes=1)
    assert world.config.status.reason == "Refreshing"
    assert "an operator with the layer policy has to run" in world.config.status.message
    answer(world)
    operator.round()
    answer(world)
    until(world, lambda: world.config.status.target_version == NEW, operator, rounds=5)
