"""What clusters are really like: budgets, singletons, cordons, late and full nodes, people who intervene."""

from __future__ import annotations

from typing import Any

import pytest

from shiplift.api.marks import TARGET_LABEL, UPGRADE_TAINT
from shiplift.facts import kinds
from shiplift.kube.errors import BudgetExhausted
from shiplift.local.nodes import Pool
from tests.operated import NEW, OLD
from tests.workloads.film import departures, fewest_ready
from tests.workloads.halfway import (
    HOLD,
    autoscaler,
    budgets,
    gated,
    gated_and_held,
    generation,
    uids,
    upgraded_in_place,
    wait_line,
)
from tests.workloads.observer import Observer
from tests.workloads.rig import Scene, is_ready

Json = dict[str, Any]


# --- budgets ---


def test_a_budget_shared_with_a_dependency_is_never_changed(scene: Scene, observer: Observer) -> None:
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    scene.gate(space)
    scene.deployment(space, "db", 2)
    scene.deployment(space, "web", 2)
    both = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["db", "web"]}]}
    scene.budget(space, "shared", both, maxUnavailable=1)
    scene.order(space, web=["db"], db=["gate"])
    scene.wait_ready(space, db=2, web=2)
    scene.begin(hold="Always")
    shared = f"PodDisruptionBudget {space}/shared also covers Deployment {space}"
    scene.wait(
        lambda: f"Deployment {space}/web cannot be held: {shared}/db" in scene.status().get("notes", [])
    )
    assert f"Deployment {space}/db cannot be held: {shared}/web" in scene.status()["notes"]
    observer.begin()
    scene.open_gate()
    scene.finish(old)
    assert scene.arrived(space, "db", "web")
    assert generation(scene, space, "shared") == 1
    assert fewest_ready(observer.history(), f"{space}/db", f"{space}/web") >= 3


def test_two_budgets_on_a_pod_are_named_and_surge_moves_it(scene: Scene, observer: Observer) -> None:
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    scene.deployment(space, "web", 2)
    scene.budget(space, "one", "web", maxUnavailable=1)
    scene.budget(space, "two", "web", minAvailable=1)
    scene.wait_ready(space, web=2)
    scene.begin()
    line = wait_line(scene, "web", state="Blocked", reason="TwoBudgets")
    assert f"PodDisruptionBudgets {space}/one and {space}/two both select pod {space}/web-" in line["message"]
    assert "set spec.onBlocked of WorkloadMigration cluster to Surge" in line["message"]
    observer.begin()
    scene.change_migration(onBlocked="Surge")
    scene.finish(old)
    assert scene.arrived(space, "web")
    assert fewest_ready(observer.history(), f"{space}/web") >= 2
    assert scene.client.get(kinds.DEPLOYMENT, "web", space)["spec"]["replicas"] == 2
    assert generation(scene, space, "one") == generation(scene, space, "two") == 1


def test_a_singleton_that_must_be_available_waits_or_surges_without_a_gap(
    scene: Scene, observer: Observer
) -> None:
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    scene.deployment(space, "web", 1)
    scene.budget(space, "always", "web", minAvailable=1)
    scene.wait_ready(space, web=1)
    scene.begin()
    line = wait_line(scene, "web", state="Blocked", reason="NeverEvictable")
    assert f"PodDisruptionBudget {space}/always" in line["message"]
    assert scene.places(space, "web") == ["old"]
    observer.begin()
    scene.change_migration(onBlocked="Surge")
    scene.finish(old)
    assert scene.arrived(space, "web")
    assert fewest_ready(observer.history(), f"{space}/web") == 1
    assert scene.client.get(kinds.DEPLOYMENT, "web", space)["spec"]["replicas"] == 1
    assert generation(scene, space, "always") == 1


def test_a_stateful_set_goes_one_at_a_time_from_the_highest_ordinal(scene: Scene, observer: Observer) -> None:
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    scene.stateful_set(space, "db", 3, spec={"podManagementPolicy": "Parallel"})
    scene.wait_ready(space, db=3)
    scene.nodes("new", NEW)
    observer.begin()
    scene.migrate()
    scene.rig.start()
    scene.finish(old)
    assert departures(observer.history(), f"{space}/db") == [("db-2", True), ("db-1", True), ("db-0", True)]


# --- DaemonSets ---


def daemon_set(scene: Scene, space: str) -> None:
    labels = {"app": "agent"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "none"}]}}
    body = {
        "metadata": {"name": "agent"},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }
    scene.client.create(kinds.DAEMON_SET, body, space)


def test_daemon_sets_that_do_not_tolerate_are_named_before_anything_is_done(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    daemon_set(scene, space)
    scene.deployment(space, "web", 2)
    scene.wait_ready(space, web=2, agent=3)
    scene.begin(mode="Template")
    told = scene.wait(lambda: scene.condition("Stalled"))
    assert told["reason"] == "DaemonSetsDoNotTolerate"
    assert f"{space}/agent" in told["message"]
    assert scene.residue() == []
    scene.change_migration(acceptDaemonSetGaps=True)
    scene.finish(old)
    assert scene.arrived(space, "web")
    assert not scene.condition("Stalled")
    scene.drop(kinds.DAEMON_SET, "agent", space)


def test_daemon_sets_are_unharmed_in_mode_inject(scene: Scene) -> None:
    old = scene.nodes("old", OLD, 1)
    space = scene.namespace()
    daemon_set(scene, space)
    scene.gate(space)
    scene.migrate(target=NEW)
    scene.rig.start()
    scene.wait_state("Upgrade")
    scene.nodes("new", NEW)
    scene.wait(lambda: scene.places(space, "agent") == ["new", "new", "new", "old"])
    scene.open_gate()
    scene.finish(old)
    scene.drop(kinds.DAEMON_SET, "agent", space)


# --- others who drain ---


@pytest.mark.parametrize("mode", ["Inject", "Template"])
def test_a_held_pod_that_dies_while_others_have_cordoned_is_rescued(scene: Scene, mode: str) -> None:
    old = scene.nodes("old", OLD)
    space = gated_and_held(scene, mode=mode)
    scene.cordon(*old.names())
    scene.drop(kinds.POD, scene.pods(space, "web")[0]["metadata"]["name"], space)
    scene.wait(lambda: "new" in scene.places(space, "web") and len(ready(scene, space, "web")) == 2)
    exception = scene.wait(lambda: scene.status().get("exceptions"))[0]
    assert exception["workload"] == f"Deployment {space}/web"
    assert exception["pod"].startswith(f"{space}/web-")
    scene.open_gate()
    scene.finish(old)
    assert scene.arrived(space, "web", "gate")


def ready(scene: Scene, space: str, app: str) -> list[Json]:
    return [pod for pod in scene.pods(space, app) if is_ready(pod)]


def test_somebody_elses_cordon_brings_holds_that_stay_until_the_turn_comes(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = gated_and_held(scene)
    assert HOLD not in budgets(scene, space)
    scene.cordon(old.names()[0])
    scene.wait(lambda: HOLD in budgets(scene, space))
    refuse_eviction(scene, space)
    scene.cordon(old.names()[0], cordoned=False)
    refuse_eviction(scene, space)
    scene.open_gate()
    scene.finish(old)
    assert scene.arrived(space, "web")


def refuse_eviction(scene: Scene, space: str) -> None:
    """As `kubectl drain` asks for it."""
    pod = scene.pods(space, "web")[0]["metadata"]
    scene.wait(lambda: budgets(scene, space)[HOLD].get("status", {}).get("observedGeneration") == 1)
    with pytest.raises(BudgetExhausted, match="disruption budget"):
        scene.client.evict(pod["name"], space, uid=pod["uid"], dry_run=True)


def test_hold_always_holds_from_the_start_and_gives_the_users_budget_back(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = gated(scene)
    scene.deployment(space, "api", 2)
    scene.budget(space, "api", "api", minAvailable="50%")
    scene.reorder(space, web=["gate"], api=["gate"])
    scene.wait_ready(space, api=2)
    scene.begin(hold="Always")
    scene.wait(lambda: HOLD in budgets(scene, space) and generation(scene, space, "api") == 2)
    assert budgets(scene, space)["api"]["spec"]["minAvailable"] == "100%"
    refuse_eviction(scene, space)
    scene.open_gate()
    scene.finish(old)
    assert budgets(scene, space).keys() == {"api"}
    assert budgets(scene, space)["api"]["spec"]["minAvailable"] == "50%"
    assert "maxUnavailable" not in budgets(scene, space)["api"]["spec"]


# --- nodes and versions ---


@pytest.mark.parametrize("mode", ["Inject", "Template"])
def test_nodes_that_appear_late_are_marked_at_birth_and_used(scene: Scene, mode: str) -> None:
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    scene.deployment(space, "web", 2)
    scene.wait_ready(space, web=2)
    scene.migrate(target=NEW, mode=mode)
    scene.rig.start()
    scene.wait(lambda: scene.status().get("message") == f"no node runs {NEW} yet (3 on {OLD})")
    late = Pool(name=f"new-{scene.name}", version=NEW)
    born = scene.wait(lambda: labelled_at_birth(scene, late.manifests()[0]))
    assert born["metadata"]["labels"][TARGET_LABEL] == NEW
    taints = {one["key"] for one in born["spec"].get("taints", [])}
    assert (UPGRADE_TAINT in taints) == (mode == "Template")
    scene.nodes("new", NEW)
    scene.finish(old)
    assert scene.arrived(space, "web")


def labelled_at_birth(scene: Scene, manifest: Json) -> Json | None:
    """Only asked for: the API server may learn of a migration a moment after it has begun."""
    found = scene.client.create(kinds.NODE, manifest, dry_run=True).object
    return found if TARGET_LABEL in found["metadata"]["labels"] else None


def test_while_no_node_has_the_target_new_pods_still_find_a_place(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    scene.deployment(space, "web", 1)
    scene.wait_ready(space, web=1)
    scene.migrate(target=NEW)
    scene.rig.start()
    scene.wait(lambda: scene.status().get("message", "").startswith("no node runs"))
    scene.change(kinds.DEPLOYMENT, space, "web", {"spec": {"replicas": 3}})
    scene.wait_ready(space, web=3)
    scene.nodes("new", NEW)
    scene.finish(old)
    assert scene.arrived(space, "web")


def test_three_versions_end_on_the_highest(scene: Scene) -> None:
    older, old = scene.nodes("older", "v1.34.9", 1), scene.nodes("old", OLD, 1)
    space = scene.namespace()
    for pool in (older, old):
        name = f"on-{pool.name.partition('-')[0]}"
        scene.cordon(*(one.names()[0] for one in (older, old) if one != pool))
        scene.deployment(space, name, 2)
        scene.wait_ready(space, **{name: 2})
        scene.cordon(older.names()[0], old.names()[0], cordoned=False)
    scene.begin()
    scene.wait(lambda: scene.arrived(space, "on-older", "on-old"))
    assert {one["version"] for one in scene.status()["versions"]} == {"v1.34.9", OLD, NEW}
    scene.remove(older)
    scene.finish(old)


def test_control_plane_nodes_of_another_version_do_not_count(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    role = "node-role.kubernetes.io/control-plane"
    master = scene.nodes(
        "master", OLD, 1, labels={role: ""}, taints=({"key": role, "value": "", "effect": "NoSchedule"},)
    )
    space = scene.namespace()
    scene.deployment(space, "web", 2)
    scene.wait_ready(space, web=2)
    scene.begin()
    scene.wait_state("Upgrade")
    scene.finish(old)
    assert scene.client.get(kinds.NODE, master.names()[0])["spec"].get("unschedulable") is None
    assert scene.status()["versions"] == [{"nodes": 3, "version": NEW}]


def test_a_rollback_half_way_takes_back_who_had_moved_and_leaves_the_others(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = gated(scene)
    scene.deployment(space, "db", 2)
    scene.wait_ready(space, db=2)
    stayed = uids(scene, space, "web")
    new = scene.nodes("new", NEW)
    scene.migrate()
    scene.rig.start()
    scene.wait(lambda: scene.arrived(space, "db"))
    scene.change_migration(target=OLD)
    scene.wait(lambda: scene.places(space, "db") == ["old", "old"] and scene.status().get("target") == OLD)
    scene.finish(new)
    assert scene.places(space, "web") == ["old", "old"]
    assert uids(scene, space, "web") == stayed
    assert len(old.names()) == 3


# --- capacity ---


def test_without_a_free_slot_it_waits_and_says_which(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    scene.deployment(space, "web", 2)
    scene.wait_ready(space, web=2)
    scene.nodes("new", NEW, 1, cpu="150m")
    scene.migrate()
    scene.rig.start()
    line = wait_line(scene, "web", state="Blocked", reason="NoSlot")
    assert line["message"].startswith("0 of 1 target nodes fit: 1 ")
    assert "cpu" in line["message"]
    scene.nodes("new-more", NEW, 1)
    scene.finish(old)
    assert scene.arrived(space, "web")


def test_without_a_free_slot_stop_stalls_and_names_the_workload(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    scene.deployment(space, "web", 2)
    scene.wait_ready(space, web=2)
    scene.nodes("new", NEW, 1, cpu="50m")
    scene.migrate(onNoCapacity="Stop")
    scene.rig.start()
    told = scene.wait(lambda: scene.condition("Stalled"))
    assert told["reason"] == "Stopped"
    assert told["message"].startswith(f"Deployment {space}/web: 0 of 1 target nodes fit")
    assert scene.places(space, "web") == ["old", "old"]
    scene.nodes("new-more", NEW, 1)
    scene.finish(old)
    assert not scene.condition("Stalled")


def test_consolidate_empties_old_nodes_that_somebody_then_upgrades_in_place(scene: Scene) -> None:
    nodes = scene.nodes("old", OLD, 3, cpu="1")
    space = scene.namespace()
    scene.deployment(space, "db", 3)
    scene.deployment(space, "web", 3)
    scene.order(space, web=["db"])
    scene.wait_ready(space, db=3, web=3)
    scene.migrate(target=NEW, onNoCapacity="Consolidate")
    scene.rig.start()
    scene.wait(lambda: scene.status().get("emptying"))
    scene.wait(lambda: upgraded_in_place(scene, space, nodes))
    scene.wait_state("NoUpgrade")
    scene.wait_clean()
    scene.wait_ready(space, db=3, web=3)


# --- autoscalers ---


def test_replicas_that_change_half_way_all_arrive(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = gated_and_held(scene)
    scene.change(kinds.DEPLOYMENT, space, "web", {"spec": {"replicas": 4}})
    scene.wait_ready(space, web=4)
    assert scene.places(space, "web") == ["old"] * 4
    scene.open_gate()
    scene.wait(lambda: "new" in scene.places(space, "web"))
    scene.change(kinds.DEPLOYMENT, space, "web", {"spec": {"replicas": 3}})
    scene.finish(old)
    assert scene.places(space, "web") == ["new"] * 3


def test_surge_raises_the_autoscalers_floor_and_gives_it_back(scene: Scene, observer: Observer) -> None:
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    scene.deployment(space, "web", 1)
    scene.budget(space, "always", "web", minAvailable=1)
    autoscaler(scene, space, 1, 3)
    scene.wait_ready(space, web=1)
    scene.nodes("new", NEW)
    observer.begin()
    scene.migrate(onBlocked="Surge")
    scene.rig.start()
    scene.finish(old)
    assert scene.arrived(space, "web")
    assert fewest_ready(observer.history(), f"{space}/web") == 1
    assert scene.client.get(kinds.DEPLOYMENT, "web", space)["spec"]["replicas"] == 1
    assert scene.client.get(kinds.HORIZONTAL_POD_AUTOSCALER, "web", space)["spec"]["minReplicas"] == 1


def test_surge_never_goes_above_the_autoscalers_most(scene: Scene) -> None:
    scene.nodes("old", OLD)
    space = scene.namespace()
    scene.deployment(space, "web", 1)
    scene.budget(space, "always", "web", minAvailable=1)
    autoscaler(scene, space, 1, 1)
    scene.wait_ready(space, web=1)
    scene.begin(onBlocked="Surge")
    line = wait_line(scene, "web", state="Blocked", reason="SurgeImpossible")
    assert "HorizontalPodAutoscaler web is at its most, 1" in line["message"]
    assert scene.places(space, "web") == ["old"]
