"""An operator that can be interrupted, and a judge who looks at every step before it is taken."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import msgspec

from shiplift.api.marks import UPGRADE_HOLD, UPGRADE_LEDGER, UPGRADE_UID
from shiplift.engine.contested import Memory
from shiplift.engine.step import Outcome, Outcomes, Step
from shiplift.upgrade import steps
from shiplift.upgrade.decide.decision import decide
from shiplift.upgrade.model import Conducted
from shiplift.upgrade.names import FINALIZER
from tests.upgrade.world import NEW, Refused, World

MOST_ROUNDS = 200


class Fate(Enum):
    DONE = "done"
    LOST = "lost"
    """The operator dies before the step reaches the server."""
    UNANSWERED = "unanswered"
    """It was taken, and nobody was told."""


class Operator:
    """One life: all that it remembers is outcomes, and what it has changed."""

    def __init__(self, world: World) -> None:
        self._world, self._outcomes, self._changes = world, Outcomes(), Memory()

    def round(
        self, fate: Callable[[Step], Fate] = lambda _: Fate.DONE, *, publishes: bool = True
    ) -> Conducted:
        world = self._world
        view = msgspec.structs.replace(world.view(self._outcomes), changes=self._changes.changes)
        decision = decide(view, world.now)
        uid = world.upgrade.metadata.uid if world.upgrade else ""
        for step in decision.steps:
            self._take(step, fate(step))
        if publishes and decision.told is not None:
            world.publish(uid, decision.told.status)
        return decision

    def answer(self, step: Step) -> Outcome | None:
        """What somebody says to a step before it is taken; None where nobody says anything."""
        return None

    def _take(self, step: Step, fate: Fate) -> None:
        outcome = Outcome.done(step)
        try:
            if (said := self.answer(step)) is not None:
                outcome = said
            elif fate is not Fate.LOST:
                self._world.take(step)
        except Refused as error:
            outcome = Outcome.refused(step, str(error))
        if fate is Fate.DONE:
            self._outcomes = self._outcomes.remember([outcome], self._world.now)
            if outcome.ok:
                self._changes.note(step, self._world.now)


class Judge:
    """What has to be true whenever a step is taken."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.taken: list[str] = []
        world.listeners.append(self.before)

    def before(self, step: Step) -> None:
        self.taken.append(step.describe())
        world, upgrade = self._world, self._world.upgrade
        match step:
            case steps.MakeRollout() | steps.MakeMigration() | steps.SetTarget() if upgrade is not None:
                assert upgrade.status.target_version is not None, (
                    f"{step.describe()} before the start is stored"
                )
                assert FINALIZER in upgrade.metadata.finalizers, f"{step.describe()} without a finalizer"
            case _:
                pass
        if isinstance(step, steps.MakeRollout) and step.name.endswith("workers"):
            planes = [one for one in world.hosts.values() if one.api_server and not one.left_out]
            assert all(one.api_server == step.spec["version"] for one in planes), (
                "nodes before the control plane"
            )
            assert world.migration is not None, "nodes before workloads know where to go"

    def residue(self) -> list[str]:
        """What of an upgrade is in the cluster."""
        world = self._world
        found = [
            name
            for name, one in world.rollouts.items()
            if UPGRADE_UID in {**one.metadata.labels, **one.metadata.annotations}
        ]
        if world.migration is not None:
            about = world.migration.metadata
            marks = {**about.annotations, **about.labels}
            found += [key for key in (UPGRADE_HOLD, UPGRADE_LEDGER, UPGRADE_UID) if key in marks]
        later = (*world.services.values(), *world.apps.values())
        return found + [f"a mark on {one.id}" for one in later if one.held]


def finish(world: World, most: int = MOST_ROUNDS) -> None:
    """Until nothing happens any more."""
    operator, quiet, before = Operator(world), 0, None
    for _ in range(most):
        operator.round()
        world.turn()
        others = (dict(world.services), dict(world.apps))
        after: tuple[Any, ...] = (
            world.upgrade,
            dict(world.rollouts),
            world.migration,
            repr(world.hosts),
            others,
        )
        quiet = quiet + 1 if after == before else 0
        if quiet > 3:
            return
        before = after
    raise AssertionError(f"it does not come to rest: {world.upgrade}")


def until(
    world: World, holds: Callable[[], object], operator: Operator | None = None, rounds: int = 60
) -> None:
    one = operator or Operator(world)
    for _ in range(rounds):
        if holds():
            return
        one.round()
        world.turn()
    raise AssertionError(f"not so after {rounds} rounds: {world.upgrade}")


def holds(world: World, condition: str) -> bool:
    """Whether a condition of the UpgradeConfig is true."""
    return any(one.type == condition and one.status == "True" for one in world.config.status.conditions)


def well(world: World, judge: Judge, version: str = NEW) -> None:
    """The end of an upgrade that nothing is wrong with."""
    status = world.config.status
    assert status.phase == "Upgraded", status.message
    assert {one.kubelet for one in world.hosts.values() if not one.left_out} == {version}
    assert judge.residue() == []
    assert world.config.metadata.finalizers == ()
    assert status.target_version is None
    assert (status.history[0].version, status.history[0].phase) == (version, "Upgraded")
    assert status.history[0].complete_time is not None
