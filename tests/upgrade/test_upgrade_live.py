"""Whole upgrades on a real API server: the operator runs all layers as its own account, and agents have the
rights of nodes."""

from __future__ import annotations

import contextlib

import pytest

from shiplift.api.marks import UPGRADE_HOLD, UPGRADE_LEDGER
from shiplift.cli.access import followed
from shiplift.facts import kinds
from shiplift.kube.account import Account
from shiplift.kube.errors import NotFound
from shiplift.kube.fence import whoami
from shiplift.nodes.controller import PART as NODES
from shiplift.nodes.face.undo import undo_all as undo_nodes
from shiplift.operator import install
from shiplift.upgrade.controller import PART as UPGRADE
from shiplift.upgrade.face.undo import undo_all as undo_upgrade
from shiplift.workloads.controller import PART as WORKLOADS
from shiplift.workloads.face.undo import undo_all as undo_workloads
from tests.audit import Audit
from tests.operated import NEW, OLD, SPACE
from tests.until import until
from tests.upgrade.rig import Upgrading

PLANE, WORKERS = f"upgrade-{NEW}-control-plane", f"upgrade-{NEW}-workers"


def test_one_upgrade_goes_through_control_plane_nodes_and_workloads(scene: Upgrading) -> None:
    audit = Audit(scene.rig.cluster, Account(SPACE, install.ACCOUNT))
    planes, nodes, _ = scene.cluster()
    scene.ask()
    scene.rig.start()
    until(lambda: PLANE in scene.rollouts())
    assert [scene.version(one) for one in nodes] == [OLD] * 3
    until(lambda: WORKERS in scene.rollouts(), 60)
    assert [scene.version(one) for one in planes] == [NEW]
    migration = scene.migration()
    assert migration is not None
    assert migration["spec"]["target"] == NEW
    status = scene.come_to(90, phase="Upgraded")
    assert [scene.version(one) for one in (*planes, *nodes)] == [NEW] * 4
    assert scene.traces() == []
    assert scene.migration() is None
    (entry,) = status["history"]
    assert (entry["version"], entry["precedingVersion"], entry["phase"]) == (NEW, OLD, "Upgraded")
    assert entry["startTime"] <= entry["workerStartTime"] <= entry["completeTime"]
    assert status["nodes"]["summary"] == "4/4"
    assert status["workloads"]["summary"] == "2/2"
    until(lambda: "finalizers" not in scene.client.get(kinds.UPGRADE_CONFIG, "cluster")["metadata"])
    until(lambda: {"Started", "ControlPlane", "Nodes", "Upgraded"} <= scene.events("cluster"))
    assert audit.forbidden() == []


def test_a_users_own_migration_gets_the_target_and_has_its_own_back_in_the_end(scene: Upgrading) -> None:
    _, nodes, _ = scene.cluster()
    spec = {"waitForNodes": {"settle": "0s"}, "excludeNamespaces": ["kube-public"]}
    scene.client.create(kinds.WORKLOAD_MIGRATION, {"metadata": {"name": "cluster"}, "spec": spec})
    scene.ask()
    scene.rig.start()
    until(lambda: UPGRADE_LEDGER in (scene.migration() or {})["metadata"].get("annotations", {}), 60)
    scene.come_to(90, phase="Upgraded")
    migration = scene.migration()
    assert migration is not None
    assert "target" not in migration["spec"]
    assert migration["spec"]["excludeNamespaces"] == ["kube-public"]
    assert scene.traces() == []
    assert [scene.version(one) for one in nodes] == [NEW] * 3


def test_paused_it_holds_layers_by_a_mark_and_aborted_it_leaves_nothing(scene: Upgrading) -> None:
    _, nodes, _ = scene.cluster()
    scene.client.create(kinds.WORKLOAD_MIGRATION, {"metadata": {"name": "cluster"}, "spec": {}})
    scene.ask()
    scene.rig.start()
    until(lambda: WORKERS in scene.rollouts(), 60)
    scene.edit(paused=True)
    scene.phase(WORKERS, "Paused")
    rollout = scene.rollouts()[WORKERS]
    assert rollout["metadata"]["annotations"][UPGRADE_HOLD] == "paused"
    assert not rollout["spec"].get("paused")
    until(lambda: UPGRADE_HOLD in (scene.migration() or {})["metadata"].get("annotations", {}))
    scene.come_to(reason="Paused")
    scene.edit(abort=True)
    scene.come_to(reason="Aborted", phase="Failed")
    assert scene.traces() == []
    migration = scene.migration()
    assert migration is not None
    assert "target" not in migration["spec"]
    assert not migration["spec"]["paused"]
    assert not migration["spec"]["abort"]
    assert OLD in {scene.version(one) for one in nodes}


def test_a_rollout_that_somebody_deletes_again_and_again_is_told_and_made_again(scene: Upgrading) -> None:
    scene.cluster()
    scene.ask()
    scene.rig.start()
    deleted: set[str] = set()

    def delete() -> bool:
        for name, one in scene.rollouts().items():
            about = one["metadata"]
            if "deletionTimestamp" not in about and len(deleted) < 3:
                deleted.add(about["uid"])
                with contextlib.suppress(NotFound):
                    scene.client.delete(kinds.NODE_ROLLOUT, name, uid=about["uid"])
        return len(deleted) == 3 and "somebody else deletes NodeRollout" in scene.told.get("message", "")

    until(delete, 60)
    scene.come_to(120, phase="Upgraded")
    assert scene.traces() == []


def test_an_operator_that_comes_back_goes_on_where_the_one_before_was(scene: Upgrading) -> None:
    _, nodes, _ = scene.cluster()
    scene.ask()
    for seen in (PLANE, WORKERS):
        scene.rig.start()
        until(lambda seen=seen: seen in scene.rollouts(), 60)
        scene.rig.stop()
    began = scene.told["startTime"]
    scene.rig.start()
    status = scene.come_to(90, phase="Upgraded")
    assert status["history"][0]["startTime"] == began
    assert [scene.version(one) for one in nodes] == [NEW] * 3
    assert scene.traces() == []


def test_a_budget_that_never_allows_keeps_it_from_starting_and_is_named(scene: Upgrading) -> None:
    _, nodes, space = scene.cluster()
    scene.budget(space, "web", maxUnavailable=0)
    scene.ask()
    scene.rig.start()
    status = scene.come_to(reason="PreflightFailed")
    assert [(one["code"], one["severity"]) for one in status["findings"]] == [("BUDGETS", "Blocker")]
    assert f"{space}/web" in status["message"]
    assert scene.traces() == []
    assert {scene.version(one) for one in nodes} == {OLD}


@pytest.mark.long(seconds=70)
def test_a_manual_upgrade_starts_when_its_plan_is_approved(scene: Upgrading) -> None:
    scene.cluster()
    scene.ask(approval="Manual")
    scene.rig.start()
    status = scene.come_to(reason="NeedsApproval")
    who = whoami(scene.client).username
    wrong = {"version": NEW, "planDigest": "sha256:" + "0" * 64, "by": who}
    scene.edit(approved=wrong)
    until(lambda: "is not the one" in scene.told["message"])
    assert scene.rollouts() == {}
    scene.edit(approved=wrong | {"planDigest": status["plan"]["digest"]})
    scene.come_to(90, phase="Upgraded")


def test_deleted_in_the_middle_it_goes_in_order(scene: Upgrading) -> None:
    scene.cluster()
    scene.ask()
    scene.rig.start()
    until(lambda: WORKERS in scene.rollouts(), 60)
    uid = scene.client.get(kinds.UPGRADE_CONFIG, "cluster")["metadata"]["uid"]
    scene.client.delete(kinds.UPGRADE_CONFIG, "cluster", uid=uid)
    until(lambda: not list(scene.client.list(kinds.UPGRADE_CONFIG)), 60)
    assert scene.traces() == []
    assert scene.migration() is None


def test_everything_is_undone_without_an_operator(scene: Upgrading) -> None:
    _, nodes, _ = scene.cluster()
    scene.client.create(kinds.WORKLOAD_MIGRATION, {"metadata": {"name": "cluster"}, "spec": {}})
    scene.ask()
    scene.rig.start()
    until(lambda: WORKERS in scene.rollouts(), 60)
    scene.rig.stop()
    said: list[str] = []
    for part, undo in ((UPGRADE, undo_upgrade), (WORKLOADS, undo_workloads), (NODES, undo_nodes)):
        with followed(scene.rig.cluster.credentials(), part.watches) as store:
            undo(scene.client, store, said.append)
    assert said[0] == "the upgrade is aborted, so that no operator begins again"
    assert scene.traces() == []
    assert "finalizers" not in scene.client.get(kinds.UPGRADE_CONFIG, "cluster")["metadata"]
    assert OLD in {scene.version(one) for one in nodes}
