"""Undo without an operator: a migration that somebody starts meanwhile is an error, never a move."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, cast

import msgspec
import pytest

from shiplift.api.placements import Turn
from shiplift.api.workloads import Mode
from shiplift.engine.barrier import Barrier
from shiplift.engine.step import Outcome, Step
from shiplift.facts import kinds
from shiplift.facts.nodes import Node
from shiplift.kube import undoing
from shiplift.kube.client import Client
from shiplift.kube.errors import NotFound
from shiplift.kube.store import Snapshot, Store
from shiplift.kube.undoing import UndoError
from shiplift.workloads.face import undo
from shiplift.workloads.face.undo import undo_all
from shiplift.workloads.memory import InForce
from shiplift.workloads.steps import DeleteHold, DeletePlacement, MarkNode, SetFinalizer
from tests.workloads import server
from tests.workloads.players import finish, residue
from tests.workloads.views import DEPLOYMENT, an_id, say, under_way
from tests.workloads.world import OLD, World

Json = dict[str, Any]
UNDOING = (MarkNode, DeletePlacement, DeleteHold, SetFinalizer)


class Cluster:
    """The API server, the store and the actor of an undo, all from one world; after so many steps a
    colleague does something."""

    def __init__(self, world: World, colleague: Callable[[World], None], after: int) -> None:
        self.world, self._colleague, self._after = world, colleague, after
        self.taken: list[Step] = []

    def get(self, *_: Any) -> Json:
        migration = self.world.migration
        if migration is None:
            raise NotFound("it is gone", status=404)
        return cast("Json", msgspec.to_builtins(migration))

    def patch(self, _kind: Any, _name: str, patch: Json, *_: Any, **__: Any) -> Cluster:
        if "spec" in patch:
            self.world.migrate(**patch["spec"])
        return self

    barrier = None

    def act(self, step: Step) -> Outcome:
        outcome = server.take(self.world, step, InForce())
        self.taken.append(step)
        if len(self.taken) == self._after:
            self._colleague(self.world)
        return outcome

    def subscribe(self, heard: Any) -> None:
        self.world.listeners.append(heard)

    def snapshot(self, *of: Any) -> Snapshot:
        return self.world.snapshot(*of)

    def wait_settled(self, _barriers: Iterable[Barrier], _timeout: float) -> bool:
        return True


def ended(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> str:
    """The error that the undo ended with, and its hint; empty where it was done."""

    def actor(*_: object) -> Cluster:
        return cluster

    monkeypatch.setattr(undo, "Actor", actor)
    monkeypatch.setattr(undo, "undo_until_clean", partial(undoing.undo_until_clean, most_seconds=1.0))
    try:
        undo_all(cast("Client", cluster), cast("Store", cluster), lambda _: None)
    except UndoError as error:
        return f"{error}; {error.hint}"
    return ""


def half_way() -> World:
    world = under_way((DEPLOYMENT, "web", 2), mode=Mode.INJECT)
    say(world, {an_id("web").owner_key: Turn.HELD})
    return world


def start_again(world: World) -> None:
    world.migrate(abort=False)


def start_and_retarget(world: World) -> None:
    world.migrate(abort=False, target=OLD)


def start_with_nothing_to_move(world: World) -> None:
    """It has no target now, and gets one with the next node."""
    for node in [one for one in world.all(Node) if one.kubelet_version != OLD]:
        world.remove(node)
    start_again(world)


def make_anew(world: World) -> None:
    world.finalize()
    world.end_migration()
    world.migrate(mode=Mode.INJECT)


@pytest.mark.parametrize(
    "colleague", [start_again, start_and_retarget, start_with_nothing_to_move, make_anew]
)
@pytest.mark.parametrize("after", [1, 5])
def test_a_migration_that_is_started_while_it_is_undone_is_an_error_that_says_so(
    colleague: Callable[[World], None], after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster(half_way(), colleague, after)
    told = ended(cluster, monkeypatch)
    assert told.startswith("WorkloadMigration cluster was started again while it was undone")
    assert "`shiplift undo` aborts and undoes it again" in told
    assert all(isinstance(step, UNDOING) for step in cluster.taken)
    assert not any(isinstance(step, MarkNode) and step.labels for step in cluster.taken)


def test_a_kind_that_stays_old_is_named_and_all_else_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(half_way(), lambda _: None, 0)
    cluster.world._tables[kinds.POD_DISRUPTION_BUDGET].fresh_until = time.monotonic() - 1
    monkeypatch.setattr(undoing, "SETTLE_SECONDS", 0.0)
    monkeypatch.setattr(undoing, "_PAUSE_SECONDS", 0.0)
    told = ended(cluster, monkeypatch)
    assert told.startswith("what is known of PodDisruptionBudget may be old: is it served, and may this user")
    assert residue(cluster.world) == []
    assert not any(isinstance(step, SetFinalizer) for step in cluster.taken)


def retarget(world: World) -> None:
    world.migrate(target=OLD)


def delete(world: World) -> None:
    world.end_migration()


@pytest.mark.parametrize("mode", [Mode.INJECT, Mode.TEMPLATE])
def test_a_move_that_has_come_to_its_end_is_not_made_an_aborted_one(
    mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = under_way((DEPLOYMENT, "web", 2), mode=mode)
    finish(world)
    assert world.migration is not None
    assert world.migration.status.last is not None
    before = world.migration
    assert ended(cluster := Cluster(world, lambda _: None, 0), monkeypatch) == ""
    assert (world.migration, cluster.taken) == (before, [])


@pytest.mark.parametrize("colleague", [retarget, delete])
def test_what_is_retargeted_or_deleted_and_stays_aborted_is_undone(
    colleague: Callable[[World], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster(half_way(), colleague, 1)
    assert ended(cluster, monkeypatch) == ""
    assert residue(cluster.world) == []
