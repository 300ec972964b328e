"""Small clusters by chance: who there is, who waits for whom, which budgets, which policies."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

import msgspec
from hypothesis import strategies as st

from shiplift.api.workloads import (
    Cleanup,
    Hold,
    MigrationState,
    Mode,
    OnBlockedWorkload,
    OnCycle,
    WorkloadKind,
)
from shiplift.facts.meta import Labels
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.names import SKIP
from tests.model import nature
from tests.workloads.players import Judge, Operator
from tests.workloads.world import NEW, OLD, SPACE, Pace, World

SPACES = (SPACE, "back")


class Cover(Enum):
    """Which budgets a workload has."""

    NONE = "none"
    ONE_AWAY = "one away"
    ONE_STAYS = "one stays"
    QUARTER = "a quarter away"
    ALL = "all stay"
    SHARED = "one for its tier"
    TWO = "two"
    ROLES = "one for each role, which pods get at run time"


class Part(msgspec.Struct, frozen=True):
    kind: WorkloadKind
    replicas: int
    cover: Cover
    space: int = 0
    skipped: bool = False
    scaled: bool = False


class Sketch(msgspec.Struct, frozen=True):
    """A cluster before its migration."""

    parts: tuple[Part, ...]
    needs: tuple[tuple[int, int], ...]
    mode: Mode
    hold: Hold = Hold.ON_FOREIGN_DRAIN
    on_blocked: OnBlockedWorkload = OnBlockedWorkload.WAIT
    on_cycle: OnCycle = OnCycle.STOP
    cleanup: Cleanup = Cleanup.ON_NEXT_ROLLOUT
    pace: Pace = Pace()

    def id(self, number: int) -> WorkloadId:
        part = self.parts[number]
        return WorkloadId(part.kind.value, SPACES[part.space], f"w{number}")


class Moment(msgspec.Struct, frozen=True):
    """One look of the operator, and how it is interrupted."""

    cut: int | None = None
    backwards: bool = False
    publishes: bool = True
    dies: bool = False
    ticks: int = 1


class Staged(NamedTuple):
    """A cluster at the moment when target nodes have come."""

    world: World
    ids: list[WorkloadId]
    judge: Judge

    def replicas(self) -> dict[WorkloadId, int]:
        return {id_: row.replicas for id_ in self.ids if (row := self.world.row_of(id_)) is not None}

    def off_target(self, version: str = NEW) -> list[WorkloadId]:
        return [id_ for id_ in self.ids if set(self.world.versions(id_)) - {version}]

    def unready(self) -> list[WorkloadId]:
        return [id_ for id_ in self.ids if not all(pod.ready for pod in self.world.pods(id_))]

    @property
    def state(self) -> MigrationState | None:
        return self.world.migration.status.state if self.world.migration else None


parts = st.builds(
    Part,
    kind=st.sampled_from(WorkloadKind),
    replicas=st.sampled_from((0, 1, 2, 3)),
    cover=st.sampled_from(Cover),
    space=st.sampled_from((0, 0, 1)),
    skipped=st.sampled_from((False, False, False, True)),
    scaled=st.sampled_from((False, False, True)),
)
paces = st.builds(Pace, ready=st.booleans(), leave=st.booleans(), params=st.booleans())
moments = st.builds(
    Moment,
    cut=st.none() | st.integers(0, 4),
    backwards=st.booleans(),
    publishes=st.booleans(),
    dies=st.booleans(),
    ticks=st.integers(0, 2),
)
scripts = st.lists(moments, max_size=14)


@st.composite
def sketches(
    draw: st.DrawFn, *, movable: bool = False, modes: tuple[Mode, ...] = (Mode.INJECT, Mode.TEMPLATE)
) -> Sketch:
    """Any; or, if everybody is to be able to move, without what blocks for ever."""
    drawn = draw(st.lists(parts, min_size=1, max_size=6))
    mode = draw(st.sampled_from(modes))
    blocked = draw(st.sampled_from((OnBlockedWorkload.WAIT, OnBlockedWorkload.SURGE)))
    if movable:
        drawn = [_movable(one) for one in drawn]
    count = len(drawn)
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(
        lambda one: one[0] != one[1]
    )
    needs = draw(st.lists(pairs, max_size=2 * count)) if count > 1 else []
    if draw(st.booleans()):
        needs = [(max(one), min(one)) for one in needs]
    cycle = OnCycle.COLLAPSE if movable else draw(st.sampled_from(OnCycle))
    return Sketch(
        tuple(drawn),
        tuple(dict.fromkeys(needs)),
        mode,
        draw(st.sampled_from(Hold)),
        blocked,
        cycle,
        draw(st.sampled_from(Cleanup)),
        draw(paces),
    )


def _movable(part: Part) -> Part:
    """With a budget that lets a pod go, and taking part."""
    always = (Cover.NONE, Cover.ONE_AWAY, Cover.ROLES)
    fine = part.cover in always or (part.cover is Cover.ONE_STAYS and part.replicas > 1)
    return msgspec.structs.replace(part, cover=part.cover if fine else Cover.ONE_AWAY, skipped=False)


def stage(sketch: Sketch) -> Staged:
    """The cluster of a sketch with everybody on old nodes, and empty target nodes."""
    world = World(sketch.pace)
    for number in range(3):
        world.node(f"old-{number}", OLD)
    ids = [_add(world, sketch, number) for number in range(len(sketch.parts))]
    needs = [(ids[one], ids[other]) for one, other in sketch.needs]
    for space in sorted({dependent.namespace for dependent, _ in needs}):
        world.order("order", [one for one in needs if one[0].namespace == space], space)
    nature.settle(world)
    judge = Judge(world, needs, ids)
    for number in range(3):
        world.node(f"new-{number}", NEW)
    world.migrate(
        mode=sketch.mode,
        hold=sketch.hold,
        on_blocked=sketch.on_blocked,
        on_cycle=sketch.on_cycle,
        cleanup=sketch.cleanup,
    )
    return Staged(world, ids, judge)


def _add(world: World, sketch: Sketch, number: int) -> WorkloadId:
    part, id_ = sketch.parts[number], sketch.id(number)
    more: dict[str, Any] = {"annotations": Labels({SKIP: "true"})} if part.skipped else {}
    if part.cover in (Cover.SHARED, Cover.TWO):
        more["tier"] = "shared"
    world.workload(part.kind, id_.name, part.replicas, id_.namespace, **more)
    _cover(world, id_, part)
    if part.scaled and part.kind is WorkloadKind.DEPLOYMENT and part.replicas:
        world.autoscaler(id_, part.replicas, part.replicas + 2, desired_replicas=part.replicas)
    return id_


def _cover(world: World, id_: WorkloadId, part: Part) -> None:
    specs: dict[Cover, dict[str, int | str]] = {
        Cover.ONE_AWAY: {"maxUnavailable": 1},
        Cover.ONE_STAYS: {"minAvailable": 1},
        Cover.QUARTER: {"maxUnavailable": "25%"},
        Cover.ALL: {"minAvailable": "100%"},
        Cover.TWO: {"maxUnavailable": 1},
    }
    if part.cover is Cover.ROLES:
        world.roles.add((id_.namespace, id_.name))
        for role, least in ((nature.PRIMARY, 0), (nature.REPLICA, max(part.replicas - 2, 0))):
            labels = {"app": id_.name, nature.ROLE: role}
            world.budget(f"{id_.name}-{role}", labels, {"minAvailable": least}, id_.namespace)
    if part.cover in specs:
        world.budget(id_.name, {"app": id_.name}, specs[part.cover], id_.namespace)
    if part.cover in (Cover.SHARED, Cover.TWO):
        names = [one["metadata"]["name"] for one in world.documents.values()]
        if f"tier-{id_.namespace}" not in names:
            world.budget(f"tier-{id_.namespace}", {"tier": "shared"}, {"maxUnavailable": 1}, id_.namespace)


def play(staged: Staged, script: list[Moment], *, operator: Operator | None = None, **pace: bool) -> Operator:
    """An operator that is interrupted as the script says; the one that is left, alive."""
    world, _, judge = staged
    operator = operator or Operator(world, judge, **pace)
    for moment in script:
        operator.round(cut=moment.cut, backwards=moment.backwards, publishes=moment.publishes)
        if moment.dies:
            operator.die()
            operator = Operator(world, judge, **pace)
        for _ in range(moment.ticks):
            nature.tick(world)
            judge.look()
    return operator


def until_it_evicts(staged: Staged, operator: Operator) -> None:
    """Left alone until an eviction is under way, or long enough."""
    for _ in range(20):
        if operator.evicts:
            return
        operator.round()
        if not operator.evicts:
            nature.tick(staged.world)
            staged.judge.look()
