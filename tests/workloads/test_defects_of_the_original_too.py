"""What the first implementation of this idea got wrong, nine to fifteen: it would fail all these tests."""

from __future__ import annotations

import contextlib
import urllib.request
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from itertools import cycle
from typing import Any

import pytest

from shiplift.api.marks import HOLD_LEDGER, UPGRADE_TAINT
from shiplift.engine.contested import Memory
from shiplift.engine.step import Answer
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.kube.account import Account
from shiplift.kube.client import Client
from shiplift.kube.errors import Conflict, KubeError, NotFound
from shiplift.kube.manifests import kind_of
from shiplift.operator import install
from shiplift.operator.process import Operator
from shiplift.workloads.act.actor import Actor
from shiplift.workloads.controller import KEY, PART
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.memory import InForce
from shiplift.workloads.steps import Force, Replace
from tests.audit import Audit
from tests.operated import NEW, OLD, SPACE
from tests.rights import unused
from tests.until import until
from tests.workloads import rig as rigs
from tests.workloads.halfway import autoscaler
from tests.workloads.rig import Json, Rig, Scene
from tests.workloads.test_forgotten_evictions import a_database, made, note_evictions

GHOST = "ghost"
OTHERS = "example.com/taint-"
EDITS = 20
both_modes = pytest.mark.parametrize("mode", ["Inject", "Template"])


def held_web(scene: Scene, replicas: int = 3) -> str:
    """A workload whose turn does not come before its order is corrected."""
    space = scene.namespace()
    scene.deployment(space, "web", replicas)
    scene.order(space, web=[GHOST])
    scene.wait_ready(space, web=replicas)
    return space


def let_go(scene: Scene, space: str) -> None:
    scene.reorder(space, web=[])


# --- nine: PodDisruptionBudgets ---


def test_09_two_budgets_on_a_pod_are_both_seen_and_named(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    scene.deployment(space, "web")
    scene.wait_ready(space, web=2)
    scene.budget(space, "first", "web", maxUnavailable=1)
    second = scene.budget(space, "second", "web", minAvailable=1)
    scene.begin()
    line = scene.wait(lambda: _with_reason(scene, "web", "TwoBudgets"))
    assert line["state"] == "Blocked"
    assert f"{space}/first and {space}/second" in line["message"]
    scene.client.delete(kinds.POD_DISRUPTION_BUDGET, "second", space, uid=second["metadata"]["uid"])
    scene.finish(old)


@pytest.mark.parametrize(
    ("edit", "left"),
    [
        ({"minAvailable": 2}, {"minAvailable": 2}),
        ({"unhealthyPodEvictionPolicy": "AlwaysAllow"}, {"minAvailable": 1}),
        ({"minAvailable": None, "maxUnavailable": 1}, {"maxUnavailable": 1}),
    ],
    ids=["of what we changed", "of something else", "to the other field"],
)
def test_09_a_users_edit_of_a_held_budget_survives(scene: Scene, edit: Json, left: Json) -> None:
    old = scene.nodes("old", OLD)
    space = held_web(scene)
    budget = scene.budget(space, "guard", "web", minAvailable=1)
    scene.begin(hold="Always")
    scene.wait(lambda: HOLD_LEDGER in _budget(scene, space)["metadata"].get("annotations", {}))
    assert _budget(scene, space)["spec"]["minAvailable"] == "100%"
    scene.change(
        kinds.POD_DISRUPTION_BUDGET, space, "guard", {"metadata": {"labels": {"team": "a"}}, "spec": edit}
    )
    let_go(scene, space)
    scene.finish(old)
    after = _budget(scene, space)
    limits = {key: value for key, value in after["spec"].items() if key in ("minAvailable", "maxUnavailable")}
    assert limits == left
    assert after["spec"].get("unhealthyPodEvictionPolicy") == edit.get("unhealthyPodEvictionPolicy")
    assert after["metadata"]["labels"] == {"team": "a"}
    assert after["metadata"]["uid"] == budget["metadata"]["uid"]


def _budget(scene: Scene, space: str) -> Json:
    return scene.client.get(kinds.POD_DISRUPTION_BUDGET, "guard", space)


def _with_reason(scene: Scene, name: str, reason: str) -> Json | None:
    line = scene.line(name)
    return line if line.get("reason") == reason else None


# --- ten: a budget does not stop rollouts ---


@both_modes
def test_10_a_users_rollout_of_a_held_workload_stays_off_the_target_nodes(scene: Scene, mode: str) -> None:
    old = scene.nodes("old", OLD)
    space = held_web(scene)
    scene.begin(mode=mode, hold="Always")
    scene.wait(lambda: scene.line("web").get("reason") == "MissingDependency")
    scene.wait(lambda: _is_guarded(scene, space, mode))
    before = {one["metadata"]["uid"] for one in scene.pods(space, "web")}
    restart = {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}}
    scene.change(kinds.DEPLOYMENT, space, "web", {"spec": {"template": restart}})
    scene.wait(lambda: scene.rolled_out(space, "web"))
    assert not before & {one["metadata"]["uid"] for one in scene.pods(space, "web")}
    assert scene.places(space, "web") == ["old", "old", "old"]
    let_go(scene, space)
    scene.finish(old)
    assert scene.arrived(space, "web")


def _is_guarded(scene: Scene, space: str, mode: str) -> bool:
    """Whether new pods are kept off: by the placement, or by the taint of the target nodes."""
    if mode == "Inject":
        return scene.in_force(space)
    new = [node for node in scene.client.list(kinds.NODE) if node["metadata"]["name"].startswith("new-")]
    return all(any(one["key"] == UPGRADE_TAINT for one in node["spec"].get("taints", [])) for node in new)


# --- eleven: lists that others write too ---


def test_11_taints_that_somebody_else_writes_meanwhile_are_not_lost(scene: Scene) -> None:
    pools = scene.nodes("old", OLD, 2), scene.nodes("new", NEW, 2)
    names = [name for pool in pools for name in pool.names()]
    scene.migrate(mode="Template", target=NEW)
    scene.rig.start()
    with _somebody(scene, lambda client: _add_taints(client, names)) as writing:
        for target in cycle((OLD, NEW)):
            if writing.done():
                break
            scene.change_migration(target=target)
            scene.wait(lambda target=target: _tainted(scene, names) == {target})
    writing.result()
    for name in names:
        taints = [one["key"] for one in scene.client.get(kinds.NODE, name)["spec"]["taints"]]
        assert [key for key in taints if key.startswith(OTHERS)] == [f"{OTHERS}{one}" for one in range(EDITS)]


def _add_taints(client: Client, names: list[str]) -> None:
    for number in range(EDITS):
        taint = {"key": f"{OTHERS}{number}", "effect": "PreferNoSchedule"}
        for name in names:
            edit(client, kinds.NODE, name, "", lambda node, taint=taint: _push(node["spec"], "taints", taint))


def _tainted(scene: Scene, names: list[str]) -> set[str]:
    """For which targets nodes are marked."""
    taints = [
        one["value"]
        for name in names
        for one in scene.client.get(kinds.NODE, name)["spec"].get("taints", [])
        if one["key"].startswith("shiplift.dev/")
    ]
    return set(taints) if len(taints) == len(names) else set()


def test_11_tolerations_that_somebody_else_writes_meanwhile_are_not_lost(scene: Scene) -> None:
    scene.nodes("old", OLD, 2)
    space = scene.namespace()
    scene.deployment(space, "web", 1, spec={"revisionHistoryLimit": 1})
    scene.wait_ready(space, web=1)
    scene.nodes("new", NEW, 2)
    scene.migrate(mode="Template", target=NEW)
    scene.rig.start()
    with _somebody(scene, lambda client: _add_tolerations(client, space)) as writing:
        for target in cycle((OLD, NEW)):
            if writing.done():
                break
            scene.change_migration(target=target)
            scene.wait(lambda target=target: _tolerated(scene, space)[0] == [target])
    writing.result()
    ours, others = _tolerated(scene, space)
    assert len(ours) == 1
    assert others == [f"{OTHERS}{one}" for one in range(EDITS)]


def _add_tolerations(client: Client, space: str) -> None:
    for number in range(EDITS):
        one = {"key": f"{OTHERS}{number}", "operator": "Exists"}
        edit(
            client,
            kinds.DEPLOYMENT,
            "web",
            space,
            lambda web, one=one: _push(web["spec"]["template"]["spec"], "tolerations", one),
        )


def _tolerated(scene: Scene, space: str) -> tuple[list[str], list[str]]:
    """The targets that the template tolerates, and the keys that others have added."""
    pod = scene.client.get(kinds.DEPLOYMENT, "web", space)["spec"]["template"]["spec"]
    found = pod.get("tolerations", [])
    ours = [one["value"] for one in found if one["key"] == UPGRADE_TAINT]
    return ours, [one["key"] for one in found if one["key"].startswith(OTHERS)]


def _push(spec: Json, field: str, entry: Json) -> None:
    spec[field] = [*(spec.get(field) or []), entry]


def edit(client: Client, kind: Kind, name: str, namespace: str, change: Callable[[Json], None]) -> None:
    """As somebody else does it: read, change, write, and once more when overtaken."""
    while True:
        live = client.get(kind, name, namespace)
        change(live)
        with contextlib.suppress(Conflict):
            client.update(kind, live)
            return


@contextlib.contextmanager
def _somebody(scene: Scene, work: Callable[[Client], None]) -> Generator[Future[None]]:
    """Works at the same time, with a client of their own."""
    with scene.rig.cluster.client() as client, ThreadPoolExecutor(1) as executor:
        yield executor.submit(work, client)


# --- twelve: rights ---


LOOKS = {
    f"get {kind}"
    for kind in (
        "deployments/scale",
        "horizontalpodautoscalers",
        "workloadmigrations",
        "workloadorders",
        "workloadplacements",
    )
}
"""Used only to see what became of a write whose answer was lost: `tests/kube/test_client_failures`."""


def test_12_the_printed_rights_are_enough_and_none_is_without_use(rig: Rig) -> None:
    with contextlib.suppress(NotFound):
        lease = rig.client.get(kinds.LEASE, "shiplift", SPACE)["metadata"]
        rig.client.delete(kinds.LEASE, "shiplift", SPACE, uid=lease["uid"])
    audit = Audit(rig.cluster, Account(SPACE, install.ACCOUNT))
    for play in (_by_inject, _by_template, _by_force):
        with rigs.scene(rig) as scene:
            play(scene)
    assert audit.forbidden() == []
    assert unused(PART, audit.asked(), LOOKS, templates=True) == set()


def _by_inject(scene: Scene) -> None:
    _a_shop_moves(scene, "Inject")


def _by_template(scene: Scene) -> None:
    _a_shop_moves(scene, "Template")


def _a_shop_moves(scene: Scene, mode: str) -> None:
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    scene.stateful_set(space, "db")
    scene.deployment(space, "single", 1)
    scene.deployment(space, "api")
    scene.deployment(space, "web")
    scene.budget(space, "single", "single", minAvailable=1)
    scene.budget(space, "guard", "web", minAvailable=1)
    scene.order(space, web=["api"], api=["sts/db", "single"])
    scene.wait_ready(space, db=2, single=1, api=2, web=2)
    scene.begin(mode=mode, hold="Always", onBlocked="Surge", cleanup="Immediate")
    scene.finish(old)
    scene.wait(lambda: scene.condition("Ready"))
    scene.wait(lambda: scene.rolled_out(space, "web"))
    assert scene.arrived(space, "db", "single", "api", "web")


def _by_force(scene: Scene) -> None:
    """A pod that is back and was evicted before, an autoscaler's floor, and a pod that no budget lets go."""
    old = scene.nodes("old", OLD)
    space = a_database(scene)
    note_evictions(scene, space, {"db-1": made(scene, space, "db-1") - timedelta(seconds=3)})
    scene.deployment(space, "web", 1)
    scene.budget(space, "always", "web", minAvailable=1)
    autoscaler(scene, space, 1, 3)
    scene.stateful_set(space, "stuck", 1)
    scene.budget(space, "never", "stuck", maxUnavailable=0)
    scene.wait_ready(space, web=1, stuck=1)
    scene.begin(onBlocked="Surge")
    scene.wait(lambda: scene.arrived(space, "db", "web"))
    scene.change_migration(onBlocked="Force")
    scene.finish(old)
    assert scene.arrived(space, "db", "web", "stuck")


def test_12_a_missing_right_is_named_by_a_condition(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    scene.deployment(space, "web")
    scene.wait_ready(space, web=2)
    scene.nodes("new", NEW)
    binding = _take_back(scene)
    try:
        scene.migrate(mode="Template")
        scene.rig.start()
        told = scene.wait(lambda: scene.condition("Stalled"))
        assert told["reason"] == "MissingRight"
        for right in ("patch deployments.apps", "patch statefulsets.apps", "applied again with --template"):
            assert right in told["message"]
        assert scene.residue() == []
    finally:
        scene.client.create(kind_of(binding), binding)
    scene.finish(old)
    assert scene.arrived(space, "web")


def _take_back(scene: Scene) -> Json:
    """The right to change templates is taken back; what gives it again."""
    printed = install.manifests(SPACE, [PART], templates=True)
    of_templates = [one for one in printed if one["metadata"]["name"] == install.TEMPLATES_ROLE]
    (binding,) = (one for one in of_templates if one["kind"].endswith("Binding"))
    scene.drop(kind_of(binding), install.TEMPLATES_ROLE)
    return binding


def test_12_a_pod_that_changed_after_it_was_looked_at_is_not_deleted(scene: Scene) -> None:
    """As one that was pending, is to be made again, and has just found a node."""
    scene.nodes("old", OLD)
    space = scene.namespace()
    scene.deployment(space, "web", 1, pod={"nodeSelector": {"gate": "open"}})
    (pod,) = scene.wait(lambda: scene.pods(space, "web"))
    scene.open_gate()
    scene.wait_ready(space, web=1)
    name, uid, seen = (pod["metadata"][key] for key in ("name", "uid", "resourceVersion"))
    actor = Actor(scene.client, InForce(), Memory())
    web = WorkloadId("Deployment", space, "web")
    for step in (Replace(web, name, uid, int(seen)), Force(web, name, uid, int(seen), "")):
        outcome = actor.act(step)
        assert (outcome.answer, outcome.message[:25]) == (Answer.REFUSED, "somebody else was faster:")
    live = scene.client.get(kinds.POD, name, space)["metadata"]
    assert (live["uid"], "deletionTimestamp" in live) == (uid, False)
    assert actor.act(Replace(web, name, uid, int(live["resourceVersion"]))).ok


# --- thirteen: what wakes it ---


def test_13_an_order_of_any_name_in_any_namespace_wakes_it(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    spaces = [scene.namespace("one"), scene.namespace("two")]
    orders = {space: _named_order(scene, space, f"of-{space}") for space in spaces}
    for space in spaces:
        scene.wait_ready(space, web=2)
    scene.begin()
    scene.wait(lambda: len(edges(scene)) == 2)
    for space in spaces:
        assert scene.places(space, "web") == ["old", "old"]
        scene.client.delete(kinds.WORKLOAD_ORDER, f"of-{space}", space, uid=orders[space])
        scene.wait(lambda space=space: scene.arrived(space, "web"), 25)
    scene.finish(old)


@pytest.mark.parametrize("kind", [watch.kind for watch in PART.watches], ids=str)
def test_13_whatever_it_reads_wakes_it(kind: Kind) -> None:
    assert list(PART.wakes(kind, None, None)) == [KEY]


def _named_order(scene: Scene, space: str, name: str) -> str:
    scene.deployment(space, "web")
    web, ghost = {"kind": "Deployment", "name": "web"}, {"kind": "Deployment", "name": GHOST}
    body = {"metadata": {"name": name}, "spec": {"workloads": [{**web, "dependsOn": [ghost]}]}}
    return scene.client.create(kinds.WORKLOAD_ORDER, body, space).object["metadata"]["uid"]


def edges(scene: Scene) -> list[Json]:
    return scene.status().get("missing", [])


# --- fourteen: failures are told ---


def test_14_what_the_server_refuses_is_told_in_status_events_and_metrics(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    scene.deployment(space, "web")
    scene.wait_ready(space, web=2)
    scene.nodes("new", NEW)
    with _no_evictions(scene, space):
        scene.migrate(mode="Inject")
        operator = scene.rig.start()
        line = scene.wait(lambda: _with_reason(scene, "web", "Refused"))
        assert "the shop is open" in line["message"]
        scene.wait(lambda: _warnings(scene, space, "web", "the shop is open"))
        assert metric(operator, 'shiplift_steps_total{answer="failed",layer="workloads"}') > 0
        scene.wait(lambda: metric(operator, 'shiplift_migration_workloads{state="Blocked"}') == 1)
        assert metric(operator, "shiplift_migration_moves") == 0
    scene.finish(old)


@contextlib.contextmanager
def _no_evictions(scene: Scene, space: str) -> Generator[None]:
    """A policy of the user's refuses all evictions in a namespace."""
    name = f"open-{scene.name}"
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["pods/eviction"],
    }
    selector = {"matchLabels": {"kubernetes.io/metadata.name": space}}
    policy = {
        "matchConstraints": {"namespaceSelector": selector, "resourceRules": [rule]},
        "validations": [{"expression": "false", "message": "the shop is open"}],
    }
    bodies: dict[Kind, Json] = {
        kinds.VALIDATING_ADMISSION_POLICY: policy,
        kinds.VALIDATING_ADMISSION_POLICY_BINDING: {"policyName": name, "validationActions": ["Deny"]},
    }
    made = {
        kind: scene.client.create(kind, {"metadata": {"name": name}, "spec": spec}).object
        for kind, spec in bodies.items()
    }
    until(lambda: _is_refused(scene, space))
    yield
    for kind, body in made.items():
        scene.client.delete(kind, name, uid=body["metadata"]["uid"])


def _is_refused(scene: Scene, space: str) -> bool:
    pod = scene.pods(space, "web")[0]["metadata"]
    try:
        scene.client.evict(pod["name"], space, uid=pod["uid"], dry_run=True)
    except KubeError:
        return True
    return False


def _warnings(scene: Scene, space: str, name: str, words: str) -> list[Json]:
    return [
        one
        for one in scene.client.list(kinds.EVENT, space)
        if one["regarding"].get("name") == name and one["type"] == "Warning" and words in one.get("note", "")
    ]


def metric(operator: Operator, name: str) -> float:
    with urllib.request.urlopen(f"http://{operator.server.address}/metrics") as answer:
        lines: list[str] = answer.read().decode().splitlines()
    return next(float(line.removeprefix(name)) for line in lines if line.startswith(f"{name} "))


# --- fifteen: the pending trap ---


@both_modes
def test_15_a_held_pod_that_dies_while_old_nodes_are_cordoned_is_rescued(scene: Scene, mode: str) -> None:
    old = scene.nodes("old", OLD)
    space = held_web(scene)
    scene.nodes("new", NEW)
    scene.migrate(mode=mode)
    operator = scene.rig.start()
    scene.wait(lambda: scene.line("web").get("reason") == "MissingDependency")
    scene.wait(lambda: _is_guarded(scene, space, mode))
    scene.cordon(*old.names())
    victim = scene.pods(space, "web")[0]["metadata"]
    scene.client.delete(kinds.POD, victim["name"], space, uid=victim["uid"])
    scene.wait(lambda: "new" in scene.places(space, "web"))
    scene.wait_ready(space, web=3)
    told: list[dict[str, Any]] = scene.wait(lambda: scene.status().get("exceptions"))
    assert {one["workload"] for one in told} == {f"Deployment {space}/web"}
    assert all(one["pod"].startswith(f"{space}/web-") for one in told)
    scene.wait(lambda: metric(operator, "shiplift_migration_order_exceptions") == len(told))
    let_go(scene, space)
    scene.finish(old)
    assert scene.arrived(space, "web")
