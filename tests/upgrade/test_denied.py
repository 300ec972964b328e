"""Somebody denies what the conductor has to write: a webhook, or a right that is missing. It is tried again
ever more slowly, told, and after a while it is somebody's to mend."""

from __future__ import annotations

from typing import Any

import pytest

from shiplift.engine.step import Outcome, Step
from shiplift.facts.kinds import APP_TYPE
from shiplift.upgrade import steps
from tests.upgrade.players import Judge, Operator, finish, holds, until, well
from tests.upgrade.test_contested import HOOK
from tests.upgrade.world import NEW, World

MINUTE = 60
SAYS = 'admission webhook "policy.example" denied the request'


class Denied(Operator):
    """An operator whose steps of one kind are denied, for ever or so often."""

    def __init__(self, world: World, kind: type[Step], times: int = 1_000_000) -> None:
        super().__init__(world)
        self.kind, self.left = kind, times

    def answer(self, step: Step) -> Outcome | None:
        if not isinstance(step, self.kind) or not self.left:
            return None
        self.left -= 1
        return Outcome.failed(step, SAYS)


def upgrading(**spec: Any) -> World:
    world = World.of(1, 3, **spec)
    world.later(APP_TYPE, "op")
    return world


def rounds(world: World, operator: Operator, seconds: int) -> list[bool]:
    """Whether it was stalled, second by second."""
    seen = list[bool]()
    for _ in range(seconds):
        operator.round()
        seen.append(holds(world, "Stalled"))
        world.turn()
    return seen


@pytest.mark.parametrize(
    "kind", [steps.SetFinalizer, steps.MakeRollout, steps.MakeMigration, steps.DeleteRollout]
)
def test_what_is_denied_for_ever_is_somebodys_to_mend_and_says_who_denies_it(kind: type[Step]) -> None:
    world = upgrading()
    assert rounds(world, Denied(world, kind), MINUTE)[-1]
    assert SAYS in world.config.status.message
    judge = Judge(world)
    finish(world)
    well(world, judge)


@pytest.mark.parametrize("kind", [steps.MakeRollout, steps.MakeMigration, steps.DeleteRollout])
def test_what_fails_for_a_moment_is_nobodys_to_mend(kind: type[Step]) -> None:
    world = upgrading()
    assert not any(rounds(world, Denied(world, kind, times=3), MINUTE))
    assert world.config.status.phase == "Upgraded"


def test_a_turn_that_cannot_be_told_holds_up_nothing_and_is_told() -> None:
    world = World.of(0, 2, version="1.36", type="External", turnHook=HOOK)
    assert not any(rounds(world, Denied(world, steps.TellTurn), MINUTE))
    assert SAYS in world.config.status.message


def test_an_abort_that_is_denied_is_somebodys_to_mend() -> None:
    world = upgrading()
    until(world, lambda: world.rollouts and all(one.kubelet == NEW for one in world.hosts.values()))
    world.change(abort=True)
    assert rounds(world, Denied(world, steps.DeleteRollout), MINUTE)[-1]
    assert world.config.status.reason == "Aborting"
    finish(world)
    assert world.config.status.reason == "Aborted"
