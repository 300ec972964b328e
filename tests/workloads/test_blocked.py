"""What a user may choose when pods can never be evicted, and making room under holds."""

from __future__ import annotations

import pytest

from shiplift.facts import kinds
from tests.operated import NEW, OLD
from tests.workloads.film import fewest_ready
from tests.workloads.halfway import budgets, generation, upgraded_in_place, wait_line
from tests.workloads.observer import Observer
from tests.workloads.rig import Scene


def test_force_moves_what_no_budget_lets_go_one_at_a_time(scene: Scene, observer: Observer) -> None:
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    scene.stateful_set(space, "db", 3)
    scene.budget(space, "never", "db", maxUnavailable=0)
    scene.wait_ready(space, db=3)
    scene.begin()
    wait_line(scene, "db", state="Blocked", reason="NeverEvictable")
    observer.begin()
    scene.change_migration(onBlocked="Force")
    scene.finish(old)
    assert scene.arrived(space, "db")
    assert fewest_ready(observer.history(), f"{space}/db") == 2
    assert generation(scene, space, "never") == 1


def test_a_budget_with_neither_limit_lets_no_pod_go_and_is_named(scene: Scene) -> None:
    """The API server takes it, expects no pods of it, and allows nothing."""
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    scene.deployment(space, "web", 2)
    scene.budget(space, "empty", "web")
    scene.wait_ready(space, web=2)
    scene.begin()
    line = wait_line(scene, "web", state="Blocked", reason="NeverEvictable")
    assert f"{space}/empty has neither minAvailable nor maxUnavailable" in line["message"]
    found = scene.client.get(kinds.POD_DISRUPTION_BUDGET, "empty", space)["status"]
    assert (found["expectedPods"], found["disruptionsAllowed"]) == (0, 0)
    scene.change_migration(onBlocked="Surge")
    scene.finish(old)
    assert scene.arrived(space, "web")


def test_force_does_nothing_while_paused(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    scene.deployment(space, "web", 1)
    scene.budget(space, "never", "web", maxUnavailable=0)
    scene.wait_ready(space, web=1)
    scene.begin(onBlocked="Wait")
    wait_line(scene, "web", state="Blocked")
    scene.change_migration(paused=True, onBlocked="Force")
    scene.wait(lambda: scene.status()["message"].startswith("paused"))
    assert scene.places(space, "web") == ["old"]
    scene.change_migration(paused=False)
    scene.finish(old)


def test_stop_stalls_names_the_workload_and_goes_on_when_the_budget_gives_way(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    scene.deployment(space, "web", 1)
    scene.budget(space, "always", "web", minAvailable=1)
    scene.wait_ready(space, web=1)
    scene.begin(onBlocked="Stop")
    told = scene.wait(lambda: scene.condition("Stalled"))
    assert told["reason"] == "Stopped"
    assert f"Deployment {space}/web: PodDisruptionBudget {space}/always needs 1 of 1" in told["message"]
    assert scene.places(space, "web") == ["old"]
    scene.change(kinds.POD_DISRUPTION_BUDGET, space, "always", {"spec": {"minAvailable": 0}})
    scene.finish(old)
    assert not scene.condition("Stalled")


@pytest.mark.parametrize("hold", ["Always", "OnForeignDrain"])
def test_consolidate_empties_old_nodes_whatever_is_held(scene: Scene, hold: str) -> None:
    nodes = scene.nodes("old", OLD, 3, cpu="1")
    space = scene.namespace()
    scene.deployment(space, "db", 3)
    scene.deployment(space, "web", 3)
    scene.budget(space, "web", "web", maxUnavailable=1)
    scene.order(space, web=["db"])
    scene.wait_ready(space, db=3, web=3)
    scene.migrate(target=NEW, onNoCapacity="Consolidate", hold=hold)
    scene.rig.start()
    scene.wait(lambda: scene.status().get("emptying"), 20)
    scene.wait(lambda: upgraded_in_place(scene, space, nodes))
    scene.wait_state("NoUpgrade")
    scene.wait_clean()
    assert budgets(scene, space).keys() == {"web"}
    assert budgets(scene, space)["web"]["spec"]["maxUnavailable"] == 1
