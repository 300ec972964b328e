"""The operator's own pods: who goes last, who could lead instead, and when its only one stays."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from benchmarks.rows import make
from shiplift.api.marks import OPERATOR_ACCOUNT, OPERATOR_LABELS
from shiplift.drain.model import Hold, Why
from shiplift.drain.own import NOT_IN_A_POD, NOT_READY, STRANDED, TOGETHER, Own, could_take, handed_over, own
from shiplift.drain.plan import plan
from shiplift.drain.steps import HandOver
from shiplift.engine.step import Step
from shiplift.facts.meta import Labels, Owner
from shiplift.facts.nodes import Node, Taint
from shiplift.facts.pods import Pod, Toleration
from shiplift.facts.selectors import NodeTerm, Requirement
from shiplift.nodes.steps import Cordon, Evict, Force
from tests.drain.pods import NOW, a_budget, a_pod
from tests.drain.test_plan import a_scene, evicted, waits

OURS = Owner("ReplicaSet", "shiplift-5d8f", "ours", controller=True, api_version="apps/v1")
NEXT = Owner("ReplicaSet", "shiplift-77aa", "next", controller=True, api_version="apps/v1")
LABELS = {"app": "shiplift"}


def ours(name: str, on: str = "node-1", of: Owner = OURS, **more: Any) -> Pod:
    labels = LABELS | {"pod-template-hash": of.name.rpartition("-")[2]}
    return a_pod(name, of, node=on, labels=labels, **more)


def known(*pods: Pod, leads: str = "one", stays: tuple[str, ...] = ("node-2",), may: bool = True) -> Own:
    leading = next((pod for pod in pods if pod.name == leads), None)
    return own(leading, pods, lambda pod: pod.node in stays, may_hand_over=may)


@pytest.mark.parametrize(
    ("other", "heirs", "ready", "alone"),
    [
        (ours("two", "node-2"), ("two",), 1, False),
        (ours("two", "node-2", NEXT), ("two",), 1, False),
        (ours("two", "node-1"), (), 1, False),
        (ours("two", "node-2", ready=False), (), 0, False),
        (ours("two", "node-2", deleting=NOW), (), 0, False),
        (ours("two", "node-2", phase="Failed"), (), 0, True),
        (ours("two", "node-2", namespace="other"), (), 0, True),
        (a_pod("web-1", node="node-2"), (), 0, True),
        (a_pod("two", None, node="node-2"), (), 0, True),
    ],
    ids=[
        "ready",
        "of the next template",
        "same node",
        "not ready",
        "ends",
        "failed",
        "elsewhere",
        "web",
        "bare",
    ],
)
def test_who_could_lead_instead(other: Pod, heirs: tuple[str, ...], ready: int, alone: bool) -> None:
    found = known(ours("one"), other)
    assert (found.heirs, found.ready, found.alone) == (heirs, ready, alone)


def test_a_second_deployment_of_the_operator_shares_its_lease() -> None:
    green = a_pod(
        "green-1", Owner("ReplicaSet", "green-1", "g", controller=True), node="node-2", labels=OPERATOR_LABELS
    )
    green = structs.replace(green, spec=structs.replace(green.spec, service_account=OPERATOR_ACCOUNT))
    found = known(ours("one"), green)
    assert (found.heirs, found.alone) == (("green-1",), False)


def test_nobody_is_let_lead_again_right_after_that_was_tried() -> None:
    assert known(ours("one"), ours("two", "node-2"), may=False).heirs == ()


def test_an_operator_outside_of_the_cluster_has_no_pods_there() -> None:
    found = known(ours("one"), leads="nobody")
    assert (found, found.alone, found.rank(ours("one"))) == (NOT_IN_A_POD, False, 0)


def test_others_go_first_then_other_pods_of_the_operator_then_the_one_that_leads() -> None:
    leads, follows, web = ours("one"), ours("two"), a_pod()
    found = known(leads, follows, web)
    one = plan(a_scene([leads, follows, web], goes_last=found.rank))
    assert (evicted(one), waits(one)) == (["web-1"], {"one": Why.LAST, "two": Why.LAST})
    two = plan(a_scene([leads, follows], goes_last=found.rank))
    assert (evicted(two), waits(two)) == (["two"], {"one": Why.LAST})
    assert evicted(plan(a_scene([leads], goes_last=found.rank))) == ["one"]


def test_the_one_that_leads_stays_while_its_budget_waits_for_the_other() -> None:
    leads, follows = ours("one"), ours("two", "node-2", ready=False, waiting="ImagePullBackOff")
    budget = a_budget("shiplift", selects=LABELS, max_unavailable=1, expected_pods=2, current_healthy=1)
    found = plan(a_scene([leads], budget, goes_last=known(leads, follows).rank))
    assert waits(found) == {"one": Why.BUDGET_EXHAUSTED}


def test_it_stays_while_a_pod_is_there_that_must_not_go() -> None:
    leads = ours("one")
    found = plan(a_scene([leads, a_pod("bare", None)], goes_last=known(leads).rank))
    assert (evicted(found), waits(found)) == ([], {"one": Why.LAST})
    assert found.stuck


def test_it_stays_while_its_other_pod_is_not_ready_whatever_became_of_its_budget() -> None:
    found = known(ours("one"), ours("two", "node-2", ready=False))
    assert found.hold(ours("one")) == NOT_READY
    assert found.hold(ours("two", "node-2")) is None
    assert known(ours("one"), ours("two", "node-2")).hold(ours("one")) is None


def test_it_stays_while_its_other_pod_is_on_its_way_out() -> None:
    ends = known(ours("one"), ours("two", "node-2", deleting=NOW))
    assert ends.hold(ours("one")) == NOT_READY
    pods = [ours("one"), ours("two", "node-2", uid="two")]
    evicted = own(pods[0], pods, lambda _: True, may_hand_over=True, evicting=frozenset({"two"}))
    assert (evicted.heirs, evicted.hold(ours("one"))) == ((), NOT_READY)


@pytest.mark.parametrize("has_a_place", [False, True])
def test_its_only_pod_stays_where_no_other_node_could_take_it(has_a_place: bool) -> None:
    pod = ours("one")
    found = own(pod, [pod], lambda _: True, may_hand_over=True, has_a_place=lambda _: has_a_place)
    assert found.hold(pod) == (None if has_a_place else STRANDED)
    assert found.hold(a_pod()) is None


@pytest.mark.parametrize(
    ("stays", "held"),
    [((), (TOGETHER, TOGETHER)), (("node-2",), (None, TOGETHER)), (("node-1", "node-2"), (None, None))],
    ids=["both nodes are drained", "the other stays", "both stay"],
)
def test_of_two_pods_none_goes_where_no_other_node_could_take_it_and_none_stays(
    stays: tuple[str, ...], held: tuple[Hold | None, Hold | None]
) -> None:
    pods = [ours("one", uid="one"), ours("two", "node-2", uid="two")]
    found = own(pods[0], pods, lambda pod: pod.node in stays, may_hand_over=True, has_a_place=lambda _: False)
    assert (found.hold(pods[0]), found.hold(pods[1])) == held


def a_node(name: str = "node-2", **given: Any) -> Node:
    return make(Node, name, ready=given.pop("ready", True), **given)


PLANE = Taint("node-role.kubernetes.io/control-plane", "", "NoSchedule")
LINUX = {"kubernetes.io/os": "linux"}
IN_A = (NodeTerm((Requirement("zone", "In", ("a",)),)),)


@pytest.mark.parametrize(
    ("node", "pod", "could"),
    [
        (a_node(), {}, True),
        (a_node("node-1"), {}, False),
        (a_node(unschedulable=True), {}, False),
        (a_node(ready=False), {}, False),
        (a_node(taints=(PLANE,)), {}, False),
        (a_node(taints=(PLANE,)), {"tolerations": (Toleration(operator="Exists"),)}, True),
        (a_node(taints=(Taint("a", "", "PreferNoSchedule"),)), {}, True),
        (a_node(), {"node_selector": Labels(LINUX)}, False),
        (a_node(labels=Labels(LINUX)), {"node_selector": Labels(LINUX)}, True),
        (a_node(), {"node_terms": IN_A}, False),
        (a_node(labels=Labels(zone="a")), {"node_terms": IN_A}, True),
    ],
)
def test_which_other_nodes_could_take_it(node: Node, pod: dict[str, Any], could: bool) -> None:
    assert could_take(ours("one", **pod), node) is could


def ends(step: Step) -> str:
    return step.uid if isinstance(step, Evict) else ""


OTHERS = (Cordon("node-3", "n3", 1, "r"), Evict("shop", "web-1", "web-1", "node-1"))


@pytest.mark.parametrize("kind", [Evict, Force])
def test_another_leads_before_our_own_pod_ends(kind: type[Evict]) -> None:
    found = known(ours("one"), ours("two", "node-2"))
    steps = (*OTHERS, kind("shop", "one", "one", "node-1"))
    (*others, last) = handed_over(steps, found, ends)
    assert tuple(others) == OTHERS
    assert last == HandOver("shop/one", "one", "two")
    assert last.describe() == "let another pod of the operator lead, such as two, before pod shop/one goes"
    alone = known(ours("one"))
    assert handed_over(steps, alone, ends) == steps, "with one replica it goes by itself"


def test_while_another_is_being_let_lead_nobody_ends_our_own_pod() -> None:
    found = known(ours("one"), ours("two", "node-2"), may=False)._replace(pending=True)
    steps = (*OTHERS, Evict("shop", "one", "one", "node-1"))
    assert handed_over(steps, found, ends) == OTHERS


def test_our_own_pod_never_ends_together_with_another_of_the_operator() -> None:
    found = known(ours("one"), ours("two", "node-2"), stays=())
    steps = (*OTHERS, Evict("shop", "two", "two", "node-2"), Evict("shop", "one", "one", "node-1"))
    assert handed_over(steps, found, ends) == steps[:-1]
    assert handed_over(steps[:-1], found, ends) == steps[:-1]


PODS = st.lists(
    st.builds(
        lambda number, ready, on, mine: (
            ours(f"p{number}", on, ready=ready) if mine else a_pod(f"p{number}", node=on, ready=ready)
        ),
        st.integers(0, 5),
        st.booleans(),
        st.sampled_from(["node-1", "node-2"]),
        st.booleans(),
    ),
    max_size=8,
    unique_by=lambda pod: pod.name,
)


@given(PODS)
def test_while_another_pod_of_the_node_is_left_the_leader_is_not_evicted(pods: list[Pod]) -> None:
    leads = ours("leads")
    found = own(leads, [*pods, leads], lambda pod: pod.node != "node-1", may_hand_over=True)
    here = [pod for pod in pods if pod.node == "node-1"]
    assert ("leads" in evicted(plan(a_scene([*here, leads], goes_last=found.rank)))) == (not here)
    assert all(pod.ready and pod.node != "node-1" for pod in pods if pod.name in found.heirs)
