"""People and operators come and go half-way; and only what is in scope takes part."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from shiplift.api.marks import OFF_TARGET_LABEL, TARGET_LABEL, UPGRADE_TAINT
from shiplift.facts import kinds
from shiplift.kube.credentials import load
from shiplift.kube.store import Store
from shiplift.kube.watch import Watch
from shiplift.workloads.face.undo import undo_all
from shiplift.workloads.names import MIGRATION
from shiplift.workloads.observe.observer import READS
from tests.operated import NEW, OLD
from tests.workloads.halfway import HOLD, budgets, gated, gated_and_held, uids, wait_line
from tests.workloads.rig import Scene

# --- people, and the operator itself ---


def test_an_operator_that_was_away_leaves_its_holds_and_resumes(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = gated_and_held(scene, hold="Always")
    scene.wait(lambda: HOLD in budgets(scene, space))
    scene.rig.stop()
    scene.open_gate()
    died = scene.pods(space, "web")[0]["metadata"]
    scene.drop(kinds.POD, died["name"], space)
    scene.wait(lambda: died["uid"] not in uids(scene, space, "web"))
    scene.wait_ready(space, web=2)
    assert scene.places(space, "web") == ["old", "old"]
    scene.rig.start()
    scene.finish(old)
    assert scene.arrived(space, "gate", "web")


@pytest.mark.parametrize("mode", ["Inject", "Template"])
def test_undo_undoes_everything_while_the_operator_is_away(scene: Scene, mode: str) -> None:
    scene.nodes("old", OLD)
    space = gated(scene)
    scene.budget(space, "web", "web", minAvailable=1)
    scene.begin(mode=mode, hold="Always")
    scene.wait_held(space)
    scene.rig.stop()
    assert scene.residue()
    said: list[str] = []
    with watched(scene) as store:
        assert undo_all(scene.client, store, said.append).changes > 0
    assert scene.residue() == []
    assert budgets(scene, space)["web"]["spec"]["minAvailable"] == 1
    assert f"give PodDisruptionBudget {space}/web back what it said: ok" in said
    scene.rig.start()
    scene.wait(lambda: scene.status().get("state") == "NoUpgrade")
    assert scene.status()["message"] == "aborted: workloads stay where they are"
    assert scene.residue() == []


@contextmanager
def watched(scene: Scene) -> Generator[Store]:
    store = Store(load(scene.rig.cluster.kubeconfig), map(Watch, READS))
    store.start()
    try:
        assert store.wait_synced(30)
        yield store
    finally:
        store.stop()


def test_paused_nothing_new_starts_and_resumed_it_ends(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = gated_and_held(scene)
    scene.change_migration(paused=True)
    scene.wait(lambda: scene.status()["message"].startswith("paused"))
    before = uids(scene, space, "web") | uids(scene, space, "gate")
    scene.open_gate()
    told = wait_line(scene, "gate", reason="Paused")
    assert told["message"] == "paused; `shiplift resume` goes on"
    assert uids(scene, space, "web") | uids(scene, space, "gate") == before
    scene.change_migration(paused=False)
    scene.finish(old)
    assert scene.arrived(space, "gate", "web")


@pytest.mark.parametrize("mode", ["Inject", "Template"])
@pytest.mark.parametrize("how", ["abort", "delete"])
def test_ended_half_way_everything_is_undone_and_pods_stay_where_they_are(
    scene: Scene, mode: str, how: str
) -> None:
    scene.nodes("old", OLD)
    space = gated(scene)
    scene.deployment(space, "db", 2)
    scene.deployment(space, "api", 2)
    scene.budget(space, "api", "api", maxUnavailable=1)
    scene.reorder(space, web=["gate"], api=["gate"])
    scene.wait_ready(space, db=2, api=2)
    scene.begin(mode=mode, hold="Always", cleanup="Immediate")
    scene.wait(lambda: scene.arrived(space, "db") and HOLD in budgets(scene, space))
    before = uids(scene, space, "web") | uids(scene, space, "api")
    if how == "abort":
        scene.change_migration(abort=True)
    else:
        scene.drop(kinds.WORKLOAD_MIGRATION, MIGRATION)
        scene.wait(lambda: not list(scene.client.list(kinds.WORKLOAD_MIGRATION)))
    scene.wait_clean()
    scene.wait(lambda: untolerated(scene, space))
    assert uids(scene, space, "web") | uids(scene, space, "api") == before
    assert budgets(scene, space)["api"]["spec"]["maxUnavailable"] == 1
    assert budgets(scene, space).keys() == {"api"}
    scene.change(kinds.DEPLOYMENT, space, "web", {"spec": {"replicas": 4}})
    scene.wait_ready(space, web=4)
    if how == "abort":
        assert scene.status()["message"] == "aborted: workloads stay where they are"


def untolerated(scene: Scene, space: str) -> bool:
    """No template carries a toleration of ours."""
    found = [one["spec"]["template"]["spec"] for one in scene.client.list(kinds.DEPLOYMENT, space)]
    return not any(
        toleration["key"] == UPGRADE_TAINT for spec in found for toleration in spec.get("tolerations", [])
    )


# --- scope ---


def test_only_nodes_and_namespaces_in_scope_take_part(scene: Scene) -> None:
    mine, theirs = scene.nodes("old", OLD, 2, labels={"team": "a"}), scene.nodes("theirs", OLD, 1)
    scene.cordon(*theirs.names())
    space, other = scene.namespace(), scene.namespace("other")
    scene.deployment(space, "web", 2)
    scene.deployment(other, "left-alone", 2)
    scene.wait_ready(space, web=2)
    scene.wait_ready(other, **{"left-alone": 2})
    stayed = uids(scene, other, "left-alone")
    scene.nodes("new", NEW, 2, labels={"team": "a"})
    scene.migrate(nodeSelector={"matchLabels": {"team": "a"}}, excludeNamespaces=[other])
    scene.rig.start()
    scene.wait(lambda: scene.arrived(space, "web"))
    labels = scene.client.get(kinds.NODE, theirs.names()[0])["metadata"]["labels"]
    assert not {TARGET_LABEL, OFF_TARGET_LABEL} & labels.keys()
    assert uids(scene, other, "left-alone") == stayed
    assert list(scene.client.list(kinds.WORKLOAD_PLACEMENT, other)) == []
    scene.finish(mine)


def test_a_workload_that_opts_out_is_left_where_it_is_and_blocks_nobody(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    scene.deployment(space, "legacy", 1, annotations={"shiplift.dev/skip-migration": "true"})
    scene.deployment(space, "web", 2)
    scene.order(space, web=["legacy"])
    scene.wait_ready(space, legacy=1, web=2)
    stayed = uids(scene, space, "legacy")
    scene.begin()
    scene.wait(lambda: scene.arrived(space, "web"))
    assert uids(scene, space, "legacy") == stayed
    scene.finish(old)


def test_dependents_wait_until_a_dependency_has_soaked(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    scene.deployment(space, "db", 2)
    scene.deployment(space, "web", 2)
    scene.order(space, web=["db"])
    scene.wait_ready(space, db=2, web=2)
    scene.begin(soak="1h")
    line = wait_line(scene, "db", reason="Soaking")
    assert line["message"].startswith("all pods are there")
    assert scene.line("web")["state"] == "Held"
    assert scene.places(space, "web") == ["old", "old"]
    scene.change_migration(soak="0s")
    scene.finish(old)
    assert scene.arrived(space, "db", "web")
