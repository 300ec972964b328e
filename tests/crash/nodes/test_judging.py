"""The judge of rollouts finds what is wrong in traces made up for it, and nothing in a good one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from shiplift.agent.protocol import (
    CHANGES_ALLOWED,
    OUTCOME,
    READY,
    Operation,
    Order,
    Outcome,
    Readiness,
    Result,
    Token,
    current_key,
    desired_key,
)
from shiplift.api.marks import CORDONED_BY
from shiplift.engine import claims
from shiplift.facts.kinds import NODE
from shiplift.local.nodes import Pool
from shiplift.nodes.names import CLAIMS, FINALIZER
from tests.crash.nodes import facts, invariants
from tests.crash.nodes.scenarios import ROLLOUT, HalfWay, Scenario
from tests.crash.nodes.suite import SUITE
from tests.crash.orders import SPACE
from tests.crash.recorder import Change, Key, State, Trace
from tests.crash.workloads.shape import NEW, OLD, Workload

Json = dict[str, Any]
WEB = Workload("web", replicas=2, budget={"maxUnavailable": 1})
SCENARIO = Scenario("made up", (Pool(name="n", count=2, version=OLD),), (WEB,), {"version": NEW})
PLANE = {"node-role.kubernetes.io/control-plane": ""}


def token(operation: Operation = Operation.PACKAGES, attempt: int = 1, name: str = "n-0") -> Token:
    return Token("rollout", name, operation, attempt)


def node(name: str = "n-0", version: str = OLD, *, closed: bool = False, **more: Any) -> Json:
    """`notes` and `labels` as they stand there; `ready` is the condition."""
    return {
        "metadata": {
            "name": name,
            "uid": name,
            "annotations": more.get("notes", {}),
            "labels": more.get("labels", {}),
        },
        "spec": {"unschedulable": True} if closed else {},
        "status": {
            "nodeInfo": {"kubeletVersion": version},
            "conditions": [{"type": "Ready", "status": more.get("ready", "True")}],
        },
    }


def marked(*, order: Order | None = None, said: Json | None = None, version: str = OLD, **more: Any) -> Json:
    """A node with our cordon, an order, and what its agent says."""
    notes: Json = {CORDONED_BY: ROLLOUT, **(said or {})}
    notes |= {CHANGES_ALLOWED: order.written()} if order else {}
    return node(version=version, closed=True, notes=notes, **more)


def says(of: Token, result: Result | None = None) -> Json:
    """A claim, or the answer."""
    ready = {READY: Readiness(result is not None, str(of)).written()}
    return ready | ({OUTCOME: Outcome(str(of), result).written()} if result else {})


def pod(name: str, on: str = "n-1", *, ready: bool = True) -> Json:
    about = {"name": name, "namespace": "shop", "ownerReferences": [{"kind": "StatefulSet", "name": "web"}]}
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return {"metadata": about, "spec": {"nodeName": on}, "status": {"conditions": conditions}}


def rollout(phase: str = "Running", nodes: list[Json] | None = None, **about: Any) -> Json:
    status = {"phase": phase, "nodes": nodes or []}
    return {"metadata": {"name": ROLLOUT, **about}, "spec": {}, "status": status}


def key(kind: str, thing: Json) -> Key:
    return Key(kind, thing["metadata"].get("namespace", ""), thing["metadata"]["name"])


def start(*more: tuple[str, Json]) -> State:
    budget = {"metadata": {"name": "web", "namespace": "shop"}, "spec": {"maxUnavailable": 1}}
    things = [("Node", node()), ("Node", node("n-1")), ("PodDisruptionBudget", budget)]
    things += [("NodeRollout", rollout()), ("Pod", pod("web-0")), ("Pod", pod("web-1"))]
    return {key(kind, thing): thing for kind, thing in (*things, *more)}


def story(*changes: tuple[str, Json], begins: State | None = None) -> Trace:
    made = (Change(number, key(kind, one), one) for number, (kind, one) in enumerate(changes, 1))
    return Trace(begins or start(), tuple(made))


def nodes(*changes: Json, begins: State | None = None) -> Trace:
    return story(*(("Node", one) for one in changes), begins=begins)


def broken(trace: Trace, scenario: Scenario = SCENARIO) -> list[str]:
    return [line.rpartition(", at version")[0] or line for line in invariants.broken(scenario, trace)]


ORDERED = Order(token())
BACK = Order(token(attempt=2), back=True)
DONE = says(token(), Result.DONE)
GOOD = (
    marked(),
    marked(order=ORDERED),
    marked(order=ORDERED, said=says(token())),
    marked(order=ORDERED, said=DONE, version=NEW),
    node(version=NEW, notes=DONE),
)
FAILED = says(token(), Result.FAILED)
PUT_BACK = (
    *GOOD[:3],
    marked(order=ORDERED, said=FAILED),
    marked(order=BACK, said=FAILED),
    marked(order=BACK, said=says(token(attempt=2))),
    marked(order=BACK, said=says(token(attempt=2), Result.DONE)),
    node(notes=says(token(attempt=2), Result.DONE)),
)


@pytest.mark.parametrize("changes", [GOOD, PUT_BACK, GOOD[:2]])
def test_a_good_run_is_found_good(changes: tuple[Json, ...]) -> None:
    assert broken(nodes(*changes)) == []


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            (node(notes={CHANGES_ALLOWED: ORDERED.written()}),),
            "an order was on it, and it was not cordoned by us",
        ),
        (
            (node(closed=True, notes={CHANGES_ALLOWED: ORDERED.written()}),),
            "an order was on it, and it was not cordoned by us",
        ),
        (
            (*GOOD[:3], marked(said=says(token()))),
            "its order was taken off while its agent was at work",
        ),
        ((*GOOD[:3], node(notes=says(token()))), "it was uncordoned while its agent was at work"),
        (
            (*GOOD[:4], marked(order=ORDERED, said=says(token()), version=NEW)),
            "its agent claimed an order once more that it had answered",
        ),
        ((*GOOD[:1], node(), marked()), "it was cordoned twice"),
        (
            (*PUT_BACK[:4], node(notes=FAILED)),
            "it was given back, and its versions from before were not put back",
        ),
        (
            (*GOOD[:3], marked(order=ORDERED, said=DONE), node(notes=DONE)),
            "it was given back as changed, and it was not",
        ),
    ],
)
def test_what_is_wrong_with_one_node_is_found(changes: tuple[Json, ...], line: str) -> None:
    assert f"node n-0: {line}" in broken(nodes(*changes))


def test_an_order_to_prepare_needs_no_cordon() -> None:
    assert broken(nodes(node(notes={CHANGES_ALLOWED: Order(token(Operation.PREPARE), NEW).written()}))) == []


def test_an_order_on_a_node_that_is_not_drained_is_found() -> None:
    full = start(("Pod", pod("web-0", "n-0")))
    assert "node n-0: an order was on it, and it was not drained" in broken(nodes(*GOOD, begins=full))


def test_budgets_are_computed_from_pods() -> None:
    one, both = ("Pod", pod("web-0", ready=False)), ("Pod", pod("web-1", ready=False))
    assert broken(story(one)) == []
    assert broken(story(one, both)) == ["shop/web had fewer healthy pods than its budget needs"]
    assert invariants.needed(3, {"minAvailable": 2}) == 2


def test_nodes_that_are_down_count_as_away() -> None:
    down = node("n-1", ready="False")
    assert broken(nodes(down, marked())) == ["2 workers were away, of at most 1"]
    assert broken(nodes(marked(), down)) == [], "it went down by itself"
    two = msgspec.structs.replace(SCENARIO, spec={"version": NEW, "maxUnavailable": 2})
    assert broken(nodes(down, marked()), two) == []


def test_two_control_plane_nodes_away_are_found() -> None:
    other = node("n-1", ready="Unknown", labels=PLANE)
    assert "two control-plane nodes were away" in broken(nodes(other, marked(labels=PLANE)))


def test_a_kubelet_ahead_of_an_api_server_is_found() -> None:
    old = node(labels=PLANE, notes={current_key("kube-apiserver"): OLD})
    new = node(labels=PLANE, notes={current_key("kube-apiserver"): NEW})
    ahead = node("n-1", NEW)
    assert broken(nodes(old, ahead)) == ["the kubelet of node n-1 was ahead of an API server"]
    assert broken(nodes(new, ahead)) == []


def book(*uids: str) -> Json:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    open_ = tuple(claims.Claim(f"r.{uid}", claims.Target(NODE, "n-0", uid, "1"), 1, now) for uid in uids)
    notes = {claims.ANNOTATION: claims.write(open_)} if open_ else {}
    return {"metadata": {"name": CLAIMS, "namespace": SPACE, "annotations": notes}}


def test_a_control_plane_that_is_not_claimed_is_found() -> None:
    apply = Order(token(Operation.UPGRADE_APPLY), NEW)
    ordered = ("Node", node(labels=PLANE, notes={CHANGES_ALLOWED: apply.written()}))
    line = "node n-0: an order was on it, and the control plane was not claimed"
    assert broken(story(ordered)) == [line]
    assert broken(story(("ConfigMap", book()), ordered)) == [line]
    assert broken(story(("ConfigMap", book("n-0")), ordered)) == []


@pytest.mark.parametrize(
    ("end", "by_hand", "found"),
    [
        ((node(closed=True),), (), ["node n-0 is left cordoned"]),
        ((node(closed=True),), ("n-0",), []),
        ((node(),), ("n-0",), ["node n-0, which somebody had cordoned, is uncordoned"]),
    ],
)
def test_every_node_ends_as_it_was_found(
    end: tuple[Json, ...], by_hand: tuple[str, ...], found: list[str]
) -> None:
    scenario = msgspec.structs.replace(SCENARIO, by_hand=by_hand)
    ended = ("NodeRollout", rollout("Complete"))
    assert broken(story(*(("Node", one) for one in end), ended), scenario) == found


def test_a_node_that_is_quarantined_is_named_and_stays_cordoned() -> None:
    named = rollout("Stopped", [{"name": "n-0", "state": "Quarantined"}])
    trace = story(("Node", marked()), ("NodeRollout", named))
    assert broken(trace) == []
    assert facts.residue(trace.end()) == []


@pytest.mark.parametrize(
    ("kind", "thing", "line"),
    [
        ("Node", marked(), f"Node n-0 keeps {CORDONED_BY}"),
        ("Node", node(notes={CHANGES_ALLOWED: ORDERED.written()}), f"Node n-0 keeps {CHANGES_ALLOWED}"),
        ("Node", node(notes={desired_key("kubelet"): "1"}), f"Node n-0 keeps {desired_key('kubelet')}"),
        ("Node", node(labels={"shiplift.dev/x": ""}), "Node n-0 keeps shiplift.dev/x"),
        ("ConfigMap", book("n-0"), "a claim on node n-0 is open"),
        (
            "NodeRollout",
            rollout("Aborted", finalizers=[FINALIZER]),
            f"NodeRollout {ROLLOUT} keeps {FINALIZER}",
        ),
    ],
)
def test_what_is_left_behind_is_found(kind: str, thing: Json, line: str) -> None:
    assert facts.residue(start((kind, thing))) == [line]


def test_what_an_agent_says_of_itself_is_no_residue() -> None:
    assert facts.residue(start(("Node", node(notes=DONE | {current_key("kubelet"): "1"})))) == []


def test_how_far_an_abort_came_is_open() -> None:
    one, other = (start(("Node", node(version=version))) for version in (OLD, NEW))
    assert SUITE.end(SCENARIO, one) != SUITE.end(SCENARIO, other)
    aborted = msgspec.structs.replace(SCENARIO, half_way=HalfWay.ABORT)
    assert SUITE.end(aborted, one) == SUITE.end(aborted, other)


def test_where_pods_are_in_the_end_is_open_and_a_named_node_is_not() -> None:
    there = start(("Pod", pod("web-0", "n-0")))
    assert SUITE.end(SCENARIO, start()) == SUITE.end(SCENARIO, there)
    named = start(("NodeRollout", rollout(nodes=[{"name": "n-0", "state": "Failed"}])))
    assert SUITE.end(SCENARIO, start()) != SUITE.end(SCENARIO, named)
