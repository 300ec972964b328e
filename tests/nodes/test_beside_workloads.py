"""Beside a migration of workloads: held pods stay, and a changed node takes pods when it is marked."""

from __future__ import annotations

from shiplift.api.marks import TARGET_LABEL
from shiplift.api.nodes import RolloutPhase
from shiplift.nodes.model import Migration, Reason
from tests.nodes.stage import Stage
from tests.nodes.world import NEW


def test_nodes_without_held_pods_are_begun_and_others_are_not() -> None:
    stage = Stage(3)
    stage.world.migration = Migration("", "", {"w-0": "shop/db-0", "w-1": "shop/db-1"})
    stage.until(lambda: stage.node("w-2").kubelet == NEW)
    assert stage.judge.cordoned == ["w-2"]
    stage.finish()
    assert stage.told.message.startswith(
        "every node that is left holds pods whose turn has not come (node w-0"
    )
    assert stage.phase() is RolloutPhase.RUNNING
    stage.world.migration = Migration()
    stage.finish()
    stage.well()


def test_where_every_node_holds_pods_it_needs_one_more_before_anything_is_cordoned() -> None:
    stage = Stage(2)
    stage.world.migration = Migration("", "", {"w-0": "shop/db-0", "w-1": "shop/db-1"})
    stage.finish()
    assert stage.judge.cordoned == []
    assert stage.told.conditions[0].reason == Reason.NEEDS_SURGE
    stage.world.migration = Migration("", "w-1", stage.world.migration.holding)
    stage.until(lambda: stage.judge.cordoned)
    assert stage.judge.cordoned == ["w-1"]


def test_a_migration_that_nobody_runs_is_named_and_somebody_has_to_know() -> None:
    stage = Stage(3)
    stage.until(lambda: stage.node("w-0").kubelet == NEW)
    holding = {name: "shop/db-0 waits" for name in ("w-1", "w-2")}
    stage.world.migration = Migration("", "", holding, untold=True)
    stage.until(lambda: stage.told.conditions[0].reason == Reason.NEEDS_SURGE)
    assert not any(one.type == "Stalled" and one.status == "True" for one in stage.told.conditions)
    stage.until(lambda: any(one.type == "Stalled" and one.status == "True" for one in stage.told.conditions))
    assert "does an operator with the layer workloads run?" in stage.told.message
    stage.world.migration = Migration()
    stage.finish()
    stage.well()


def test_while_workloads_move_a_node_is_uncordoned_only_with_the_mark_of_their_target() -> None:
    stage = Stage(1)
    stage.world.migration = Migration(NEW)
    stage.finish()
    assert stage.judge.closed() == ["w-0"]
    assert (
        stage.record("w-0").message
        == f"it is uncordoned once it has label {TARGET_LABEL}=v1.36.3 of the migration"
    )
    stage.node("w-0").labels[TARGET_LABEL] = NEW
    stage.world.touched(stage.node("w-0"))
    stage.finish()
    stage.well()
