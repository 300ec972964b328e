"""Operators on a real API server: installed, upgraded, handed over, collected, uninstalled."""

from __future__ import annotations

from typing import Any

import msgspec

from shiplift.facts.kinds import (
    APP_TYPE,
    CONFIG_MAP,
    CUSTOM_RESOURCE_DEFINITION,
    DEPLOYMENT,
    OPERATOR_CATALOG,
    OPERATOR_VERSION,
    SERVICE_ACCOUNT,
    Kind,
)
from shiplift.kube.store import Store
from shiplift.kube.watch import Watch
from shiplift.operators.face.undo import undo_all
from tests.operators.bundles import GROUP, Written, definition
from tests.operators.rig import Scene, boats

Json = dict[str, Any]
ROLE = Kind("Role", "roles", "rbac.authorization.k8s.io")
BOAT = Kind("Boat", "boats", GROUP, "v1")
SETTINGS = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "settings"},
    "data": {"speed": "slow"},
}


def image(scene: Scene, name: str = "boats") -> str:
    found = scene.find(DEPLOYMENT, name)
    return found["spec"]["template"]["spec"]["containers"][0]["image"] if found else ""


def references(found: Json | None) -> list[tuple[str, bool]]:
    listed = (found or {}).get("metadata", {}).get("ownerReferences") or []
    return [(one["name"], one.get("controller", False)) for one in listed]


def boat(scene: Scene, name: str, **spec: Any) -> None:
    body = {"metadata": {"name": name}, "spec": spec or {"size": 3}}
    scene.waits(lambda: scene.find(CUSTOM_RESOURCE_DEFINITION, f"boats.{GROUP}"))
    scene.client.create(BOAT, body, scene.space)


def test_an_operator_is_installed_as_its_account_and_says_so(scene: Scene) -> None:
    scene.offer(*boats("1.0.0", beside=(SETTINGS,)))
    scene.ask("boats")
    scene.come_to("boats", "1.0.0")
    scene.says("boats", "UpToDate", "UpToDate")
    assert scene.version("boats.v1.0.0")["phase"] == "Succeeded"
    assert scene.version("boats.v1.0.0")["deployments"]["summary"] == "1/1"
    assert image(scene) == "example/boats:1.0.0"
    for kind, name in ((DEPLOYMENT, "boats"), (CONFIG_MAP, "settings"), (SERVICE_ACCOUNT, "boats-operator")):
        assert references(scene.find(kind, name)) == [("boats.v1.0.0", True)]
        assert scene.owned(kind, name) == f"{scene.space}.boats.v1.0.0"
    assert references(scene.find(CUSTOM_RESOURCE_DEFINITION, f"boats.{GROUP}")) == []
    assert scene.find(ROLE, "boats.v1.0.0-boats-operator-local-0")
    assert scene.app("boats")["operatorVersion"] == "boats.v1.0.0"
    assert "Installed" in scene.events("boats.v1.0.0")
    managers = {
        one["manager"] for one in (scene.find(DEPLOYMENT, "boats") or {})["metadata"]["managedFields"]
    }
    assert any(one.startswith("shiplift-") for one in managers), "what is written for others is fenced"


def test_it_goes_through_three_versions_and_nothing_of_its_users_is_lost(scene: Scene) -> None:
    first, second, third = boats("1.0.0", "1.1.0", "1.2.0", beside=(SETTINGS,))
    scene.offer(first)
    scene.ask("boats")
    scene.come_to("boats", "1.0.0")
    boat(scene, "ferry")
    kept = {kind: (scene.find(kind, name) or {})["metadata"]["uid"] for kind, name in _KEPT}
    scene.offer(first, second, third)
    scene.come_to("boats", "1.2.0", 180)
    scene.says("boats", "UpToDate", "UpToDate")
    assert scene.versions() == ["boats.v1.2.0"]
    assert image(scene) == "example/boats:1.2.0"
    assert scene.find(BOAT, "ferry", scene.space)["spec"] == {"size": 3}  # type: ignore[index]
    for kind, name in _KEPT:
        found = scene.find(kind, name)
        assert found
        assert found["metadata"]["uid"] == kept[kind], f"{kind} {name} was made anew"
        assert scene.owned(kind, name) == f"{scene.space}.boats.v1.2.0"
        assert references(found) in ([], [("boats.v1.2.0", True)])
    roles = [one["metadata"]["name"] for one in scene.client.list(ROLE, scene.space)]
    assert [one for one in roles if one.startswith("boats.")] == ["boats.v1.2.0-boats-operator-local-0"]


_KEPT = (
    (DEPLOYMENT, "boats"),
    (CONFIG_MAP, "settings"),
    (SERVICE_ACCOUNT, "boats-operator"),
    (CUSTOM_RESOURCE_DEFINITION, f"boats.{GROUP}"),
)


def test_two_versions_never_run_at_once_where_their_deployments_have_other_names(scene: Scene) -> None:
    first, second = boats("1.0.0", "1.1.0")
    second = msgspec.structs.replace(second, deployment="fleet", selects="fleet")
    scene.offer(first)
    scene.ask("boats")
    scene.come_to("boats", "1.0.0")
    scene.offer(first, second)
    seen: list[bool] = []

    def both() -> bool:
        old, new = scene.find(DEPLOYMENT, "boats"), scene.find(DEPLOYMENT, "fleet")
        runs = [bool((one or {}).get("status", {}).get("replicas")) for one in (old, new)]
        seen.append(all(runs))
        return scene.app("boats").get("installed") == "1.1.0" and len(scene.versions()) == 1

    scene.waits(both, 120)
    assert not any(seen)
    assert scene.find(DEPLOYMENT, "boats") is None
    assert image(scene, "fleet") == "example/boats:1.1.0"


def test_a_deployment_that_selects_other_pods_is_made_anew(scene: Scene) -> None:
    first, second = boats("1.0.0", "1.1.0")
    second = msgspec.structs.replace(second, selects="fleet")
    scene.offer(first, second)
    scene.ask("boats", version="1.0.0")
    scene.come_to("boats", "1.0.0")
    scene.edit("boats", version="1.1.0")
    scene.come_to("boats", "1.1.0", 120)
    assert image(scene) == "example/boats:1.1.0"


def test_a_veto_is_respected_until_it_is_taken_back(scene: Scene) -> None:
    first, second = boats("1.0.0", "1.1.0")
    scene.offer(first)
    scene.ask("boats")
    scene.come_to("boats", "1.0.0")
    veto = {"type": "Upgradeable", "reason": "Busy", "message": "a backup is running"}
    scene.tell("boats.v1.0.0", status="False", **veto)
    scene.offer(first, second)
    assert "a backup is running" in scene.says("boats", "UpToDate", "Vetoed")
    assert scene.versions() == ["boats.v1.0.0"]
    assert scene.app("boats")["blockedBy"]
    scene.tell("boats.v1.0.0", status="True", **veto)
    scene.come_to("boats", "1.1.0")


def test_what_is_not_approved_waits(scene: Scene) -> None:
    first, second = boats("1.0.0", "1.1.0")
    scene.offer(first, second)
    scene.ask("boats", approval="Manual", version="1.0.0")
    scene.says("boats", "Resolved", "NeedsApproval")
    scene.edit("boats", approved="1.0.0")
    scene.come_to("boats", "1.0.0")
    scene.edit("boats", version=None)
    scene.says("boats", "UpToDate", "NeedsApproval")
    scene.edit("boats", approved="1.1.0")
    scene.come_to("boats", "1.1.0")


def test_a_pin_below_goes_back_and_what_custom_resources_have_stays(scene: Scene) -> None:
    first, second = boats("1.0.0", "1.1.0")
    wider = definition("boats", size={"type": "integer"}, sails={"type": "integer"})
    scene.offer(first, msgspec.structs.replace(second, owned=(wider,)))
    scene.ask("boats")
    scene.come_to("boats", "1.1.0")
    boat(scene, "ferry", sails=3)
    scene.edit("boats", version="1.0.0")
    scene.come_to("boats", "1.0.0")
    scene.says("boats", "UpToDate", "Pinned")
    assert image(scene) == "example/boats:1.0.0"
    assert (scene.find(BOAT, "ferry", scene.space) or {})["spec"]["sails"] == 3


def test_a_version_that_does_not_start_is_taken_back_by_a_pin(scene: Scene) -> None:
    first, second = boats("1.0.0", "1.1.0")
    stuck = {**SETTINGS, "metadata": {"name": "stuck"}}
    second = msgspec.structs.replace(second, beside=(stuck,))
    scene.offer(first)
    scene.ask("boats")
    scene.come_to("boats", "1.0.0")
    scene.client.create(CONFIG_MAP, {"metadata": {"name": "stuck"}}, scene.space)
    scene.offer(first, second)
    assert "ConfigMap" in scene.says("boats.v1.1.0", "Installed", "OwnerConflict")
    scene.edit("boats", version="1.0.0")
    scene.come_to("boats", "1.0.0")
    scene.waits(lambda: scene.versions() == ["boats.v1.0.0"])
    scene.says("boats", "Ready", "Installed")
    assert image(scene) == "example/boats:1.0.0"


def test_a_first_version_that_does_not_start_is_left_for_one_that_is_pinned(scene: Scene) -> None:
    first, second = boats("1.0.0", "1.1.0")
    scene.offer(msgspec.structs.replace(first, stuck=True), second)
    scene.ask("boats", version="1.0.0")
    scene.says("boats.v1.0.0", "Installed", "WaitingForPods")
    scene.edit("boats", version="1.1.0")
    scene.come_to("boats", "1.1.0")
    scene.waits(lambda: scene.versions() == ["boats.v1.1.0"])
    assert image(scene) == "example/boats:1.1.0"


def test_what_was_stopped_for_a_version_that_does_not_start_runs_again(scene: Scene) -> None:
    first, second = boats("1.0.0", "1.1.0")
    second = msgspec.structs.replace(second, deployment="fleet", selects="fleet", stuck=True)
    scene.offer(first, second)
    scene.ask("boats", version="1.0.0")
    scene.come_to("boats", "1.0.0")
    scene.edit("boats", version=None)
    scene.says("boats.v1.1.0", "Installed", "WaitingForPods")
    assert (scene.find(DEPLOYMENT, "boats") or {})["spec"]["replicas"] == 0
    scene.edit("boats", version="1.0.0")
    scene.come_to("boats", "1.0.0")
    scene.waits(lambda: (scene.find(DEPLOYMENT, "boats") or {})["status"].get("availableReplicas") == 1)
    assert scene.find(DEPLOYMENT, "fleet") is None


def test_who_deletes_its_deployment_again_and_again_is_told_and_it_is_made_again(scene: Scene) -> None:
    scene.offer(*boats("1.0.0"))
    scene.ask("boats")
    scene.come_to("boats", "1.0.0")
    deleted: set[str] = set()

    def delete() -> bool:
        found = scene.find(DEPLOYMENT, "boats")
        if found is not None and "deletionTimestamp" not in found["metadata"] and len(deleted) < 3:
            deleted.add(found["metadata"]["uid"])
            scene.client.delete(DEPLOYMENT, "boats", scene.space, uid=found["metadata"]["uid"])
        return len(deleted) == 3 and "somebody deletes Deployment" in str(scene.version("boats.v1.0.0"))

    scene.waits(delete)
    scene.come_to("boats", "1.0.0")


def test_what_is_required_and_missing_is_provided_with_its_operator(scene: Scene) -> None:
    nets = Written(package="nets", version="1.0.0", required=(("boats", "v1"),))
    scene.offer(nets)
    scene.ask("nets")
    assert f"boats.{GROUP}" in scene.says("nets.v1.0.0", "Installed", "RequirementsNotMet")
    scene.says("nets.v1.0.0", "RequirementsProvided", "NoProvider")
    assert scene.find(DEPLOYMENT, "nets") is None
    scene.offer(nets, *boats("1.0.0"))
    scene.come_to("nets", "1.0.0", 120)
    scene.come_to("boats", "1.0.0", 120)
    assert scene.owned(CUSTOM_RESOURCE_DEFINITION, f"boats.{GROUP}") == f"{scene.space}.boats.v1.0.0"


def test_a_definition_of_two_providers_is_made_by_nobody(scene: Scene) -> None:
    nets = Written(package="nets", version="1.0.0", required=(("boats", "v1"),))
    other = Written(package="yachts", version="1.0.0", owned=(definition("boats"),))
    scene.offer(nets, other, *boats("1.0.0"))
    scene.ask("nets")
    told = scene.says("nets.v1.0.0", "RequirementsProvided", "AmbiguousProvider")
    assert "boats" in told
    assert "yachts" in told
    assert scene.find(CUSTOM_RESOURCE_DEFINITION, f"boats.{GROUP}") is None


def test_a_definition_belongs_to_one_operator(scene: Scene) -> None:
    other = Written(package="yachts", version="1.0.0", owned=(definition("boats"),))
    scene.offer(other, *boats("1.0.0"))
    scene.ask("boats")
    scene.come_to("boats", "1.0.0")
    scene.ask("yachts")
    told = scene.says("yachts.v1.0.0", "Installed", "OwnerConflict")
    assert f"boats.{GROUP}" in told
    assert scene.owned(CUSTOM_RESOURCE_DEFINITION, f"boats.{GROUP}") == f"{scene.space}.boats.v1.0.0"


def test_a_definition_is_not_changed_where_that_would_lose_what_users_have(scene: Scene) -> None:
    first, second = boats("1.0.0", "1.1.0")
    smaller = definition("boats", color={"type": "string"})
    second = msgspec.structs.replace(second, owned=(smaller,))
    scene.offer(first)
    scene.ask("boats")
    scene.come_to("boats", "1.0.0")
    boat(scene, "ferry", size=3)
    scene.offer(first, second)
    told = scene.says("boats.v1.1.0", "Installed", "CRDUnsafe")
    assert "FieldRemoval" in told
    assert image(scene) == "example/boats:1.0.0"
    assert scene.version("boats.v1.1.0")["crdFindings"]
    scene.edit("boats", crdSafety=[{"rule": "FieldRemoval", "action": "Allow"}])
    scene.come_to("boats", "1.1.0", 120)
    shadows = [one["metadata"]["name"] for one in scene.client.list(CUSTOM_RESOURCE_DEFINITION)]
    assert not [one for one in shadows if "shadow" in one]


def test_existing_objects_are_asked_about_before_a_definition_is_tightened(scene: Scene) -> None:
    first, second = boats("1.0.0", "1.1.0")
    tight = definition("boats", size={"type": "integer", "maximum": 10})
    second = msgspec.structs.replace(second, owned=(tight,))
    scene.offer(first)
    scene.ask("boats")
    scene.come_to("boats", "1.0.0")
    boat(scene, "tanker", size=400)
    scene.offer(first, second)
    assert "tanker" in scene.says("boats.v1.1.0", "Installed", "CRDUnsafe")
    uid = scene.find(BOAT, "tanker", scene.space)["metadata"]["uid"]  # type: ignore[index]
    scene.client.patch(BOAT, "tanker", {"spec": {"size": 4}}, scene.space, uid=uid)
    scene.come_to("boats", "1.1.0", 120)


def test_uninstalling_takes_the_operator_and_leaves_what_users_have(scene: Scene) -> None:
    scene.offer(*boats("1.0.0", beside=(SETTINGS,)))
    scene.ask("boats")
    scene.come_to("boats", "1.0.0")
    boat(scene, "ferry")
    scene.remove(APP_TYPE, "boats", scene.space)
    scene.waits(lambda: scene.find(APP_TYPE, "boats") is None and not scene.versions())
    assert scene.find(DEPLOYMENT, "boats") is None
    assert scene.find(SERVICE_ACCOUNT, "boats-operator") is None
    assert scene.find(BOAT, "ferry", scene.space)
    settings = scene.find(CONFIG_MAP, "settings")
    assert settings, "what it owned is kept unless somebody says otherwise"
    assert references(settings) == []
    assert scene.owned(CONFIG_MAP, "settings") == ""
    assert scene.owned(CUSTOM_RESOURCE_DEFINITION, f"boats.{GROUP}") == ""
    graves = scene.client.get(OPERATOR_CATALOG, scene.name)["status"]["tombstones"]
    assert [(one["namespace"], one["package"]) for one in graves] == [(scene.space, "boats")]
    scene.ask("boats", uninstall="Remove")
    scene.come_to("boats", "1.0.0")
    assert scene.owned(CONFIG_MAP, "settings"), "what was ours is taken up again"
    scene.remove(APP_TYPE, "boats", scene.space)
    scene.waits(lambda: scene.find(APP_TYPE, "boats") is None)
    scene.waits(lambda: scene.find(CONFIG_MAP, "settings") is None)
    assert scene.find(BOAT, "ferry", scene.space)


def test_what_somebody_uninstalled_is_not_brought_back(scene: Scene) -> None:
    nets = Written(package="nets", version="1.0.0", required=(("boats", "v1"),))
    scene.offer(nets, *boats("1.0.0"))
    scene.ask("nets")
    scene.come_to("nets", "1.0.0", 120)
    scene.come_to("boats", "1.0.0", 120)
    scene.remove(APP_TYPE, "boats", scene.space)
    scene.waits(lambda: scene.find(APP_TYPE, "boats") is None)
    scene.offer(nets, *boats("1.0.0", "1.1.0"))
    scene.waits(lambda: scene.client.get(OPERATOR_CATALOG, scene.name)["status"]["bundles"] == 3)
    scene.edit("nets", uninstall="Remove")
    scene.waits(lambda: _was_seen(scene, "nets"))
    assert scene.find(APP_TYPE, "boats") is None


def _was_seen(scene: Scene, name: str) -> bool:
    found = scene.find(APP_TYPE, name) or {}
    return found.get("status", {}).get("observedGeneration") == found["metadata"]["generation"]


def test_a_namespace_goes_with_its_operators(scene: Scene) -> None:
    scene.offer(*boats("1.0.0"))
    scene.ask("boats")
    scene.come_to("boats", "1.0.0")
    from shiplift.facts.kinds import NAMESPACE

    scene.remove(NAMESPACE, scene.space)
    scene.waits(lambda: scene.find(NAMESPACE, scene.space, "") is None, 90)


def test_undo_leaves_what_runs_and_nothing_of_ours_in_the_way(scene: Scene) -> None:
    scene.offer(*boats("1.0.0"))
    scene.ask("boats")
    scene.come_to("boats", "1.0.0")
    scene.rig.stop()
    said: list[str] = []
    watches = [Watch(kind) for kind in (APP_TYPE, OPERATOR_VERSION, OPERATOR_CATALOG)]
    store = Store(scene.rig.cluster.credentials(), watches)
    store.start()
    try:
        assert store.wait_synced(30)
        done = undo_all(scene.client, store, said.append)
        assert done.stays == 1
        again = undo_all(scene.client, store, said.append)
        assert (again.changes, again.stays) == (0, 1)
    finally:
        store.stop()
    assert image(scene) == "example/boats:1.0.0"
    for kind, name in ((APP_TYPE, "boats"), (OPERATOR_VERSION, "boats.v1.0.0")):
        assert not (scene.find(kind, name) or {})["metadata"].get("finalizers")
    scene.rig.start()
    scene.says("boats", "Ready", "Paused")
    scene.edit("boats", paused=False)
    scene.says("boats", "Ready", "Installed")
    assert (scene.find(OPERATOR_VERSION, "boats.v1.0.0") or {})["metadata"]["finalizers"]


def test_a_version_that_somebody_deletes_is_made_again(scene: Scene) -> None:
    scene.offer(*boats("1.0.0"))
    scene.ask("boats")
    scene.come_to("boats", "1.0.0")
    before = scene.find(OPERATOR_VERSION, "boats.v1.0.0")
    assert before
    scene.remove(OPERATOR_VERSION, "boats.v1.0.0", scene.space)

    def anew() -> bool:
        found = scene.find(OPERATOR_VERSION, "boats.v1.0.0")
        return bool(found) and found["metadata"]["uid"] != before["metadata"]["uid"]

    scene.waits(anew)
    scene.come_to("boats", "1.0.0")
    scene.says("boats", "Ready", "Installed")
