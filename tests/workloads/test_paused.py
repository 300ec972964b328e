"""Paused: what is in flight ends and nothing new starts; others may drain nodes by hand meanwhile."""

from __future__ import annotations

import msgspec

from shiplift.api.workloads import Hold, Mode
from shiplift.facts.nodes import Node
from shiplift.workloads.model import Migrating
from shiplift.workloads.steps import DeleteHold, HoldBudget, MakeHold, MarkNode, RestoreBudget
from tests.model import nature
from tests.operated import OLD
from tests.workloads import server
from tests.workloads.halfway import budgets, gated_and_held
from tests.workloads.rig import Scene
from tests.workloads.views import DEPLOYMENT, an_id, cordon, decided, look, under_way
from tests.workloads.world import World

WEB, API, DB = an_id("web"), an_id("api"), an_id("db")


def a_shop(hold: Hold = Hold.ON_FOREIGN_DRAIN, mode: Mode = Mode.INJECT) -> World:
    """web and api wait for db; web has a budget of its own."""
    names = ("web", "api", "db")
    world = under_way(*((DEPLOYMENT, name, 2) for name in names), hold=hold, mode=mode)
    world.order("order", [(WEB, DB), (API, DB)])
    world.budget("web", {"app": "web"}, {"maxUnavailable": 1})
    nature.settle(world)
    return world


def new_holds(decision: Migrating) -> list[str]:
    return [step.describe() for step in decision.steps if isinstance(step, HoldBudget | MakeHold)]


def test_a_node_that_is_cordoned_while_it_is_paused_makes_no_new_holds_and_status_says_so() -> None:
    world = a_shop()
    world.migrate(paused=True)
    cordon(world, "old-1")
    decision = decided(world)
    assert new_holds(decision) == []
    assert decision.message == (
        "paused: what is in flight ends, nothing new starts;"
        " 3 workloads are not held against drains of others meanwhile"
    )


def test_without_the_pause_the_same_cordon_makes_them() -> None:
    world = a_shop()
    cordon(world, "old-1")
    assert len(new_holds(decided(world))) == 2


def test_holds_that_are_there_stay_while_it_is_paused_and_status_says_so() -> None:
    world = a_shop(Hold.ALWAYS)
    for step in decided(world).steps:
        if isinstance(step, HoldBudget | MakeHold):
            assert server.take(world, step, {}).ok
    nature.settle(world)
    world.migrate(paused=True)
    cordon(world, "old-1")
    decision = decided(world)
    assert len(look(world).holds) == 2
    assert not [step for step in decision.steps if isinstance(step, DeleteHold | RestoreBudget)]
    assert new_holds(decision) == []
    assert "; 2 PodDisruptionBudgets that we hold stay as they are" in decision.message


def test_mode_template_taints_no_node_while_holds_are_put_off() -> None:
    world = a_shop(mode=Mode.TEMPLATE)
    for node in world.all(Node):
        world.put(msgspec.structs.replace(node, taints=()))
    world.migrate(paused=True)
    assert not [step for step in decided(world).steps if isinstance(step, MarkNode) and step.retaint]


# --- on a real cluster ---


def test_a_node_is_drained_by_hand_while_it_is_paused(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = gated_and_held(scene)
    scene.change_migration(paused=True)
    scene.wait(lambda: scene.status()["message"].startswith("paused"))
    scene.cordon(old.names()[0])
    scene.wait(lambda: "not held against drains of others" in scene.status()["message"])
    assert budgets(scene, space) == {}
