"""What the first implementation of this idea got wrong, one to eight: it would fail each of these tests."""

from __future__ import annotations

from typing import Any

import pytest

from shiplift.facts import kinds
from shiplift.local.nodes import Pool
from shiplift.local.stages import GONE_AFTER, READY_AFTER
from tests.operated import NEW, OLD
from tests.workloads.observer import Observer
from tests.workloads.rig import Scene

OLDER, NEXT = "v1.34.9", "v1.37.1"
GHOST = "ghost"
both_modes = pytest.mark.parametrize("mode", ["Inject", "Template"])


def shop(scene: Scene, **more: Any) -> str:
    """Three workloads in a row: web needs api, api needs db."""
    space = scene.namespace()
    scene.stateful_set(space, "db", 2, **more)
    scene.deployment(space, "api", 2, **more)
    scene.deployment(space, "web", 3, **more)
    scene.order(space, web=["api"], api=["sts/db"])
    scene.wait_ready(space, db=2, api=2, web=3)
    return space


def order_of(space: str) -> dict[str, list[str]]:
    return {f"{space}/web": [f"{space}/api", f"{space}/db"], f"{space}/api": [f"{space}/db"]}


def marks(scene: Scene, pool: Pool) -> set[str]:
    """Our labels and taints on the nodes of a pool."""
    found: set[str] = set()
    for name in pool.names():
        node = scene.client.get(kinds.NODE, name)
        keys = [*node["metadata"]["labels"], *(one["key"] for one in node["spec"].get("taints", []))]
        found.update(key for key in keys if key.startswith("shiplift.dev/"))
    return found


def edges(found: list[dict[str, str]]) -> set[tuple[str, str]]:
    return {(one["dependent"].rpartition("/")[2], one["dependency"].rpartition("/")[2]) for one in found}


@both_modes
def test_01_a_migration_ends_and_cleans_up(scene: Scene, mode: str) -> None:
    old = scene.nodes("old", OLD)
    space = shop(scene)
    scene.begin(mode=mode)
    scene.wait_state("Upgrade")
    scene.finish(old)
    scene.wait(lambda: scene.condition("Ready"))
    assert "target" not in scene.status()
    assert scene.arrived(space, "db", "api", "web")


def test_01_after_the_end_the_next_migration_begins_by_itself(scene: Scene) -> None:
    old = scene.nodes("old", OLD, 1)
    space = scene.namespace()
    scene.deployment(space, "web")
    scene.wait_ready(space, web=2)
    new = scene.nodes("new", NEW, 1)
    scene.migrate()
    scene.rig.start()
    scene.finish(old)
    scene.nodes("next", NEXT, 1)
    assert scene.wait_state("Upgrade")["target"] == NEXT
    scene.finish(new)
    assert scene.places(space, "web") == ["next", "next"]


@both_modes
def test_02_the_marks_come_off_every_node(scene: Scene, mode: str) -> None:
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    scene.deployment(space, "web")
    scene.order(space, web=[GHOST])
    new = scene.nodes("new", NEW)
    scene.migrate(mode=mode)
    scene.rig.start()
    tainted = {"shiplift.dev/upgrade"} if mode == "Template" else set[str]()
    scene.wait(lambda: marks(scene, new) == {"shiplift.dev/target-version"} | tainted)
    scene.wait(lambda: marks(scene, old) == {"shiplift.dev/off-target"})
    scene.change_migration(abort=True)
    scene.wait_state("NoUpgrade")
    scene.wait(lambda: not marks(scene, new) and not marks(scene, old))


@both_modes
def test_03_pods_that_wait_for_room_do_not_slip_onto_new_nodes_as_these_appear(
    scene: Scene, observer: Observer, mode: str
) -> None:
    old = scene.nodes("old", OLD, 1, cpu="700m")
    space = shop(scene)
    scene.migrate(mode=mode, target=NEW)
    scene.rig.start()
    scene.wait(lambda: scene.line("web").get("state") == "Held")
    scene.wait(lambda: mode == "Template" or scene.in_force(space))
    scene.change(kinds.DEPLOYMENT, space, "web", {"spec": {"replicas": 5}})
    scene.wait(lambda: len(scene.pods(space, "web")) == 5)
    observer.begin()
    scene.nodes("new", NEW)
    scene.finish(old)
    assert scene.arrived(space, "db", "api", "web")
    assert observer.history().early(order_of(space)) == []


def test_04_three_versions_move_to_the_highest(scene: Scene, observer: Observer) -> None:
    older = scene.nodes("older", OLDER, 1, cpu="300m")
    old = scene.nodes("old", OLD, 2)
    space = shop(scene)
    observer.begin()
    scene.begin()
    assert {one["version"] for one in scene.wait_state("Upgrade")["versions"]} == {OLDER, OLD, NEW}
    scene.wait(lambda: scene.arrived(space, "db", "api", "web"))
    scene.remove(older)
    scene.finish(old)
    assert observer.history().early(order_of(space)) == []


def test_04_a_lower_target_takes_everything_back_in_order(scene: Scene, observer: Observer) -> None:
    scene.nodes("old", OLD)
    space = shop(scene)
    new = scene.nodes("new", NEW)
    scene.migrate()
    scene.rig.start()
    scene.wait(lambda: scene.arrived(space, "db", "api", "web"))
    observer.begin()
    scene.change_migration(target=OLD)
    scene.wait(lambda: scene.status().get("target") == OLD)
    scene.finish(new)
    assert {place for app in ("db", "api", "web") for place in scene.places(space, app)} == {"old"}
    assert observer.history().early(order_of(space), pool="old") == []


def test_04_control_plane_nodes_of_another_version_do_not_count(scene: Scene) -> None:
    role = "node-role.kubernetes.io/control-plane"
    scene.nodes("control", NEXT, 1, labels={role: ""}, taints=({"key": role, "effect": "NoSchedule"},))
    old = scene.nodes("old", OLD, 1)
    space = scene.namespace()
    scene.deployment(space, "web")
    scene.wait_ready(space, web=2)
    scene.nodes("new", NEW, 1)
    scene.migrate()
    scene.rig.start()
    assert scene.wait_state("Upgrade")["target"] == NEW
    scene.finish(old)


def test_05_met_means_ready_and_that_the_last_old_pod_is_gone(scene: Scene, observer: Observer) -> None:
    old = scene.nodes("old", OLD)
    space = shop(
        scene,
        pod_annotations={READY_AFTER: "0.5", GONE_AFTER: "1.5"},
        pod={"terminationGracePeriodSeconds": 10},
    )
    observer.begin()
    scene.begin()
    scene.finish(old)
    assert observer.history().early(order_of(space)) == []


def test_05_a_failed_pod_on_an_old_node_does_not_count(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = shop(scene)
    failed = scene.pods(space, "api")[0]["metadata"]
    scene.client.patch(
        kinds.POD,
        failed["name"],
        {"status": {"phase": "Failed"}},
        space,
        uid=failed["uid"],
        subresource="status",
    )
    scene.wait(lambda: len(scene.pods(space, "api")) == 3)
    scene.begin()
    scene.finish(old)
    assert scene.arrived(space, "db", "web")


def test_05_no_pods_is_not_met_before_its_own_dependencies_are(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    scene.deployment(space, "api", 0)
    scene.deployment(space, "web")
    scene.order(space, web=["api"], api=[GHOST])
    scene.wait_ready(space, web=2)
    scene.begin()
    scene.wait(lambda: scene.line("api").get("reason") == "MissingDependency")
    assert scene.line("web")["state"] == "Held"
    scene.reorder(space, web=["api"])
    scene.finish(old)
    assert scene.arrived(space, "web")


def test_05_a_rollout_that_is_not_complete_is_not_met(scene: Scene) -> None:
    scene.nodes("old", OLD)
    space = scene.namespace()
    scene.deployment(space, "api", 2)
    scene.deployment(space, "web", 2)
    scene.order(space, web=["api"])
    scene.wait_ready(space, api=2, web=2)
    late = {"spec": {"template": {"metadata": {"annotations": {READY_AFTER: "3600"}}}}}
    scene.change(kinds.DEPLOYMENT, space, "api", late)
    scene.begin()
    scene.wait(lambda: scene.line("api").get("reason") == "RolloutRunning")
    assert scene.line("web")["state"] == "Held"
    scene.change(kinds.DEPLOYMENT, space, "api", _without(READY_AFTER))
    scene.wait(lambda: scene.arrived(space, "api", "web"))


def _without(annotation: str) -> dict[str, Any]:
    return {"spec": {"template": {"metadata": {"annotations": {annotation: None}}}}}


def test_06_a_missing_dependency_is_named_and_blocks_its_dependents_only(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = shop(scene)
    scene.deployment(space, "free")
    scene.wait_ready(space, free=2)
    scene.reorder(space, web=[GHOST])
    scene.begin()
    scene.wait(lambda: scene.arrived(space, "db", "api", "free"))
    line = scene.wait(lambda: scene.line("web"))
    assert (line["state"], line["reason"]) == ("Blocked", "MissingDependency")
    assert f"{space}/{GHOST}" in line["message"]
    assert edges(scene.status()["missing"]) == {("web", GHOST)}
    assert scene.places(space, "web") == ["old", "old", "old"]
    scene.reorder(space, web=["api"])
    scene.finish(old)


def test_06_with_on_missing_ignore_it_counts_as_moved(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = shop(scene)
    scene.reorder(space, web=[GHOST])
    scene.begin(onMissing="Ignore")
    scene.finish(old)
    assert scene.arrived(space, "web")


def test_07_a_cycle_is_told_by_its_edges_and_everybody_else_moves(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = shop(scene)
    scene.reorder(space, web=["api"], api=["web"])
    scene.begin()
    scene.wait(lambda: scene.arrived(space, "db"))
    closing = scene.wait(lambda: edges(scene.status().get("cycles", [])))
    assert closing <= {("web", "api"), ("api", "web")}
    for name in ("web", "api"):
        scene.wait(lambda name=name: scene.line(name).get("reason") == "InCycle")
    assert scene.wait(lambda: scene.condition("Stalled"))["reason"] == "InCycle"
    scene.reorder(space, web=["api"])
    scene.finish(old)


def test_07_with_on_cycle_collapse_a_cycle_moves_as_one(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = shop(scene)
    scene.reorder(space, web=["api"], api=["web"])
    scene.begin(onCycle="Collapse")
    scene.finish(old)
    assert scene.arrived(space, "db", "api", "web")


def test_08_each_pod_moves_once_in_order_and_not_again_at_the_end(scene: Scene, observer: Observer) -> None:
    old = scene.nodes("old", OLD)
    space = shop(scene)
    observer.begin()
    scene.begin(mode="Inject")
    scene.finish(old)
    history = observer.history()
    assert history.moves(f"{space}/db", f"{space}/api", f"{space}/web") == 1.0
    assert history.early(order_of(space)) == []


def test_08_taking_tolerations_off_at_once_rolls_out_in_order(scene: Scene, observer: Observer) -> None:
    old = scene.nodes("old", OLD)
    space = shop(scene)
    observer.begin()
    scene.begin(mode="Template", cleanup="Immediate")
    scene.wait(lambda: scene.status().get("progress", {}).get("done") == 3)
    assert observer.history().early(order_of(space)) == []
    observer.begin()
    scene.finish(old)
    scene.wait(lambda: scene.condition("Ready"))
    scene.wait(lambda: scene.rolled_out(space, "web"))
    history = observer.history()
    assert history.moves(f"{space}/db", f"{space}/api", f"{space}/web") == 1.0
    assert history.early(order_of(space), pool="") == []
    assert "inertTolerations" not in scene.status()
