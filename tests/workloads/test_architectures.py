"""Target nodes of another architecture, data that stays behind, volumes that cannot follow."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest

from benchmarks.rows import make
from shiplift.api.placements import Turn
from shiplift.api.workloads import (
    Growing,
    Mode,
    NodeSize,
    OnNoCapacity,
    OnUnknownArchitecture,
    WorkloadMigrationStatus,
    WorkloadState,
)
from shiplift.engine.step import Outcomes
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Container, Pod, PodSpec
from shiplift.facts.selectors import NodeTerm, Requirement
from shiplift.facts.storage import PersistentVolume, PersistentVolumeClaim
from shiplift.kube.store import Store
from shiplift.workloads.model import Line, Migrating, Reason, Scope, Target
from shiplift.workloads.names import SKIP
from shiplift.workloads.observe.census import Census
from shiplift.workloads.observe.observer import Observer
from shiplift.workloads.tell.report import status_of
from tests.workloads.views import (
    DEPLOYMENT,
    STATEFUL_SET,
    an_id,
    change,
    change_pod,
    decided,
    look,
    said,
    say,
    under_way,
)
from tests.workloads.world import NEW, OLD, SPACE, World

WEB, DB = an_id("web"), an_id("db", STATEFUL_SET)
IMAGE = "example.com/web:1"


def a_shop(old: str = "amd64", new: tuple[str, ...] = ("arm64", "arm64"), **spec: Any) -> World:
    """web on old nodes of one architecture, target nodes of others."""
    world = under_way((DEPLOYMENT, "web", 2), **spec)
    for node in world.all(Node):
        own = old if node.kubelet_version == OLD else new[int(node.name[-1]) - 1]
        labels = Labels({**node.labels, "kubernetes.io/arch": own})
        world.put(msgspec.structs.replace(node, architecture=own, labels=labels))
    return world


def line(world: World) -> Line:
    return decided(world).lines[WEB]


def bare(world: World, node: str, image: str = IMAGE, name: str = "proof", **given: Any) -> Pod:
    spec = PodSpec(containers=(Container("main", image),))
    more: dict[str, Any] = {"ready": True, "phase": "Running"} | given
    return world.put(make(Pod, name, uid=name, namespace=SPACE, node=node, spec=spec, **more))


# --- images ---


def test_an_image_that_was_never_seen_on_the_architecture_of_target_nodes_waits() -> None:
    world = a_shop()
    found = line(world)
    assert (found.state, found.reason) == (WorkloadState.BLOCKED, Reason.UNKNOWN_ARCHITECTURE)
    assert found.message == (
        "image example.com/web:1 was never seen to run on arm64, as target nodes are; run one pod with it"
        " there, select kubernetes.io/arch in its template, or set spec.onUnknownArchitecture of"
        " WorkloadMigration cluster to Move"
    )
    placement = said(world)
    assert placement is None or placement.turns.get(WEB.owner_key) is not Turn.RELEASED


@pytest.mark.parametrize(
    ("old", "new"),
    [("amd64", ("amd64", "amd64")), ("", ("", "")), ("amd64", ("", "")), ("arm64", ("arm64", "arm64"))],
)
def test_with_one_architecture_nothing_waits(old: str, new: tuple[str, ...]) -> None:
    assert line(a_shop(old, new)).reason is Reason.ITS_TURN


def test_where_the_scheduler_may_choose_either_it_waits_as_well() -> None:
    assert line(a_shop(new=("amd64", "arm64"))).reason is Reason.UNKNOWN_ARCHITECTURE


def test_with_the_policy_move_it_goes() -> None:
    world = a_shop(on_unknown_architecture=OnUnknownArchitecture.MOVE)
    assert line(world).reason is Reason.ITS_TURN


@pytest.mark.parametrize("how", ["selector", "affinity"])
def test_a_workload_that_asks_for_architectures_itself_is_believed(how: str) -> None:
    world = a_shop()
    row = world.row_of(WEB)
    assert row is not None
    asked = Requirement("kubernetes.io/arch", "In", ("amd64", "arm64"))
    said_so: dict[str, Any] = (
        {"node_selector": Labels({"kubernetes.io/arch": "arm64"})}
        if how == "selector"
        else {"node_terms": (NodeTerm((asked,)),)}
    )
    change(world, "web", template=msgspec.structs.replace(row.template, **said_so))
    assert line(world).reason is Reason.ITS_TURN


@pytest.mark.parametrize(
    ("given", "known"),
    [
        ({"node": "new-1"}, True),
        ({"node": "new-1", "ready": False}, False),
        ({"node": "old-1"}, False),
        ({"node": "new-1", "image": "example.com/web:2"}, False),
    ],
)
def test_one_pod_that_is_ready_there_is_proof(given: dict[str, Any], known: bool) -> None:
    world = a_shop()
    bare(world, **given)
    assert (line(world).reason is Reason.ITS_TURN) is known


def test_proof_is_needed_for_every_image_of_a_pod() -> None:
    world = a_shop()
    bare(world, "new-1")
    row = world.row_of(WEB)
    assert row is not None
    both = (*row.template.containers, Container("sidecar", "example.com/proxy:1"))
    change(world, "web", template=msgspec.structs.replace(row.template, containers=both))
    assert "image example.com/proxy:1 was never seen to run on arm64" in line(world).message


def test_proof_is_needed_for_every_architecture_that_only_target_nodes_have() -> None:
    world = a_shop(new=("riscv64", "arm64"))
    assert "was never seen to run on arm64," in line(world).message
    bare(world, "new-2")
    assert "was never seen to run on riscv64," in line(world).message
    bare(world, "new-1", name="proof-too")
    assert line(world).reason is Reason.ITS_TURN


def test_an_architecture_that_old_nodes_have_needs_no_proof() -> None:
    """Its own pods do not run there either."""
    world = a_shop(new=("amd64", "arm64"))
    bare(world, "new-2")
    for pod in world.pods(WEB):
        change_pod(world, pod, ready=False)
    assert line(world).reason is Reason.ITS_TURN


def select(world: World, name: str, pool: str, node: str) -> None:
    """That workload goes to that target node only."""
    row, found = world.row_of(an_id(name)), world.named(Node, node, "")
    assert row is not None
    assert found is not None
    world.put(msgspec.structs.replace(found, labels=Labels({**found.labels, "pool": pool})))
    change(world, name, template=msgspec.structs.replace(row.template, node_selector=Labels(pool=pool)))


def test_a_node_that_it_does_not_select_says_nothing() -> None:
    world = a_shop(new=("amd64", "arm64"))
    select(world, "web", "a", "new-1")
    assert line(world).reason is Reason.ITS_TURN


def test_each_workload_is_judged_by_the_nodes_that_it_may_go_to() -> None:
    world = a_shop(new=("amd64", "arm64"))
    world.workload(DEPLOYMENT, "api", 1)
    select(world, "web", "a", "new-1")
    lines = decided(world).lines
    assert lines[WEB].reason is Reason.ITS_TURN
    assert lines[an_id("api")].reason is Reason.UNKNOWN_ARCHITECTURE


def test_proof_that_comes_while_it_waits_is_seen_and_stays() -> None:
    """The sums are kept current: a node of another architecture comes, then a pod on it, which goes again."""
    world = a_shop(new=("amd64", "amd64"))
    observer = Observer(cast("Store", world), lambda: True)
    world.listeners.append(observer.heard)
    assert observer.observe(Outcomes()).ran == set()
    node = world.named(Node, "new-2", "")
    assert node is not None
    world.put(msgspec.structs.replace(node, architecture="arm64"))
    assert observer.observe(Outcomes()).ran == {("amd64", IMAGE)}
    proof = bare(world, "new-2")
    assert ("arm64", IMAGE) in observer.observe(Outcomes()).ran
    world.remove(proof)
    assert ("arm64", IMAGE) in observer.observe(Outcomes()).ran


def test_with_two_architectures_not_all_is_counted_at_each_look() -> None:
    world = a_shop(new=("amd64", "arm64"))
    census, scope = Census(), Scope(Target(NEW))
    census.refresh(world.snapshot(), scope, ())
    counted = census.tallies
    census.refresh(world.snapshot(), scope, ())
    assert census.tallies is counted


def test_when_no_old_node_is_left_nothing_waits() -> None:
    world = a_shop()
    for name in ("old-1", "old-2"):
        node = world.named(Node, name, "")
        assert node is not None
        world.remove(node)
    assert look(world).fleet.strange == frozenset()


# --- before the start ---


def starting(world: World) -> Migrating:
    world.publish(WorkloadMigrationStatus())
    decision = decided(world)
    assert decision.reason is Reason.STARTING
    return decision


def with_volumes(world: World, name: str, **given: bool) -> None:
    for kind in (DEPLOYMENT, STATEFUL_SET):
        row = world.row_of(an_id(name, kind))
        if row is not None:
            change(world, name, template=msgspec.structs.replace(row.template, **given))


def test_images_and_data_are_named_before_the_start() -> None:
    world = a_shop()
    world.workload(STATEFUL_SET, "db", 1)
    with_volumes(world, "db", empty_dir=True, host_path=True)
    with_volumes(world, "web", empty_dir=True)
    assert starting(world).forewarnings == (
        "images never seen to run on arm64, as target nodes are: Deployment shop/web, StatefulSet shop/db;"
        " they wait until they are",
        "data in emptyDir volumes is lost when their pods move: Deployment shop/web, StatefulSet shop/db",
        "data in hostPath volumes stays on the old nodes: StatefulSet shop/db",
    )


def test_with_the_policy_move_they_are_named_too() -> None:
    world = a_shop(on_unknown_architecture=OnUnknownArchitecture.MOVE)
    assert starting(world).forewarnings == (
        "images never seen to run on arm64, as target nodes are: Deployment shop/web; they move all the same",
    )


def test_who_takes_no_part_is_not_named_and_of_many_the_first_few() -> None:
    world = a_shop(new=("amd64", "amd64"))
    for number in range(7):
        world.workload(DEPLOYMENT, f"w{number}", 1)
        with_volumes(world, f"w{number}", host_path=True)
    change(world, "w0", annotations=Labels({SKIP: "true"}))
    named = ", ".join(f"Deployment shop/w{number}" for number in range(1, 6))
    assert starting(world).forewarnings == (
        f"data in hostPath volumes stays on the old nodes: {named} and 1 more",
    )


def test_of_as_many_as_are_named_there_are_no_more() -> None:
    world = a_shop(new=("amd64", "amd64"))
    for number in range(5):
        world.workload(DEPLOYMENT, f"w{number}", 1)
        with_volumes(world, f"w{number}", host_path=True)
    (said_so,) = starting(world).forewarnings
    assert said_so.endswith("Deployment shop/w4")


def test_each_architecture_is_named_with_the_images_that_would_come_to_it() -> None:
    world = a_shop(new=("riscv64", "arm64"))
    world.workload(DEPLOYMENT, "z", 1)
    select(world, "web", "a", "new-1")
    select(world, "z", "b", "new-2")
    never = (
        "images never seen to run on {}, as target nodes are: Deployment shop/{}; they wait until they are"
    )
    assert starting(world).forewarnings == (never.format("arm64", "z"), never.format("riscv64", "web"))


def test_they_are_told_for_as_long_as_it_runs() -> None:
    world = a_shop(new=("amd64", "amd64"))
    with_volumes(world, "web", host_path=True)
    decision = starting(world)
    world.publish(status_of(decision))
    later = decided(world)
    assert later.reason is not Reason.STARTING
    assert status_of(later).forewarnings == decision.forewarnings
    assert decision.forewarnings


# --- local volumes ---


def with_local_volume(world: World, node: str) -> None:
    on = (NodeTerm((Requirement("kubernetes.io/hostname", "In", (node,)),)),)
    world.put(make(PersistentVolume, "disk", node_terms=on, local=True))
    world.put(make(PersistentVolumeClaim, "data", namespace=SPACE, volume="disk"))
    for pod in world.pods(WEB):
        change_pod(world, pod, spec=msgspec.structs.replace(pod.spec, claims=("data",)))


def test_a_local_volume_gets_the_hint_that_helps() -> None:
    world = a_shop(new=("amd64", "amd64"))
    with_local_volume(world, "old-1")
    found = line(world)
    assert (found.state, found.reason) == (WorkloadState.BLOCKED, Reason.NO_SLOT)
    assert found.message == (
        "0 of 2 target nodes fit: 2 volume elsewhere; its data is in claim shop/data (local volume disk),"
        " which is on one machine and cannot follow: copy the data and make the claim again, have that node"
        " upgraded in place, or leave it out with shiplift.dev/skip-migration: true"
    )


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        (Mode.INJECT, "a new node of the growing pool would not take it either"),
        (Mode.TEMPLATE, "onNoCapacity Provision needs mode Inject"),
    ],
)
def test_a_local_volume_gets_that_hint_also_where_a_pool_grows(mode: Mode, why: str) -> None:
    growing = Growing(size=NodeSize(cpu="4", memory="16Gi", pods=2))
    provision = OnNoCapacity.PROVISION
    world = a_shop(new=("amd64", "amd64"), mode=mode, on_no_capacity=provision, growing=growing)
    with_local_volume(world, "old-1")
    say(world, {WEB.owner_key: Turn.RELEASED})
    found = line(world)
    assert why in found.message
    assert "; its data is in claim shop/data (local volume disk), which is on one machine" in found.message


def test_where_the_machine_is_a_target_that_is_full_more_room_helps() -> None:
    world = a_shop(new=("amd64", "amd64"))
    with_local_volume(world, "new-1")
    node = world.named(Node, "new-1", "")
    assert node is not None
    world.put(msgspec.structs.replace(node, allocatable=msgspec.structs.replace(node.allocatable, pods=0)))
    assert line(world).message.endswith("; add target nodes, or wait")
