"""Bystanders half-way: whatever they take away, nothing is moved round and round, and somebody is told."""

from __future__ import annotations

import json
import threading
from base64 import b64encode
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from shiplift.api.marks import OFF_TARGET_LABEL
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.kube.errors import Forbidden, Invalid, KubeError
from shiplift.kube.fence import HOME
from shiplift.local.nodes import Pool
from shiplift.local.stages import READY_AFTER
from shiplift.workloads import admission
from shiplift.workloads.names import MIGRATION
from tests.operated import NEW, OLD, SPACE
from tests.until import until
from tests.workloads.halfway import Json, gated_and_held, uids, wait_line
from tests.workloads.rig import Scene
from tests.workloads.webhooks import MUTATING, Webhook

BINDING = kinds.MUTATING_ADMISSION_POLICY_BINDING
POLICY = kinds.MUTATING_ADMISSION_POLICY
WORKLOADS = ("one", "two", "three")


def half_way(scene: Scene, replicas: int = 3) -> str:
    """Three workloads with budgets that let one pod go at a time; the first pod is on its way."""
    space = scene.namespace()
    for name in WORKLOADS:
        scene.deployment(space, name, replicas, pod_annotations={READY_AFTER: "1"})
        scene.budget(space, name, name, maxUnavailable=1)
    scene.wait_ready(space, **dict.fromkeys(WORKLOADS, replicas))
    scene.begin()
    scene.wait(lambda: "new" in {pool for name in WORKLOADS for pool in scene.places(space, name)})
    return space


def moves(scene: Scene) -> int:
    return scene.status().get("moves", 0)


def install_again(scene: Scene, kind: Kind, name: str) -> None:
    """What an administrator applies again."""
    for manifest in admission.manifests():
        if (manifest["kind"], manifest["metadata"]["name"]) == (kind.kind, name):
            scene.client.create(kind, manifest)


@contextmanager
def restored(scene: Scene, kind: Kind, name: str) -> Generator[None]:
    """Whatever happens, the next test finds it there and in force."""
    try:
        yield
    finally:
        if not [one for one in scene.client.list(kind) if one["metadata"]["name"] == name]:
            install_again(scene, kind, name)


@pytest.mark.parametrize("kind", [BINDING, POLICY], ids=str)
def test_the_policy_of_pods_deleted_half_way_stops_evictions_until_it_is_back(
    scene: Scene, kind: Kind
) -> None:
    """109 evictions for 36 pods, one workload's three pods 36 times: seen before there was a brake."""
    old = scene.nodes("old", OLD)
    space = half_way(scene)
    with restored(scene, kind, admission.PODS_POLICY):
        scene.drop(kind, admission.PODS_POLICY)
        remedy = "what installed shiplift puts it back when it is applied again"
        scene.wait(lambda: [one for one in lines(scene) if remedy in one["message"]])
        scene.wait(lambda: [one for one in lines(scene) if one["state"] == "Blocked"])
        before = moves(scene)
        assert before <= 9, "no pod more often than once"
        stay = {uid for name in WORKLOADS for uid in uids(scene, space, name)}
        with pytest.raises(AssertionError):
            until(lambda: stay != {uid for name in WORKLOADS for uid in uids(scene, space, name)}, 3)
        install_again(scene, kind, admission.PODS_POLICY)
        scene.wait(lambda: scene.in_force(space), 90)
        scene.finish(old)
    assert scene.arrived(space, *WORKLOADS)


def lines(scene: Scene) -> list[Json]:
    return scene.status().get("workloads", [])


def test_a_webhook_that_strips_our_rule_is_found_out_and_named(scene: Scene) -> None:
    """The policy is there and proven, and yet pods come back: the count of evictions stops it."""
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    scene.deployment(space, "web", 2)
    scene.wait_ready(space, web=2)
    with stripping(scene, space, old):
        shunned = {"key": "example.com/shunned", "effect": "PreferNoSchedule"}
        scene.nodes("new", NEW, taints=(shunned,))  # the scheduler prefers old nodes
        scene.migrate()
        scene.rig.start()
        line = wait_line(scene, "web", reason="EvictedTooOften")
        assert line["state"] == "Blocked"
        assert line["evictions"] == 4
        assert "without our rule: does a webhook take its node affinity off" in line["message"]
        before = uids(scene, space, "web")
        scene.rig.stop()
        scene.rig.start()  # it is written down: another operator does not begin anew
        with pytest.raises(AssertionError):
            until(lambda: uids(scene, space, "web") != before, 4)
    scene.change_migration(paused=True)
    scene.wait(lambda: not scene.line("web").get("evictions"))
    scene.change_migration(paused=False)
    scene.wait(lambda: scene.arrived(space, "web"))


@contextmanager
def stripping(scene: Scene, space: str, old: Pool) -> Generator[None]:
    """A webhook of somebody else that puts a wish for old nodes in place of our affinity.

    It has the last word: webhooks come after policies, and this one is asked again after ours.
    """
    pool = {"key": "local.shiplift.dev/pool", "operator": "In", "values": [old.name]}
    wish = {"weight": 100, "preference": {"matchExpressions": [pool]}}
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}
    patch = json.dumps([{"op": "add", "path": "/spec/affinity", "value": affinity}]).encode()
    answer = {"patchType": "JSONPatch", "patch": b64encode(patch).decode()}
    webhook = Webhook(scene.rig, MUTATING, "affinity.example.com", lambda _: answer)
    webhook.watch(space, "pods", reinvocationPolicy="IfNeeded")
    until(lambda: strips(scene, space))
    try:
        yield
    finally:
        webhook.close()
        until(lambda: not strips(scene, space))


def strips(scene: Scene, space: str) -> bool:
    """Whether the API server asks that webhook."""
    body = {"metadata": {"name": "a-look"}, "spec": {"containers": [{"name": "main", "image": "none"}]}}
    try:
        return "affinity" in scene.client.create(kinds.POD, body, space, dry_run=True).object["spec"]
    except KubeError:
        return True  # it is still asked, and gone


def test_nothing_moves_while_an_old_node_cannot_be_marked(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = gated_and_held(scene, 3)
    node = old.names()[0]
    with marks_refused(scene, node):
        scene.change(kinds.NODE, "", node, {"metadata": {"labels": {OFF_TARGET_LABEL: None}}})
        scene.wait(lambda: "has lacked or lost label" in scene.status()["message"])
        scene.open_gate()
        line = wait_line(scene, "gate", reason="NodeNotMarked", state="Blocked")
        assert f"old node {node} has lacked or lost label {OFF_TARGET_LABEL}" in line["message"]
        assert scene.places(space, "web") == ["old"] * 3
    scene.finish(old)
    assert scene.arrived(space, "web")


def test_nothing_moves_before_every_old_node_is_marked(scene: Scene) -> None:
    """21 evictions for 11 pods in five seconds: seen when only the ten seconds counted."""
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    scene.deployment(space, "web", 3)
    scene.wait_ready(space, web=3)
    before = uids(scene, space, "web")
    scene.nodes("new", NEW)
    with marks_refused(scene, old.names()[0]):
        scene.migrate()
        scene.rig.start()
        wait_line(scene, "web", reason="NodeNotMarked")
        wait_line(scene, "web", reason="NodeNotMarked", state="Blocked")
        assert uids(scene, space, "web") == before
    scene.finish(old)
    assert scene.arrived(space, "web")


def test_a_fight_over_the_label_of_a_node_moves_nothing_and_is_told(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = gated_and_held(scene, 3)
    before = uids(scene, space, "web")
    over = threading.Event()
    gitops = threading.Thread(target=unmark_until, args=(scene, old.names()[0], over), daemon=True)
    gitops.start()
    try:
        scene.wait(lambda: any("takes our marks off" in note for note in scene.status().get("notes", [])))
        scene.open_gate()
        scene.wait(lambda: "has lacked or lost label" in scene.status()["message"])
        assert uids(scene, space, "web") == before
    finally:
        over.set()
        gitops.join(10)
    scene.finish(old)
    assert scene.arrived(space, "web")


def unmark_until(scene: Scene, node: str, over: threading.Event) -> None:
    while not over.wait(0.3):
        scene.change(kinds.NODE, "", node, {"metadata": {"labels": {OFF_TARGET_LABEL: None}}})


def test_evictions_are_told_when_the_operator_is_asked_to_stop(scene: Scene) -> None:
    """So that the next one counts on: a second is long for a migration that goes round."""
    scene.nodes("old", OLD)
    space = half_way(scene)
    made = evictions_made(scene, space)
    scene.rig.stop()
    assert moves(scene) >= made > 0
    scene.rig.start()
    scene.wait(lambda: moves(scene) == 9)


def evictions_made(scene: Scene, space: str) -> int:
    """As many as pods are new."""
    pods = [one for name in WORKLOADS for one in scene.pods(space, name)]
    return sum("affinity" in one["spec"] for one in pods)


def test_a_binding_deleted_while_all_that_is_left_is_held_is_told(scene: Scene) -> None:
    scene.nodes("old", OLD)
    space = gated_and_held(scene, 3)
    with restored(scene, BINDING, admission.PODS_POLICY):
        scene.drop(BINDING, admission.PODS_POLICY)
        scene.wait(lambda: not scene.in_force(space))
        died = scene.pods(space, "web")[0]["metadata"]
        scene.drop(kinds.POD, died["name"], space)
        scene.wait(lambda: "policy shiplift-pods or its binding is gone" in scene.status()["message"])
        (exception,) = scene.wait(lambda: scene.status().get("exceptions"))
        assert exception["reason"] == "PodNotSteered"
        install_again(scene, BINDING, admission.PODS_POLICY)
        scene.wait(lambda: "shiplift-pods" not in scene.status()["message"], 90)


@contextmanager
def marks_refused(scene: Scene, node: str) -> Generator[None]:
    """A policy of somebody else that lets nobody put our label on that node."""
    name = f"no-marks-{node}"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["nodes"]}
    expression = f"object.metadata.name != '{node}' || !('{OFF_TARGET_LABEL}' in object.metadata.labels)"
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": expression, "message": "no marks here"}],
    }
    bound = {"policyName": name, "validationActions": ["Deny"]}
    scene.client.create(kinds.VALIDATING_ADMISSION_POLICY, {"metadata": {"name": name}, "spec": spec})
    scene.client.create(
        kinds.VALIDATING_ADMISSION_POLICY_BINDING, {"metadata": {"name": name}, "spec": bound}
    )
    try:
        until(lambda: refuses(scene, node))
        yield
    finally:
        scene.drop(kinds.VALIDATING_ADMISSION_POLICY_BINDING, name)
        scene.drop(kinds.VALIDATING_ADMISSION_POLICY, name)


def refuses(scene: Scene, node: str) -> bool:
    uid = scene.client.get(kinds.NODE, node)["metadata"]["uid"]
    ours = {"metadata": {"labels": {OFF_TARGET_LABEL: "x"}}}
    try:
        scene.client.patch(kinds.NODE, node, ours, uid=uid, dry_run=True)
    except (Forbidden, Invalid) as error:
        return "no marks here" in str(error)
    return False


def test_a_fence_stripped_again_and_again_holds_nothing_up_for_long(scene: Scene) -> None:
    """GitOps puts the account back as it knows it, without annotations, every other second."""
    old = scene.nodes("old", OLD)
    over = threading.Event()
    gitops = threading.Thread(target=strip_until, args=(scene, over), daemon=True)
    space = half_way(scene)
    gitops.start()
    try:
        scene.wait(lambda: scene.arrived(space, *WORKLOADS), 120)
    finally:
        over.set()
        gitops.join(10)
    scene.finish(old)
    assert scene.client.get(kinds.WORKLOAD_MIGRATION, MIGRATION)["status"]["state"] == "NoUpgrade"


def strip_until(scene: Scene, over: threading.Event) -> None:
    for _ in range(4):
        if over.wait(2):
            return
        scene.change(
            HOME,
            SPACE,
            "shiplift-fence",
            {"metadata": {"annotations": {"shiplift.dev/epoch": None, "shiplift.dev/leader-pod": None}}},
        )
