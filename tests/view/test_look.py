"""The read model says what the rows say, and its parts add up."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.facts import kinds
from shiplift.facts.meta import Labels, Owner
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod
from shiplift.facts.selectors import Selector
from shiplift.facts.workloads import DaemonSet, Deployment, PodDisruptionBudget, ReplicaSet, StatefulSet
from shiplift.view.cluster import (
    Budget,
    ClusterView,
    NodeState,
    OnVersion,
    Pods,
    PodState,
    WorkloadState,
    WorkloadView,
)
from shiplift.view.look import look, natural, node_state, pod_state
from tests.view.rows import Snapshot, make, node, pod

NOW = 1500


def seen(*rows: Any) -> ClusterView:
    return look(Snapshot(*rows), NOW, "v1.36.3")


@pytest.mark.parametrize(
    ("given", "state"),
    [
        ({"ready": True, "on": "n"}, PodState.READY),
        ({"ready": False, "on": "n"}, PodState.STARTING),
        ({"ready": False}, PodState.UNPLACED),
        ({"ready": False, "on": "n", "waiting": "CrashLoopBackOff"}, PodState.FAILING),
        ({"ready": False, "on": "n", "waiting": "ContainerCreating"}, PodState.STARTING),
        ({"ready": True, "on": "n", "deleting": 7}, PodState.LEAVING),
    ],
)
def test_a_pod_is_in_one_state(given: dict[str, Any], state: PodState) -> None:
    assert pod_state(pod("p", **given)) is state


@pytest.mark.parametrize(
    ("given", "state"),
    [
        ({}, NodeState.READY),
        ({"unschedulable": True}, NodeState.CORDONED),
        ({"ready": "False"}, NodeState.NOT_READY),
        ({"ready": "False", "unschedulable": True}, NodeState.NOT_READY),
        ({"ready": "Unknown"}, NodeState.UNREACHABLE),
        ({"ready": "False", "deleting": 7}, NodeState.LEAVING),
    ],
)
def test_a_node_is_in_one_state(given: dict[str, Any], state: NodeState) -> None:
    assert node_state(node("n", **given)) is state


def test_a_node_that_has_said_nothing_yet_is_not_ready() -> None:
    assert node_state(make(Node, "new")) is NodeState.NOT_READY


def test_pods_are_counted_by_every_state() -> None:
    assert Pods.__struct_fields__ == tuple(PodState)


def test_a_node_is_told_with_its_pool_zone_and_time() -> None:
    labels = Labels({"eks.amazonaws.com/nodegroup": "blue", "topology.kubernetes.io/zone": "a"})
    [one] = seen(node("n", labels=labels)).nodes
    assert (one.pool, one.zone, one.seconds) == ("blue", "a", NOW - 1000)


def test_a_clock_that_is_behind_gives_no_negative_time() -> None:
    [one] = look(Snapshot(node("n")), 10, "").nodes
    assert one.seconds == 0


def test_nodes_are_in_the_order_in_which_people_count() -> None:
    names = [one.name for one in seen(node("n-10"), node("n-9"), node("m-11")).nodes]
    assert names == ["m-11", "n-9", "n-10"]


def test_versions_are_told_highest_first() -> None:
    view = seen(node("a", "v1.9.1"), node("b", "v1.10.0"), node("c", "v1.10.0", ready="False"))
    assert [(one.version, one.nodes, one.ready) for one in view.versions] == [
        ("v1.10.0", 2, 1),
        ("v1.9.1", 1, 1),
    ]


def test_pods_of_a_deployment_are_found_through_its_replica_sets() -> None:
    deployment = make(Deployment, "web", namespace="shop", replicas=3)
    owner = (Owner("Deployment", "web", deployment.uid, True),)
    old, new = make(ReplicaSet, "web-1", owners=owner), make(ReplicaSet, "web-2", owners=owner)
    [web] = seen(
        node("a", "v1.35.4"),
        node("b", "v1.36.3"),
        deployment,
        old,
        new,
        pod("1", "a", old, ready=True),
        pod("2", "b", new, ready=True),
        pod("3", "b", new),
    ).workloads
    assert (web.ready, web.desired, web.state) == (2, 3, WorkloadState.STARTING)
    assert web.versions == (
        OnVersion("v1.36.3", Pods(ready=1, starting=1)),
        OnVersion("v1.35.4", Pods(ready=1)),
    )


def workload_of(*states: dict[str, Any], replicas: int) -> WorkloadView:
    owner = make(StatefulSet, "db", namespace="shop", replicas=replicas)
    [view] = seen(owner, *(pod(f"db-{i}", owner=owner, **given) for i, given in enumerate(states))).workloads
    return view


@pytest.mark.parametrize(
    ("states", "replicas", "state"),
    [
        ([{"ready": True, "on": "n"}], 1, WorkloadState.READY),
        ([{"on": "n"}], 1, WorkloadState.STARTING),
        ([], 1, WorkloadState.STARTING),
        ([{"ready": True, "on": "n"}, {}], 2, WorkloadState.WAITING),
        ([{"ready": True, "on": "n"}, {"on": "n", "waiting": "ErrImagePull"}], 1, WorkloadState.FAILING),
        ([], 0, WorkloadState.IDLE),
        ([{"ready": True, "on": "n", "deleting": 7}], 1, WorkloadState.STARTING),
    ],
)
def test_a_workload_is_in_one_state(
    states: list[dict[str, Any]], replicas: int, state: WorkloadState
) -> None:
    assert workload_of(*states, replicas=replicas).state is state


def test_a_daemon_set_wants_what_its_status_says() -> None:
    [one] = seen(make(DaemonSet, "logs", desired=5)).workloads
    assert (one.kind, one.desired) == ("DaemonSet", 5)


def budget(name: str, namespace: str, allows: int, **labels: str) -> PodDisruptionBudget:
    return make(
        PodDisruptionBudget,
        name,
        namespace=namespace,
        selector=Selector(Labels(labels)),
        disruptions_allowed=allows,
    )


def test_only_budgets_that_select_its_pods_are_told() -> None:
    [one] = seen(
        make(Deployment, "web", namespace="shop", template_labels=Labels(app="web", tier="front")),
        budget("ours", "shop", 1, app="web"),
        budget("all", "shop", 0),
        budget("other", "shop", 2, app="api"),
        budget("elsewhere", "bank", 3, app="web"),
        make(PodDisruptionBudget, "selects-nothing", namespace="shop"),
    ).workloads
    assert one.budgets == (Budget("ours", 1), Budget("all", 0))


def test_a_budget_is_told_where_it_selects_a_pod_by_labels_set_at_run_time() -> None:
    row = make(StatefulSet, "db", namespace="shop", uid="db", replicas=2, template_labels=Labels(app="db"))
    pods = [
        pod(f"db-{role}", owner=row, namespace="shop", labels=Labels(app="db", role=role))
        for role in ("primary", "replica")
    ]
    budgets = (budget("primary", "shop", 0, role="primary"), budget("spare", "shop", 0, role="spare"))
    [one] = seen(row, *pods, *budgets).workloads
    assert one.budgets == (Budget("primary", 0),)


def test_what_may_be_old_is_named() -> None:
    assert look(Snapshot(stale=(kinds.POD, kinds.JOB)), NOW, "").stale == ("Pod",)


def test_an_empty_cluster_has_nothing() -> None:
    view = seen()
    assert view.totals.pods == Pods()
    assert (view.nodes, view.pools, view.versions, view.workloads) == ((), (), (), ())


def test_a_cluster_is_settled_when_all_of_it_is_well() -> None:
    owner = make(StatefulSet, "db", replicas=1)
    well = [node("n"), owner, pod("db-0", "n", owner, ready=True)]
    assert seen(*well).settled
    assert not seen(*well, node("m", ready="False")).settled
    assert not seen(*well, make(Deployment, "web", replicas=1)).settled
    assert not seen(*well, pod("lonely")).settled
    assert not look(Snapshot(*well, stale=(kinds.POD,)), NOW, "").settled


@given(st.text(), st.text(), st.integers(min_value=0), st.integers(min_value=0))
def test_numbers_in_names_are_compared_as_numbers(before: str, after: str, one: int, other: int) -> None:
    smaller, larger = sorted((one, other))
    names = [f"{before}-{larger}-{after}", f"{before}-{smaller}-{after}"]
    assert sorted(names, key=natural)[0] == f"{before}-{smaller}-{after}"


NODE_NAMES = [f"n-{number}" for number in range(4)]
some_nodes = st.lists(
    st.builds(
        node,
        st.sampled_from(NODE_NAMES),
        st.sampled_from(["v1.35.4", "v1.36.3", "v1.36.3-eks-1"]),
        st.sampled_from(["True", "False", "Unknown"]),
        unschedulable=st.booleans(),
        labels=st.sampled_from([Labels(), Labels({"karpenter.sh/nodepool": "spot"})]),
    ),
    unique_by=lambda one: one.name,
)
owners = [make(StatefulSet, "db", replicas=2), make(DaemonSet, "logs", desired=3), make(StatefulSet, "gone")]
some_pods = st.lists(
    st.builds(
        pod,
        st.uuids().map(str),
        st.sampled_from(["", "nobody-knows", *NODE_NAMES]),
        st.sampled_from([None, *owners]),
        ready=st.booleans(),
        deleting=st.sampled_from([0, 7]),
        waiting=st.sampled_from(["", "CrashLoopBackOff"]),
        phase=st.sampled_from(["Pending", "Running", "Succeeded", "Failed"]),
    ),
    max_size=40,
)


def total(pods: list[Pods]) -> Pods:
    return sum(pods, Pods())


@given(some_nodes, some_pods)
def test_the_parts_add_up(nodes: list[Node], pods: list[Pod]) -> None:
    view = seen(*nodes, *owners[:2], *pods)
    alive = [one for one in pods if not one.finished]
    known = {one.name for one in nodes}

    assert view.totals.pods.total == len(alive)
    on_nodes = total([one.pods for one in view.nodes])
    assert on_nodes.total == sum(one.node in known for one in alive)
    assert total([one.pods for one in view.pools]) == on_nodes
    assert total([one.pods for one in view.versions]) == on_nodes
    for groups in (view.pools, view.versions):
        assert sum(one.nodes for one in groups) == view.totals.nodes == len(nodes)
        assert sum(one.ready for one in groups) == view.totals.ready_nodes


@given(some_nodes, some_pods)
def test_workloads_count_their_own_pods_and_no_others(nodes: list[Node], pods: list[Pod]) -> None:
    known = {one.name for one in nodes}
    for one in seen(*nodes, *owners[:2], *pods).workloads:
        mine = [each for each in pods if each.controller and each.controller.name == one.name]
        alive = [each for each in mine if not each.finished]
        assert one.pods.total == len(alive)
        assert sum(on.pods.total for on in one.versions) == sum(each.node in known for each in alive)
        assert one.ready == sum(each.ready and not each.deleting for each in alive)
