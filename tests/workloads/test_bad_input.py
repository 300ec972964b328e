"""Wrong, impossible and hostile input: it is named, others go on, and nothing of the user's is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, cast

import msgspec
import pytest

from benchmarks.decide import make
from shiplift.api.marks import UPGRADE_TAINT
from shiplift.api.orders import OrderedWorkload, WorkloadOrder, WorkloadOrderSpec, WorkloadRef
from shiplift.api.placements import PLACEMENT
from shiplift.api.workloads import (
    MigrationState,
    Mode,
    WorkloadKind,
    WorkloadMigration,
    WorkloadMigrationStatus,
)
from shiplift.engine.step import Outcomes
from shiplift.facts import kinds
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.facts.selectors import Selector
from shiplift.facts.workloads import Deployment
from shiplift.kube.client import PatchType
from shiplift.kube.errors import Conflict, Invalid
from shiplift.kube.store import Snapshot, Store
from shiplift.kube.tables import Lookup, PodLookup, Table
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.model import Migrating
from shiplift.workloads.observe.observer import READS, Observer
from shiplift.workloads.tell.report import status_of
from tests.operated import NEW, OLD
from tests.workloads.halfway import budgets, gated, gated_and_held, wait_line, with_its_budget_held
from tests.workloads.rig import Scene

Json = dict[str, Any]
ETCD_TAKES = 1_500_000
"""Bytes of one object, a little less than its default."""
MET = 7_000
"""Of ten thousand: then both lists of the status are long."""


def web_and_db(scene: Scene, **web: Any) -> str:
    space = scene.namespace()
    scene.deployment(space, "db", 2)
    scene.deployment(space, "web", 2, **web)
    scene.wait_ready(space, db=2, web=2)
    return space


def order(scene: Scene, space: str, name: str, *workloads: Json) -> None:
    body = {"metadata": {"name": name}, "spec": {"workloads": list(workloads)}}
    scene.client.create(kinds.WORKLOAD_ORDER, body, space)


def needs(name: str, *others: str, kind: str = "Deployment", namespace: str = "") -> Json:
    more = {"namespace": namespace} if namespace else {}
    depends_on = [{"kind": kind, "name": other, **more} for other in others]
    return {"kind": "Deployment", "name": name, "dependsOn": depends_on}


def told(scene: Scene, *words: str) -> str:
    """The note in which all of these words are."""
    return next((one for one in scene.status().get("notes", []) if all(word in one for word in words)), "")


# --- declarations ---


def test_an_unknown_kind_in_depends_on_is_refused_with_its_field(scene: Scene) -> None:
    space = scene.namespace()
    with pytest.raises(Invalid) as refused:
        order(scene, space, "order", needs("web", "db", kind="CronJob"))
    field = "spec.workloads[0].dependsOn[0].kind"
    assert field in str(refused.value)
    assert '"CronJob": supported values: "Deployment", "StatefulSet"' in str(refused.value)


def test_a_workload_that_depends_on_itself_is_refused_with_its_field(scene: Scene) -> None:
    space = scene.namespace()
    with pytest.raises(Invalid) as refused:
        order(scene, space, "order", needs("web", "web"))
    assert "spec.workloads[0]" in str(refused.value)
    assert "a workload cannot depend on itself" in str(refused.value)


def test_itself_by_its_own_namespace_is_named_and_holds_nobody_up(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = web_and_db(scene)
    order(scene, space, "order", needs("web", "web", namespace=space))
    scene.begin()
    note = f"WorkloadOrder {space}/order: Deployment {space}/web cannot depend on itself"
    scene.wait(lambda: note in scene.status().get("notes", []))
    scene.finish(old)
    assert scene.arrived(space, "web", "db")


@contextmanager
def anything_goes(scene: Scene, kind: Kind) -> Generator[None]:
    """The schema of a kind of ours taken off, as by somebody who installed another version of it."""
    name = f"{kind.plural}.{kind.group}"
    crd = scene.client.get(kinds.CUSTOM_RESOURCE_DEFINITION, name)
    put_schema(scene, crd, {"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    try:
        yield
    finally:
        put_schema(scene, crd, crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"])


def put_schema(scene: Scene, crd: Json, schema: Json) -> None:
    patch = [{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": schema}]
    kind, about = kinds.CUSTOM_RESOURCE_DEFINITION, crd["metadata"]
    scene.client.patch(kind, about["name"], patch, type=PatchType.JSON, uid=about["uid"])


def test_an_order_that_cannot_be_read_keeps_its_namespace_alone_until_it_can(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    here, there = scene.namespace("here"), scene.namespace("there")
    for space in (here, there):
        scene.deployment(space, "web", 2)
        scene.wait_ready(space, web=2)
    odd = {"metadata": {"name": "odd"}, "spec": {"workloads": "all of them"}}
    with anything_goes(scene, kinds.WORKLOAD_ORDER):
        scene.wait(lambda: created(scene, odd, here))
        scene.begin()
        said = f"WorkloadOrder {here}/odd cannot be read"
        scene.wait(lambda: scene.arrived(there, "web"))
        assert told(scene, said)
        waits = [one for one in scene.status()["workloads"] if one["namespace"] == here]
        assert [(one["state"], one["reason"]) for one in waits] == [("Blocked", "Unreadable")]
        assert said in waits[0]["message"]
        assert scene.places(here, "web") == ["old", "old"]
        scene.drop(kinds.WORKLOAD_ORDER, "odd", here)
    scene.finish(old)
    assert scene.arrived(here, "web")


def created(scene: Scene, order: Json, space: str) -> bool:
    """Whether the server has heard of the new schema yet."""
    try:
        scene.client.create(kinds.WORKLOAD_ORDER, order, space)
    except Invalid:
        return False
    return True


def test_a_dependency_that_does_not_exist_blocks_only_its_dependents(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = web_and_db(scene)
    order(scene, space, "order", needs("web", "bd"))
    scene.begin()
    line = wait_line(scene, "web", state="Blocked", reason="MissingDependency")
    assert line["message"] == (
        f"waits for Deployment {space}/bd, which does not exist (said by WorkloadOrder {space}/order);"
        " correct it, or set spec.onMissing of WorkloadMigration cluster to Ignore"
    )
    edge = {"dependent": f"Deployment {space}/web", "dependency": f"Deployment {space}/bd"}
    assert scene.status()["missing"] == [{**edge, "source": "WorkloadOrder"}]
    scene.wait(lambda: scene.arrived(space, "db"))
    assert scene.places(space, "web") == ["old", "old"]
    scene.change_migration(onMissing="Ignore")
    scene.finish(old)
    assert scene.arrived(space, "web")


def test_a_dependency_that_appears_later_is_waited_for(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = web_and_db(scene)
    order(scene, space, "order", needs("web", "late"))
    scene.begin()
    wait_line(scene, "web", reason="MissingDependency")
    scene.deployment(space, "late", 1)
    scene.finish(old)
    assert scene.arrived(space, "web", "late")


def test_a_cycle_across_namespaces_is_told_edge_by_edge_and_others_go_on(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    here, there = scene.namespace("here"), scene.namespace("there")
    for space, name in ((here, "egg"), (there, "hen"), (here, "cook")):
        scene.deployment(space, name, 1)
        scene.wait_ready(space, **{name: 1})
    order(scene, here, "order", needs("egg", "hen", namespace=there))
    order(scene, there, "order", needs("hen", "egg", namespace=here))
    scene.begin()
    line = wait_line(scene, "egg", state="Blocked", reason="InCycle")
    assert f"is in a cycle with Deployment {there}/hen" in line["message"]
    assert "set spec.onCycle of WorkloadMigration cluster to Collapse" in line["message"]
    hen, egg = f"Deployment {there}/hen", f"Deployment {here}/egg"
    closing = [(one["dependent"], one["dependency"], one["source"]) for one in scene.status()["cycles"]]
    assert closing
    assert set(closing) <= {(hen, egg, "WorkloadOrder"), (egg, hen, "WorkloadOrder")}
    scene.wait(lambda: scene.arrived(here, "cook"))
    reason = scene.wait(lambda: scene.condition("Stalled"))["message"]
    assert hen in reason
    assert egg in reason
    assert scene.places(here, "egg") + scene.places(there, "hen") == ["old", "old"]
    scene.change_migration(onCycle="Collapse")
    scene.finish(old)
    assert scene.arrived(here, "egg", "cook")
    assert scene.arrived(there, "hen")


def test_a_malformed_annotation_is_quoted_and_holds_nobody_up(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = web_and_db(scene, annotations={"config.kubernetes.io/depends-on": "db, please\n"})
    scene.begin()
    note = scene.wait(lambda: told(scene, f"Deployment {space}/web", "config.kubernetes.io/depends-on"))
    assert "'db' is not <group>/namespaces/<namespace>/<kind>/<name>" in note
    assert "'please' is not" in note
    scene.finish(old)
    assert scene.arrived(space, "web", "db")


def test_a_workload_deleted_half_way_is_named_to_who_waits_for_it(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = gated(scene)
    scene.deployment(space, "api", 2)
    scene.reorder(space, api=["web"], web=["gate"])
    scene.wait_ready(space, api=2)
    scene.begin(hold="Always")
    scene.wait(lambda: "shiplift-hold-deployment-web" in budgets(scene, space))
    scene.wait_held(space, "api")
    scene.drop(kinds.DEPLOYMENT, "web", space)
    line = wait_line(scene, "api", state="Blocked", reason="MissingDependency")
    assert line["message"].startswith(f"waits for Deployment {space}/web, which does not exist")
    scene.wait(lambda: "shiplift-hold-deployment-web" not in budgets(scene, space))
    assert "web" not in {one["name"] for one in scene.status()["workloads"]}
    scene.reorder(space, api=["gate"])
    scene.open_gate()
    scene.finish(old)
    assert scene.arrived(space, "api", "gate")


# --- somebody changes what we hold ---


@contextmanager
def applied_again_and_again(apply: Callable[[], object], every: float = 0.3) -> Generator[None]:
    """As GitOps does it, whatever anybody else may have changed."""
    done, failed = threading.Event(), list[Exception]()

    def run() -> None:
        while not done.wait(every):
            try:
                apply()
            except Conflict:
                continue
            except Exception as error:
                failed.append(error)
                return

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
    assert not failed


def test_a_budget_that_is_applied_again_and_again_stays_the_users_and_is_named(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = with_its_budget_held(scene)

    def apply() -> None:
        scene.change(kinds.POD_DISRUPTION_BUDGET, space, "web", {"spec": {"maxUnavailable": 1}})

    with applied_again_and_again(apply):
        scene.wait(lambda: told(scene, f"PodDisruptionBudget {space}/web"), 20)
        scene.open_gate()
        scene.finish(old)
    assert scene.arrived(space, "web")
    assert budgets(scene, space)["web"]["spec"]["maxUnavailable"] == 1


def test_a_budget_that_the_user_changes_while_we_hold_it_keeps_the_change(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = with_its_budget_held(scene, 3)
    changed = {"spec": {"maxUnavailable": 2, "unhealthyPodEvictionPolicy": "AlwaysAllow"}}
    scene.change(kinds.POD_DISRUPTION_BUDGET, space, "web", changed)
    scene.wait(lambda: told(scene, f"PodDisruptionBudget {space}/web"), 20)
    scene.open_gate()
    scene.finish(old)
    spec = budgets(scene, space)["web"]["spec"]
    assert (spec["maxUnavailable"], spec["unhealthyPodEvictionPolicy"]) == (2, "AlwaysAllow")


def test_a_budget_whose_ledger_was_wiped_is_not_held_twice(scene: Scene) -> None:
    """Then nothing says any more what it was: it stays as the user applied it."""
    old = scene.nodes("old", OLD)
    space = with_its_budget_held(scene)

    def replace() -> None:
        live = scene.client.get(kinds.POD_DISRUPTION_BUDGET, "web", space)
        live["metadata"].pop("annotations", None)
        live["spec"]["maxUnavailable"] = 1
        scene.client.update(kinds.POD_DISRUPTION_BUDGET, live)

    with applied_again_and_again(replace):
        scene.wait(lambda: told(scene, f"PodDisruptionBudget {space}/web"), 20)
        scene.open_gate()
        scene.finish(old)
    assert budgets(scene, space)["web"]["spec"]["maxUnavailable"] == 1


def test_tolerations_that_are_applied_again_and_again_are_named_and_stay(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    mine = {"key": "team", "operator": "Exists"}
    space = scene.namespace()
    scene.deployment(space, "web", 2, pod={"tolerations": [mine]})
    scene.deployment(space, "db", 2)
    scene.wait_ready(space, web=2, db=2)
    scene.nodes("new", NEW)
    scene.migrate(mode="Template")

    def apply() -> None:
        patch = {"spec": {"template": {"spec": {"tolerations": [mine]}}}}
        scene.change(kinds.DEPLOYMENT, space, "web", patch)

    with applied_again_and_again(apply):
        scene.rig.start()
        scene.wait(lambda: told(scene, f"Deployment {space}/web", "toleration"), 20)
        scene.wait(lambda: scene.arrived(space, "db"))
    scene.finish(old)
    found = scene.client.get(kinds.DEPLOYMENT, "web", space)["spec"]["template"]["spec"]["tolerations"]
    assert mine in found
    assert [one for one in found if one["key"] != UPGRADE_TAINT] == [mine]


# --- versions ---


def test_an_impossible_target_waits_and_says_which_versions_there_are(scene: Scene) -> None:
    scene.nodes("old", OLD, 2)
    scene.nodes("new", NEW, 1)
    space = web_and_db(scene)
    before = {one["metadata"]["uid"] for one in scene.pods(space)}
    scene.migrate(target="v9.9.9")
    scene.rig.start()
    scene.wait(lambda: scene.status().get("message") == f"no node runs v9.9.9 yet (2 on {OLD}, 1 on {NEW})")
    scene.drop(kinds.POD, scene.pods(space, "web")[0]["metadata"]["name"], space)
    scene.wait_ready(space, web=2, db=2)
    assert len(before & {one["metadata"]["uid"] for one in scene.pods(space)}) == 3
    scene.change_migration(abort=True)
    scene.wait_clean()


def test_a_kubelet_version_that_cannot_be_read_is_named_and_a_target_settles_it(scene: Scene) -> None:
    old = scene.nodes("old", "built-by-hand")
    space = web_and_db(scene)
    scene.begin()
    said = scene.wait(lambda: scene.condition("Stalled"))
    assert said["reason"] == "NoVersionOrder"
    assert "built-by-hand" in said["message"]
    assert "spec.target" in said["message"]
    assert scene.residue() == []
    scene.change_migration(target=NEW)
    scene.finish(old)
    assert scene.arrived(space, "web", "db")


# --- our own objects, broken ---


def test_a_record_that_cannot_be_read_is_named_and_holds_nobody_up(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = gated_and_held(scene)
    broken = {"spec": {"ledger": {"Deployment.web": "{not json"}}}
    scene.change(kinds.WORKLOAD_PLACEMENT, space, PLACEMENT, broken)
    note = scene.wait(lambda: told(scene, "Deployment.web", "cannot be read"))
    assert space in note
    scene.open_gate()
    scene.wait(lambda: scene.arrived(space, "web", "gate"))
    scene.remove(old)
    scene.wait_state("NoUpgrade")
    assert scene.wait(lambda: told(scene, "Deployment.web", "cannot be read"))
    scene.change(kinds.WORKLOAD_PLACEMENT, space, PLACEMENT, {"spec": {"ledger": None}})
    scene.wait_clean()
    scene.wait(lambda: not list(scene.client.list(kinds.WORKLOAD_PLACEMENT)))


def placement(target: str, **turns: str) -> Json:
    spec = {"target": target, "turns": {f"Deployment.{name}": turn for name, turn in turns.items()}}
    return {"metadata": {"name": PLACEMENT}, "spec": spec}


def test_a_placement_made_by_hand_gives_way_to_the_real_order(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space, empty = gated(scene), scene.namespace("empty")
    scene.client.create(kinds.WORKLOAD_PLACEMENT, placement("v0.0.1", web="Released", nobody="Held"), space)
    scene.client.create(kinds.WORKLOAD_PLACEMENT, placement("v0.0.1", ghost="Held"), empty)
    scene.begin()

    def turns() -> Json:
        return scene.client.get(kinds.WORKLOAD_PLACEMENT, PLACEMENT, space)["spec"].get("turns", {})

    scene.wait(lambda: turns() == {"Deployment.gate": "Held", "Deployment.web": "Held"})
    assert scene.places(space, "web") == ["old", "old"]
    scene.open_gate()
    scene.finish(old)
    scene.wait(lambda: not list(scene.client.list(kinds.WORKLOAD_PLACEMENT)))


def test_a_placement_of_another_name_is_refused(scene: Scene) -> None:
    space = scene.namespace()
    body = placement(NEW, web="Held")
    body["metadata"]["name"] = "mine"
    with pytest.raises(Invalid, match="there is one in each namespace"):
        scene.client.create(kinds.WORKLOAD_PLACEMENT, body, space)


# --- ten thousand workloads ---


class Crowd:
    """The store's tables with ten thousand Deployments in them, and with names as long as they may be."""

    def __init__(self, depends_on: Callable[[int], int | None]) -> None:
        self.names = [f"{number:05}-{'long-' * 45}name" for number in range(10_000)]
        self.met = tuple(_uid(name) for name in self.names[:MET])
        self._tables = {kind: Table(_lookup(kind), lambda _old, _new: None) for kind in READS}
        for kind in READS:
            self._put(kind, [])
        self._put(kinds.NODE, [_node("old", OLD), _node("new", NEW)])
        self._put(kinds.DEPLOYMENT, [_deployment(name) for name in self.names])
        self._put(kinds.WORKLOAD_ORDER, list(self._orders(depends_on)))
        self._put(kinds.WORKLOAD_MIGRATION, [_custom("cluster", "", _begun(self.met))])

    def snapshot(self, *of: Kind) -> Snapshot:
        return Snapshot({kind: self._tables[kind].freeze() for kind in of})

    def decided(self) -> Migrating:
        observer = Observer(cast("Store", self), lambda: True)
        return decide(observer.observe(Outcomes()), datetime(2026, 11, 15, tzinfo=UTC))

    def _put(self, kind: Kind, rows: list[Any]) -> None:
        self._tables[kind].replace({row.uid: row for row in rows}, 1)

    def _orders(self, depends_on: Callable[[int], int | None]) -> Iterator[Custom]:
        found = [
            OrderedWorkload(kind=WorkloadKind.DEPLOYMENT, name=name, depends_on=(_ref(self._name(other)),))
            for number, name in enumerate(self.names)
            if (other := depends_on(number)) is not None
        ]
        for start in range(0, len(found), 500):
            some = WorkloadOrderSpec(workloads=tuple(found[start : start + 500]))
            yield _custom(f"order-{start}", "crowd", WorkloadOrder(spec=some))

    def _name(self, number: int) -> str:
        return self.names[number] if number < len(self.names) else "nobody"


def _lookup(kind: Kind) -> Lookup:
    return PodLookup() if kind == kinds.POD else Lookup()


def _node(name: str, version: str) -> Node:
    return make(Node, name, kubelet_version=version, ready=True)


def _deployment(name: str) -> Deployment:
    return make(
        Deployment,
        name,
        uid=_uid(name),
        namespace="crowd",
        selector=Selector(Labels(app=name)),
        template_labels=Labels(app=name),
        observed_generation=1,
        replicas=1,
    )


def _uid(name: str) -> str:
    return f"00000000-0000-0000-0000-{name[:5]:>012}"


def _custom(name: str, namespace: str, object_: object) -> Custom:
    return make(Custom, name, namespace=namespace, uid=f"{namespace}/{name}", object=object_)


def _ref(name: str) -> WorkloadRef:
    return WorkloadRef(kind=WorkloadKind.DEPLOYMENT, name=name)


def _begun(met: tuple[str, ...]) -> WorkloadMigration:
    status = WorkloadMigrationStatus(state=MigrationState.UPGRADE, target=NEW, mode=Mode.INJECT, met=met)
    return WorkloadMigration(status=status)


def nobody(_number: int) -> int | None:
    return None


def the_one_before(number: int) -> int | None:
    return number - 1 if number else None


def the_next_in_a_ring(number: int) -> int | None:
    return (number + 1) % 10_000


def one_that_is_not_there(_number: int) -> int | None:
    return 10_000


def the_last(number: int) -> int | None:
    return 9_999 if number < 9_999 else None


@pytest.mark.parametrize(
    ("depends_on", "reason"),
    [
        (nobody, "ItsTurn"),
        (the_one_before, "Preparing"),
        (the_next_in_a_ring, "InCycle"),
        (one_that_is_not_there, "MissingDependency"),
        (the_last, "Preparing"),
    ],
)
def test_ten_thousand_workloads_are_told_within_what_an_object_may_weigh(
    depends_on: Callable[[int], int | None], reason: str
) -> None:
    decision = Crowd(depends_on).decided()
    status = status_of(decision)
    assert status.progress.total == 10_000
    assert reason in {one.reason for one in status.workloads}
    assert len(msgspec.json.encode(status)) < ETCD_TAKES
