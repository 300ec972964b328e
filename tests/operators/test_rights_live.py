"""An AppType installs what its ServiceAccount may, and nothing else: attempts to get more."""

from __future__ import annotations

import msgspec
import pytest

from shiplift.facts.kinds import APP_TYPE, CLUSTER_ROLE_BINDING, DEPLOYMENT, SERVICE_ACCOUNT, Kind
from shiplift.kube import rbac
from shiplift.kube.client import Client
from shiplift.kube.credentials import Impersonation
from shiplift.kube.errors import Forbidden, NotFound
from tests.operators.bundles import Written
from tests.operators.rig import ACCOUNT, NEAR, Scene, boats

ROLE = Kind("Role", "roles", rbac.GROUP)
EVERYTHING = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}


def test_a_bundle_cannot_give_its_account_more_than_the_installer_has(scene: Scene) -> None:
    scene.offer(Written(package="pirates", version="1.0.0", rules=(EVERYTHING,)))
    scene.ask("pirates")
    told = scene.says("pirates.v1.0.0", "Installed", "NotAllowed")
    assert "attempting to grant RBAC permissions not currently held" in told
    assert scene.find(DEPLOYMENT, "pirates") is None


def test_nor_in_the_whole_cluster(scene: Scene) -> None:
    nodes = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["delete"]}
    scene.offer(Written(package="pirates", version="1.0.0", cluster_rules=(nodes,)))
    scene.ask("pirates")
    assert "not currently held" in scene.says("pirates.v1.0.0", "Installed", "NotAllowed")
    assert scene.find(DEPLOYMENT, "pirates") is None


def test_a_bundle_cannot_bind_its_account_to_a_role_that_is_there(scene: Scene) -> None:
    bound = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"pirates-{scene.name}"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "pirates-operator", "namespace": scene.space}],
    }
    scene.offer(Written(package="pirates", version="1.0.0", beside=(bound,)))
    scene.ask("pirates")
    scene.says("pirates.v1.0.0", "Installed", "NotAllowed")
    assert scene.find(CLUSTER_ROLE_BINDING, f"pirates-{scene.name}") is None


def test_without_the_right_to_act_as_the_account_nothing_is_done_and_the_right_is_named(scene: Scene) -> None:
    scene.client.create(SERVICE_ACCOUNT, {"metadata": {"name": "admin"}}, scene.space)
    scene.offer(*boats("1.0.0"))
    scene.ask("boats", serviceAccountName="admin")
    told = scene.says("boats.v1.0.0", "Installed", "NoAccount")
    assert f"shiplift manifests --account {scene.space}/admin" in told
    assert scene.find(DEPLOYMENT, "boats") is None


def test_what_was_never_installed_goes_without_the_account(scene: Scene) -> None:
    scene.client.create(SERVICE_ACCOUNT, {"metadata": {"name": "admin"}}, scene.space)
    scene.offer(*boats("1.0.0"))
    scene.ask("boats", serviceAccountName="admin")
    scene.says("boats.v1.0.0", "Installed", "NoAccount")
    scene.remove(APP_TYPE, "boats", scene.space)
    scene.waits(lambda: scene.find(APP_TYPE, "boats") is None and not scene.versions())


def test_an_account_of_another_namespace_cannot_be_named(scene: Scene) -> None:
    """The name is looked for in the AppType's own namespace, whatever it looks like."""
    scene.offer(*boats("1.0.0"))
    scene.ask("boats", serviceAccountName="kube-system.admin")
    scene.says("boats.v1.0.0", "Installed", "NoAccount")


def test_what_the_account_may_not_do_is_named(scene: Scene) -> None:
    scene.offer(*boats("1.0.0", beside=(_budget(),)))
    scene.ask("boats")
    assert "poddisruptionbudgets" in scene.says("boats.v1.0.0", "Installed", "NotAllowed")
    assert scene.app("boats")["conditions"]
    assert scene.find(APP_TYPE, "boats")


def test_what_an_account_may_not_do_later_keeps_the_old_version_running(scene: Scene) -> None:
    """Nobody stops the old one to find out then that the new one cannot be waited for."""
    first, second = boats("1.0.0", "1.1.0")
    scene.offer(first)
    scene.ask("boats")
    scene.come_to("boats", "1.0.0")
    near = [one for one in NEAR if one["resources"] != ["pods"]]
    assert near != NEAR
    scene.change(ROLE, ACCOUNT, {"rules": near}, scene.space)
    scene.offer(first, msgspec.structs.replace(second, deployment="fleet", selects="fleet"))
    assert "list pods" in scene.says("boats.v1.1.0", "Installed", "NotAllowed")
    running = scene.find(DEPLOYMENT, "boats") or {}
    assert running["spec"].get("replicas", 1) == 1
    scene.says("boats", "UpToDate", "NotAllowed")
    assert {one["type"]: one["status"] for one in scene.app("boats")["conditions"]}["Ready"] == "True"


def test_who_may_not_run_pods_cannot_name_an_account(scene: Scene) -> None:
    """An account of a namespace can be used by who may run pods there, and by nobody else for an AppType."""
    group = rbac.rule("shiplift.dev", ["apptypes"], ["get", "create", "patch"])
    role = rbac.role("ada", [group], scene.space)
    bound = rbac.binding(role, "x", "x") | {
        "subjects": [{"kind": "User", "name": "ada", "apiGroup": "rbac.authorization.k8s.io"}]
    }
    for one in (role, bound):
        scene.rig.put(one)
    ada = scene.client.acting_as(Impersonation("ada", groups=("system:authenticated",)))
    scene.waits(lambda: _may_read(ada, scene.space))
    body = {"metadata": {"name": "boats"}, "spec": {"package": "boats", "serviceAccountName": "installer"}}
    with pytest.raises(Forbidden, match="may not create pods in namespace"):
        ada.create(APP_TYPE, body, scene.space)
    scene.change(ROLE, "ada", {"rules": [group, rbac.rule("", ["pods"], ["create"])]}, scene.space)

    def may() -> bool:
        try:
            ada.create(APP_TYPE, body, scene.space)
        except Forbidden:
            return False
        return True

    scene.waits(may)
    scene.change(ROLE, "ada", {"rules": [group]}, scene.space)
    uid = (scene.find(APP_TYPE, "boats") or {})["metadata"]["uid"]
    scene.waits(lambda: not _may_change(ada, scene.space, uid, {"serviceAccountName": "default"}))
    assert _may_change(ada, scene.space, uid, {"paused": True}), "what is not about the account is free"


def _may_read(client: Client, space: str) -> bool:
    """The API server knows of a new role a moment later."""
    try:
        client.get(APP_TYPE, "boats", space)
    except Forbidden:
        return False
    except NotFound:
        pass
    return True


def _may_change(client: Client, space: str, uid: str, spec: dict[str, object]) -> bool:
    try:
        client.patch(APP_TYPE, "boats", {"spec": spec}, space, uid=uid)
    except Forbidden:
        return False
    return True


def _budget() -> dict[str, object]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "boats"},
        "spec": {"minAvailable": 0, "selector": {"matchLabels": {"app": "boats"}}},
    }
