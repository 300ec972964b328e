"""A rollout of nodes that the operator itself runs on."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from shiplift.agent.protocol import Operation, Token
from shiplift.api.nodes import NodeStatus
from shiplift.drain.filters import CORDON
from shiplift.drain.own import ALONE
from shiplift.drain.steps import HandOver
from shiplift.engine.step import Outcomes
from shiplift.facts.meta import Labels
from shiplift.facts.pods import Pod
from shiplift.nodes.decide.decision import decide
from shiplift.nodes.model import Rolling, View
from shiplift.nodes.steps import Evict
from tests.drain.pods import a_budget
from tests.drain.test_own import ours
from tests.nodes.seen import AT, Seen, record


def seen_with(*pods: Any, nodes: tuple[str, ...] = ("a", "b")) -> Seen:
    """Node `a` is drained; the pod with uid `own` is ours."""
    seen = Seen()
    made = {name: seen.node(name, unschedulable=name == "a") for name in nodes}
    made["a"] = seen.put(structs.replace(made["a"], taints=(CORDON,)))
    seen.annotate(made["a"], {"node.shiplift.dev/cordoned-by": "r"})
    token = Token("uid-r", made["a"].uid, Operation.PACKAGES, 1)
    seen.roll(record(made["a"], token=str(token)))
    for pod in pods:
        seen.put(pod)
    return seen


NO_OUTCOMES = Outcomes()
"""The same each time: others would make a new view."""


def view_of(seen: Seen) -> View:
    return seen.observer.observe(NO_OUTCOMES)


def seen_records(seen: Seen) -> Any:
    (rollout,) = view_of(seen).rollouts
    return rollout.status.nodes


def decided(seen: Seen) -> Rolling:
    return decide(view_of(seen), AT)


OWN, OTHER = ours("shiplift-1", "a", uid="own"), ours("shiplift-2", "b", uid="other")


def test_another_pod_of_the_operator_that_stays_is_its_heir() -> None:
    found = view_of(seen_with(OWN, OTHER)).own
    assert (found.heirs, found.of_node("a"), found.of_node("b"), found.of_node("c")) == (
        ("shiplift-2",),
        2,
        1,
        0,
    )


def test_one_on_a_node_that_is_drained_too_is_not() -> None:
    seen = seen_with(OWN, OTHER)
    node = seen.put(structs.replace(seen.named_node("b"), unschedulable=True))
    assert view_of(seen).own.heirs == ("shiplift-2",), "cordoned by hand, it stays where it is"
    seen.annotate(node, {"node.shiplift.dev/cordoned-by": "another"})
    assert view_of(seen).own.heirs == ()


def test_it_goes_where_the_other_is_on_a_node_that_was_cordoned_by_hand() -> None:
    """Nobody else takes pods; that the other stays is enough for somebody to go on."""
    seen = seen_with(OWN, OTHER)
    seen.put(structs.replace(seen.named_node("b"), unschedulable=True))
    (step,) = (one for one in decided(seen).steps if isinstance(one, HandOver))
    assert step.to == "shiplift-2"


def test_a_pod_of_it_that_ends_for_ever_is_not_waited_for() -> None:
    """Its node is lost, say; the one that is left is the only one, and says so."""
    lost = structs.replace(OTHER, deleting=int(AT.timestamp()) - 3600)
    found = view_of(seen_with(OWN, lost)).own
    assert (found.alone, found.hold(OWN)) == (True, None)
    leaves = structs.replace(OTHER, deleting=int(AT.timestamp()) - 1)
    assert not view_of(seen_with(OWN, leaves)).own.alone


def test_without_a_rollout_nobody_asks_which_pods_are_ours() -> None:
    seen = seen_with(OWN, OTHER)
    seen.stop_rolling()
    assert view_of(seen).own.pod == ""


def ending(decision: Rolling) -> list[str]:
    return [one.uid for one in decision.steps if isinstance(one, Evict | HandOver)]


def test_it_hands_over_before_its_own_pod_goes_and_others_go_before_that() -> None:
    web = ours("web-1", "a", uid="web", namespace="shop-2")
    seen = seen_with(OWN, OTHER, web)
    assert ending(decided(seen)) == ["web"]
    seen.remove(web)
    (step,) = (one for one in decided(seen).steps if isinstance(one, HandOver))
    assert step.to == "shiplift-2"
    assert ending(decided(seen)) == ["own"]


def test_while_it_hands_over_its_own_pod_stays() -> None:
    seen = seen_with(OWN, OTHER)
    seen.handing_over = True
    assert ending(decided(seen)) == []


MARKS = {"app.kubernetes.io/name": "shiplift", "app.kubernetes.io/component": "operator"}


def marked(pod: Pod) -> Pod:
    spec = structs.replace(pod.spec, service_account="shiplift")
    return structs.replace(pod, spec=spec, labels=Labels({**pod.labels, **MARKS}))


def test_another_pod_that_gets_ready_or_is_lost_is_seen_at_once_on_whatever_node() -> None:
    """Pods on nodes that nobody changes do not matter, but these do: they say whether ours may go."""
    seen = seen_with(marked(OWN), marked(OTHER))
    assert view_of(seen).own.heirs == ("shiplift-2",)
    seen.put(structs.replace(marked(OTHER), ready=False))
    assert (view_of(seen).own.heirs, view_of(seen).own.ready) == ((), 0)
    seen.put(marked(OTHER))
    assert view_of(seen).own.heirs == ("shiplift-2",)
    seen.remove(marked(OTHER))
    assert view_of(seen).own.ready == 0


@pytest.mark.parametrize(("namespace", "ends"), [("shop", ["own"]), ("other", [])])
def test_they_keep_none_either_where_the_operator_runs_elsewhere(namespace: str, ends: list[str]) -> None:
    """Only of its own namespace: marks are easily written."""
    spec = structs.replace(OWN.spec, empty_dir=True, service_account="shiplift")
    seen = seen_with(structs.replace(OWN, spec=spec, labels=Labels({**OWN.labels, **MARKS})))
    seen.runs_in(namespace, own_pod="")
    seen.roll(*seen_records(seen), delete_empty_dir_data=False)
    assert ending(decided(seen)) == ends


def both_drained(leader: str) -> Seen:
    """The nodes of both its pods at once, beside one that takes them."""
    seen, other = Seen(), {"a": "b", "b": "a"}[leader]
    records: list[NodeStatus] = []
    for name in ("a", "b"):
        node = seen.put(structs.replace(seen.node(name, unschedulable=True), taints=(CORDON,)))
        seen.annotate(node, {"node.shiplift.dev/cordoned-by": "r"})
        records.append(record(node, token=str(Token("uid-r", node.uid, Operation.PACKAGES, 1))))
    seen.node("c")
    seen.roll(*records, max_unavailable=2)
    seen.put(ours("shiplift-1", leader, uid="own"))
    seen.put(ours("shiplift-2", other, uid="other"))
    return seen


@pytest.mark.parametrize("leader", ["a", "b"])
def test_where_both_nodes_are_drained_at_once_the_leader_goes_last(leader: str) -> None:
    """Whichever node is asked about first, and what the budget gives is given once."""
    seen = both_drained(leader)
    counts = {"expected_pods": 2, "desired_healthy": 1, "current_healthy": 2}
    seen.put(a_budget("shiplift", 1, selects={"app": "shiplift"}, max_unavailable=1, **counts))
    assert ending(decided(seen)) == ["other"]


def test_without_a_budget_the_leader_stays_until_another_is_ready() -> None:
    seen = both_drained("a")
    assert ending(decided(seen)) == ["other"]
    under_way = seen.observer.observe(Outcomes(running=frozenset({"evict other"})))
    assert ending(decide(under_way, AT)) == []
    seen.put(ours("shiplift-2", "b", uid="other", deleting=int(AT.timestamp())))
    assert ending(decided(seen)) == []
    seen.put(ours("shiplift-3", "c", uid="third", ready=False))
    assert ending(decided(seen)) == []


def test_its_temporary_files_keep_no_node() -> None:
    own = structs.replace(OWN, spec=structs.replace(OWN.spec, empty_dir=True))
    seen = seen_with(own)
    seen.roll(*seen_records(seen), delete_empty_dir_data=False)
    assert ending(decided(seen)) == ["own"]


def test_the_only_one_says_beforehand_what_that_means_and_goes() -> None:
    seen = seen_with(OWN)
    (told,) = decided(seen).told
    assert ALONE in told.status.nodes[0].message
    assert [type(one) for one in decided(seen).steps if isinstance(one, Evict | HandOver)] == [Evict]


def test_the_only_one_stays_where_no_other_node_could_take_it() -> None:
    seen = seen_with(OWN, nodes=("a",))
    (told,) = decided(seen).told
    assert "no other node could take it, and nobody would go on" in told.status.nodes[0].message
    assert ending(decided(seen)) == []


def test_nodes_of_the_operator_come_last_and_that_of_its_leader_after_the_other() -> None:
    seen = Seen()
    for name in ("a", "b", "c", "d"):
        seen.node(name)
    found = view_of(_rolling(seen)).own
    assert sorted(("a", "b", "c", "d"), key=lambda name: (found.of_node(name), name)) == ["c", "d", "b", "a"]


def _rolling(seen: Seen) -> Seen:
    seen.roll()
    seen.put(OWN)
    seen.put(OTHER)
    return seen
