"""An operator waits for its turn in an upgrade, on a real API server with its own layer: the mark that holds
it is the conductor's, what it says of itself is its layer's."""

from __future__ import annotations

from typing import Any

from shiplift.api.marks import UPGRADE_HOLD
from shiplift.facts.kinds import APP_TYPE, QUORUM_SERVICE, Kind
from shiplift.kube.account import Account
from shiplift.operator import install
from tests.audit import Audit
from tests.operated import NEW, SPACE
from tests.until import until
from tests.upgrade.rig import Upgrading

Json = dict[str, Any]
NAME = "beacon"
STORE = {
    "statefulSets": ["minio"],
    "image": "registry.example/minio:new",
    "credentialsSecret": "root",
    "trust": {"minisignKey": f"RW{'A' * 54}"},
}


def test_an_operator_has_its_turn_after_the_workloads_and_is_waited_for(scene: Upgrading) -> None:
    audit = Audit(scene.rig.cluster, Account(SPACE, install.ACCOUNT))
    _, nodes, space = scene.cluster()
    spec = {"package": NAME, "serviceAccountName": "default"}
    scene.client.create(APP_TYPE, {"metadata": {"name": NAME}, "spec": spec}, space)
    scene.ask(paused=True)
    scene.rig.start()
    until(lambda: said(scene, space).get("Resolved") == "NoCatalog", 60)
    scene.edit(paused=False)
    until(lambda: marks(scene, space).get(UPGRADE_HOLD) == f"the upgrade to {NEW} comes first", 60)
    until(lambda: said(scene, space).get("Resolved") == "Paused", 60)
    until(lambda: scene.told["message"].startswith(f"AppType {space}/{NAME}: "), 120)
    assert scene.told["reason"] == "Operators"
    assert [scene.version(one) for one in nodes] == [NEW] * 3
    until(lambda: said(scene, space).get("Resolved") == "NoCatalog", 60)
    assert UPGRADE_HOLD not in marks(scene, space)
    scene.change(APP_TYPE, NAME, {"spec": {"paused": True}}, space)
    told = scene.come_to(60, phase="Upgraded")
    found = {one["type"]: one for one in told["conditions"]}
    assert found["ServicesUpgraded"]["reason"] == "NothingToDo"
    assert found["OperatorsUpgraded"]["message"] == f"paused by its user: AppType {space}/{NAME}"
    assert scene.traces() == []
    assert audit.forbidden() == []


def test_what_was_held_for_an_upgrade_is_let_go_where_that_is_aborted(scene: Upgrading) -> None:
    _, _, space = scene.cluster()
    spec = {"package": NAME, "serviceAccountName": "default"}
    scene.client.create(APP_TYPE, {"metadata": {"name": NAME}, "spec": spec}, space)
    scene.client.create(QUORUM_SERVICE, {"metadata": {"name": NAME}, "spec": STORE}, space)
    scene.ask()
    scene.rig.start()
    for kind in (APP_TYPE, QUORUM_SERVICE):
        until(lambda kind=kind: UPGRADE_HOLD in marks(scene, space, kind), 60)
    scene.edit(abort=True)
    scene.come_to(90, reason="Aborted")
    assert [UPGRADE_HOLD in marks(scene, space, kind) for kind in (APP_TYPE, QUORUM_SERVICE)] == [False] * 2


def marks(scene: Upgrading, space: str, kind: Kind = APP_TYPE) -> Json:
    return scene.client.get(kind, NAME, space)["metadata"].get("annotations") or {}


def said(scene: Upgrading, space: str) -> dict[str, str]:
    status = scene.client.get(APP_TYPE, NAME, space).get("status") or {}
    return {one["type"]: one["reason"] for one in status.get("conditions") or ()}
