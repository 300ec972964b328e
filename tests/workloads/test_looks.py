"""While nothing moves nothing is looked at, and nothing that matters is missed."""

from __future__ import annotations

from datetime import datetime
from typing import cast

import pytest

from shiplift.api.marks import MANAGED_BY, MANAGER, TARGET_LABEL
from shiplift.api.placements import WorkloadPlacementSpec
from shiplift.api.workloads import WorkloadKind
from shiplift.engine.step import Answer, Outcome, Outcomes
from shiplift.facts import kinds
from shiplift.kube.store import Snapshot, Store
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.names import FINALIZER
from shiplift.workloads.observe.observer import Observer
from tests.model import nature
from tests.workloads.world import NEW, SPACE, World, a_world


class Counted:
    """A store that counts how often somebody looks."""

    def __init__(self, world: World) -> None:
        self.looks = 0
        self._world = world

    def snapshot(self, *of: kinds.Kind) -> Snapshot:
        self.looks += 1
        return self._world.snapshot(*of)


def watched(world: World) -> tuple[Observer, Counted]:
    store = Counted(world)
    observer = Observer(cast("Store", store), lambda: True)
    world.listeners.append(observer.heard)
    return observer, store


def taken(answer: Answer, at: datetime) -> Outcomes:
    """A step of this term, answered so."""
    return Outcomes().remember([Outcome(step="evict a-pod", answer=answer, message="no")], at)


def test_while_nothing_is_to_be_moved_pods_that_come_and_go_cost_no_look() -> None:
    world = a_world()
    id_ = world.workload(WorkloadKind.DEPLOYMENT, "web", 2)
    nature.settle(world)
    observer, store = watched(world)
    first = observer.observe(Outcomes())
    nature.delete(world, world.pods(id_)[0])
    nature.settle(world)
    assert observer.observe(Outcomes()) is first
    assert store.looks == 1
    assert not first.tallies


@pytest.mark.parametrize("change", ["node", "budget", "placement", "migration"])
def test_what_could_begin_or_leave_something_is_looked_at_even_when_idle(change: str) -> None:
    world = a_world()
    observer, store = watched(world)
    observer.observe(Outcomes())
    if change == "node":
        world.node("late")
    elif change == "budget":
        world.budget("b", {"app": "web"}, {"maxUnavailable": 1})
    elif change == "migration":
        world.migrate(paused=True)
    else:
        world.write_placement(SPACE, WorkloadPlacementSpec(target=NEW))
    observer.observe(Outcomes())
    assert store.looks == 2


@pytest.mark.parametrize("answer", [Answer.OK, Answer.REFUSED, Answer.FAILED])
def test_steps_of_a_move_that_is_over_cost_no_look_either(answer: Answer) -> None:
    world = a_world()
    id_ = world.workload(WorkloadKind.DEPLOYMENT, "web", 2)
    nature.settle(world)
    observer, store = watched(world)
    outcomes = taken(answer, world.now)
    observer.observe(outcomes)
    for _ in range(3):
        nature.delete(world, world.pods(id_)[0])
        nature.settle(world)
        assert observer.observe(outcomes).outcomes is outcomes
    assert store.looks == 1


@pytest.mark.parametrize("left", ["budget", "placement", "label", "finalizer"])
def test_while_something_of_ours_is_left_each_look_is_fresh(left: str) -> None:
    """What may be old is not undone, and only a look tells what is old."""
    world = a_world()
    if left == "budget":
        uid = world.budget("shiplift-hold-deployment-web", {"app": "web"}, {"maxUnavailable": 0})
        document = world.documents[uid]
        about = document["metadata"] | {"labels": {MANAGED_BY: MANAGER}}
        world.write_budget(document | {"metadata": about})
    elif left == "placement":
        world.write_placement(SPACE, WorkloadPlacementSpec(target=NEW))
    elif left == "label":
        world.node("late", labels={TARGET_LABEL: NEW})
    else:
        world.finalize(FINALIZER)
    observer, store = watched(world)
    outcomes = taken(Answer.REFUSED, world.now)
    first = observer.observe(outcomes)
    assert decide(first, world.now).steps
    observer.observe(outcomes)
    assert store.looks == 2


@pytest.mark.parametrize("kind", [kinds.WORKLOAD_PLACEMENT, kinds.WORKLOAD_ORDER, kinds.POD])
def test_what_could_not_be_read_is_not_told_of_any_more_once_it_is_deleted(kind: kinds.Kind) -> None:
    world = a_world()
    observer, _ = watched(world)
    assert not observer.observe(Outcomes()).unreadable
    world.spoil(kind, "odd", "turn Odd")
    assert [one.name for one in observer.observe(Outcomes()).unreadable] == ["odd"]
    world.unspoil(kind, "odd")
    assert not observer.observe(Outcomes()).unreadable
