"""What a workload and a pod of it have to pass, and how each gate is found."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from shiplift.api.marks import HOLD_LEDGER, TARGET_LABEL, UPGRADE_TAINT, label_value
from shiplift.api.values import LabelSelector
from shiplift.api.workloads import (
    Hold,
    Mode,
    OnBlockedWorkload,
    OnNoCapacity,
    Turn,
    WorkloadKind,
    WorkloadState,
    WorkloadStatus,
)
from shiplift.facts.kinds import WORKLOAD_MIGRATION, WORKLOAD_ORDER
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod, PodSpec, Toleration
from shiplift.facts.selectors import NodeTerm, Requirement
from shiplift.facts.workloads import PodDisruptionBudget
from shiplift.workloads.decide import placements
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.decide.gates import POD_GATES, WORKLOAD_GATES
from shiplift.workloads.decide.waiting import line_of
from shiplift.workloads.face.passage import GateView, Passage, Passing, Said, passage
from shiplift.workloads.model import Reason, Unreadable
from shiplift.workloads.names import SKIP
from shiplift.workloads.record import Record, Surge
from tests.model import nature
from tests.workloads.views import (
    DEPLOYMENT,
    STATEFUL_SET,
    an_id,
    arrive,
    change,
    change_pod,
    look,
    say,
    under_way,
)
from tests.workloads.world import NEW, World

WEB, API, DB = an_id("web"), an_id("api"), an_id("db", STATEFUL_SET)
MOMENT = datetime(2030, 1, 1, tzinfo=UTC)
NOW = int(MOMENT.timestamp())
TOLERATES = Toleration(UPGRADE_TAINT, "Equal", label_value(NEW), "NoSchedule")


def pods_of(world: World) -> list[Pod]:
    return sorted(world.pods(WEB), key=lambda pod: (pod.node, pod.name))


def way(world: World, pod: Pod | None = None) -> Passage:
    """As the command sees it, which knows of no placement whether it is in force."""
    return passage(look(world, in_force=False), WEB, pod or pods_of(world)[0], NOW)


def closed(found: Passage) -> GateView:
    (one,) = [gate for gate in (*found.workload, *found.pod) if gate.passing is Passing.CLOSED]
    return one


def released(world: World, **records: Record) -> World:
    say(world, {WEB.owner_key: Turn.RELEASED}, {an_id(name).owner_key: one for name, one in records.items()})
    return world


def a_shop(replicas: int = 3, **spec: Any) -> World:
    return under_way((DEPLOYMENT, "web", replicas), **spec)


def a_template_that_keeps_off() -> World:
    world = a_shop()
    row = world.row_of(WEB)
    assert row is not None
    terms = (NodeTerm((Requirement(TARGET_LABEL, "NotIn", (NEW,)),)),)
    change(world, "web", template=msgspec.structs.replace(row.template, node_terms=terms))
    return world


def without_target_nodes(world: World) -> World:
    for node in world.all(Node):
        if node.kubelet_version == NEW:
            world.remove(node)
    return world


def without_room(world: World) -> World:
    for node in world.all(Node):
        if node.kubelet_version == NEW:
            world.put(msgspec.structs.replace(node, unschedulable=True))
    return world


def told(world: World, reason: Reason, message: str, **more: Any) -> World:
    """The operator has said that of the workload, ten minutes ago."""
    migration, row = world.migration, world.row_of(WEB)
    assert migration is not None
    assert row is not None
    line = WorkloadStatus(
        kind=WorkloadKind.DEPLOYMENT,
        namespace=WEB.namespace,
        name=WEB.name,
        state=WorkloadState.BLOCKED,
        uid=row.uid,
        reason=reason.value,
        message=message,
        since=MOMENT - timedelta(minutes=10),
        **more,
    )
    world.publish(msgspec.structs.replace(migration.status, workloads=(line,)))
    return world


# --- situations, by the gate that each finds closed ---


def an_odd_order() -> World:
    world = a_shop()
    world.spoil(WORKLOAD_ORDER, "odd", "not a list")
    return world


def a_dependency() -> World:
    world = under_way((DEPLOYMENT, "web", 2), (DEPLOYMENT, "api", 2))
    world.order("order", [(WEB, API)])
    say(world, {WEB.owner_key: Turn.HELD, API.owner_key: Turn.RELEASED})
    return world


def no_taints() -> World:
    world = a_shop(mode=Mode.TEMPLATE)
    for node in world.all(Node):
        world.put(msgspec.structs.replace(node, taints=()))
    return world


def a_full_placement() -> World:
    world = under_way((DEPLOYMENT, "web", 1), (DEPLOYMENT, "api", 1))
    say(world, {API.owner_key: Turn.RELEASED})
    return world


def a_young_node() -> World:
    world = a_shop()
    world.node("new-3", NEW, created=NOW - 1)
    return world


def another_architecture() -> World:
    world = a_shop()
    for node in world.all(Node):
        own = "arm64" if node.kubelet_version == NEW else "amd64"
        world.put(msgspec.structs.replace(node, architecture=own))
    return world


def between_old_nodes() -> World:
    world = a_shop(2, on_no_capacity=OnNoCapacity.CONSOLIDATE)
    assert world.migration is not None
    world.publish(msgspec.structs.replace(world.migration.status, emptying="old-1"))
    world.put(msgspec.structs.replace(pods_of(world)[1], deleting=True))
    return world


def all_there() -> World:
    world = released(a_shop(1, soak="1h"))
    world.put(msgspec.structs.replace(pods_of(world)[0], node="new-1", ready_since=NOW - 60))
    return world


def an_unmarked_node() -> World:
    world = released(a_shop())
    row = world.named(Node, "old-1", "")
    assert row is not None
    world.put(msgspec.structs.replace(row, labels=Labels({})))
    return world


def a_held_budget() -> World:
    world = released(a_shop(hold=Hold.ALWAYS))
    world.budget("web", {"app": "web"}, {"maxUnavailable": 1})
    row = world.named(PodDisruptionBudget, "web")
    assert row is not None
    world.put(msgspec.structs.replace(row, annotations=Labels({HOLD_LEDGER: "1"})))
    return world


def another_namespace() -> World:
    world = released(a_shop())
    world.workload(DEPLOYMENT, "api", 1, namespace="back")
    return world


def a_rollout() -> World:
    world = released(a_shop())
    change(world, "web", generation=9, observed_generation=8)
    return world


def a_budget(**limits: Any) -> World:
    world = released(a_shop())
    world.budget("web", {"app": "web"}, limits)
    nature.settle(world)
    return world


def an_older_template() -> World:
    world = a_shop(mode=Mode.TEMPLATE)
    change(world, "web", template=PodSpec(tolerations=(TOLERATES,)))
    say(world, records={WEB.owner_key: Record(toleration=NEW)})
    return world


def a_template() -> World:
    world = a_shop(mode=Mode.TEMPLATE)
    say(world, records={WEB.owner_key: Record(toleration=NEW)})
    return world


def exhausted() -> World:
    world = a_budget(maxUnavailable=1)
    row = world.named(PodDisruptionBudget, "web")
    assert row is not None
    world.put(msgspec.structs.replace(row, disruptions_allowed=0, current_healthy=2))
    return world


Situation = tuple[Callable[[], World], str, Reason, str]
SEEN: tuple[Situation, ...] = (
    (
        an_odd_order,
        "everything in its namespace can be read",
        Reason.UNREADABLE,
        "WorkloadOrder shop/odd cannot be read (not a list); repair it, or delete it",
    ),
    (
        a_dependency,
        "all that it depends on have moved",
        Reason.WAITS_FOR_DEPENDENCY,
        "waits for Deployment shop/api, 0 of 2 pods moved (said by WorkloadOrder shop/order)",
    ),
    (
        lambda: without_target_nodes(a_shop()),
        "nobody keeps it from its turn",
        Reason.WAITING_FOR_NODES,
        f"no node runs {NEW} yet",
    ),
    (
        lambda: a_shop(paused=True),
        "nobody keeps it from its turn",
        Reason.PAUSED,
        "paused; `shiplift resume` goes on",
    ),
    (no_taints, "nodes carry their taints", Reason.PREPARING, "nodes are being tainted first"),
    (
        a_full_placement,
        "its namespace's placement can name it",
        Reason.TOO_MANY,
        "its namespace has more than 1 workloads; move it yourself, or leave it out",
    ),
    (
        a_template_that_keeps_off,
        "its template lets its pods onto target nodes",
        Reason.TEMPLATE_KEEPS_OFF,
        "its template keeps its pods off the target nodes: take shiplift.dev/target-version",
    ),
    (
        lambda: without_target_nodes(a_shop(mode=Mode.TEMPLATE)),
        "nodes of the target version are there",
        Reason.WAITING_FOR_NODES,
        f"no node runs {NEW} yet",
    ),
    (
        a_young_node,
        "target nodes have come before the first move",
        Reason.WAITING_FOR_NODES,
        f"nodes of {NEW} are still coming; the first move waits until none has come for 10s",
    ),
    (
        another_architecture,
        "its images run on what target nodes are",
        Reason.UNKNOWN_ARCHITECTURE,
        "image example.com/web:1 was never seen to run on arm64, as target nodes are;",
    ),
    (
        between_old_nodes,
        "no pod of it makes room on an old node",
        Reason.CONSOLIDATING,
        "a pod of it goes from old-1 to another old node first",
    ),
    (
        lambda: without_room(a_shop()),
        "a target node has room for a pod of it",
        Reason.NO_SLOT,
        "; add target nodes, or wait",
    ),
    (a_shop, "its release is written down", Reason.ITS_TURN, "its release is being written down"),
    (
        lambda: released(a_shop(on_blocked=OnBlockedWorkload.SURGE), web=Record(surge=Surge(3, 4))),
        "no surge of it is under way",
        Reason.SURGING,
        "adds a replica",
    ),
    (
        an_unmarked_node,
        "nothing stops all moves",
        Reason.NODE_NOT_MARKED,
        "old node old-1 is being marked, so that pods do not come back to it",
    ),
    (
        lambda: told(released(a_shop()), Reason.EVICTING, "", evictions=6, most_replicas=3),
        "its pods were not evicted again and again",
        Reason.EVICTED_TOO_OFTEN,
        "stopped after 6 evictions for 3 replicas",
    ),
    (
        a_held_budget,
        "its PodDisruptionBudget is given back",
        Reason.HELD_BUDGET,
        "its PodDisruptionBudget is being given back",
    ),
    (a_template, "its template tolerates target nodes", Reason.MOVING, ""),
    (
        another_namespace,
        "every namespace has its placement",
        Reason.PREPARING,
        "the placement of back is being written first",
    ),
    (
        a_rollout,
        "no rollout of it is running",
        Reason.ROLLOUT_RUNNING,
        "a rollout is running: 0 of 3 pods are off the old nodes",
    ),
    (
        lambda: a_budget(maxUnavailable=0),
        "a pod of its workload can be evicted at some time",
        Reason.NEVER_EVICTABLE,
        "PodDisruptionBudget shop/web needs 3 of 3 pods healthy: it never lets one go;",
    ),
    (
        lambda: released(a_shop(paused=True)),
        "the migration is not paused",
        Reason.PAUSED,
        "paused; `shiplift resume` goes on",
    ),
    (
        exhausted,
        "its PodDisruptionBudget lets it go",
        Reason.BUDGET_EXHAUSTED,
        "3 pods to move; PodDisruptionBudget shop/web needs 2 healthy pods and has 2",
    ),
    (
        an_older_template,
        "its replacement does not come back to old nodes",
        Reason.ROLLOUT_RUNNING,
        "finish the rollout",
    ),
    (
        lambda: without_room(released(a_shop())),
        "a target node has room for it",
        Reason.NO_SLOT,
        "; add target nodes, or wait",
    ),
)


@pytest.fixture
def one_a_placement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placements, "MOST_NAMED", 1)


@pytest.mark.parametrize(("situation", "gate", "reason", "message"), SEEN)
def test_the_gate_that_keeps_a_pod_is_closed_and_says_why(
    situation: Callable[[], World], gate: str, reason: Reason, message: str, request: pytest.FixtureRequest
) -> None:
    if situation is a_full_placement:
        request.getfixturevalue("one_a_placement")
    found = closed(way(situation()))
    assert (found.open, found.reason, found.said) == (gate, reason.value, None)
    assert message in found.message


@pytest.mark.parametrize(("situation", "gate", "reason", "message"), SEEN)
def test_what_closes_a_gate_is_what_the_operator_decides(
    situation: Callable[[], World], gate: str, reason: Reason, message: str, request: pytest.FixtureRequest
) -> None:
    if situation is a_full_placement:
        request.getfixturevalue("one_a_placement")
    world = situation()
    decision = decide(look(world), MOMENT)
    line = line_of(decision, decision.view.tallies[WEB])
    found = closed(way(world))
    assert (found.reason, found.message) == (line.reason.value, line.message)


def test_before_the_closed_gate_all_are_open_and_after_it_none_is_reached() -> None:
    found = way(without_room(a_shop()))
    assert [gate.passing for gate in found.workload] == [
        *[Passing.OPEN] * 9,
        Passing.CLOSED,
        *[Passing.NOT_REACHED] * 9,
    ]
    assert {gate.passing for gate in found.pod} == {Passing.NOT_REACHED}
    assert [gate.open for gate in found.pod] == [gate.open for gate in POD_GATES]


@pytest.mark.parametrize(("mode", "other"), [(Mode.INJECT, Mode.TEMPLATE), (Mode.TEMPLATE, Mode.INJECT)])
def test_gates_are_told_in_their_order_but_those_of_the_other_mode(mode: Mode, other: Mode) -> None:
    found = way(a_shop(mode=mode))
    assert [gate.open for gate in found.workload] == [
        gate.open for gate in WORKLOAD_GATES if gate.mode is not other
    ]


def test_a_release_is_passed_for_good_and_what_only_the_operator_knows_is_marked() -> None:
    found = way(released(a_shop()))
    passing = {gate.open: gate.passing for gate in found.workload}
    assert passing["all that it depends on have moved"] is Passing.PASSED
    unknown = [open_ for open_, one in passing.items() if one is Passing.UNKNOWN]
    assert unknown == [gate.open for gate in WORKLOAD_GATES if gate.known_to_operator]
    assert {gate.passing for gate in found.pod} == {Passing.OPEN}


BY_THE_OPERATOR = (
    (Reason.POD_NOT_STEERED, "nothing stops all moves"),
    (Reason.NODE_NOT_MARKED, "nothing stops all moves"),
    (Reason.EVICTED_TOO_OFTEN, "its pods were not evicted again and again"),
    (Reason.NOT_IN_FORCE, "API servers go by its placement"),
)


@pytest.mark.parametrize(("reason", "gate"), BY_THE_OPERATOR)
def test_what_only_the_operator_knows_is_told_as_its_word(reason: Reason, gate: str) -> None:
    found = way(told(released(a_shop()), reason, "api-1 does not answer"))
    one = closed(found)
    assert (one.open, one.said) == (gate, Said(reason.value, "api-1 does not answer", 600))
    assert {gate.passing for gate in found.pod} == {Passing.NOT_REACHED}


def test_the_word_about_an_earlier_workload_of_that_name_counts_for_nothing() -> None:
    world = told(released(a_shop()), Reason.NOT_IN_FORCE, "api-1 does not answer")
    change(world, "web", uid="another")
    row = world.row_of(WEB)
    assert row is not None
    found = passage(look(world, in_force=False), WEB, None, NOW)
    assert not any(gate.said for gate in found.workload)


def test_where_no_gate_is_closed_the_operator_has_the_word() -> None:
    found = way(told(released(a_shop()), Reason.REFUSED, "a webhook said no"))
    assert found.said == Said("Refused", "a webhook said no", 600)
    assert way(told(a_shop(), Reason.REFUSED, "a webhook said no")).said is None


def test_pods_that_go_first_use_up_what_the_budget_allows() -> None:
    world = a_budget(maxUnavailable=1)
    first, second, _ = pods_of(world)
    assert all(gate.passing is Passing.OPEN for gate in way(world, first).pod)
    found = way(world, second)
    assert found.ahead == 1
    assert closed(found).open == "its PodDisruptionBudget lets it go"


def test_evictions_go_a_few_at_a_time() -> None:
    world = a_budget(maxUnavailable="100%")
    change(world, "web", replicas=6)
    nature.settle(world)
    for number, pod in enumerate(world.pods(WEB)):
        world.put(msgspec.structs.replace(pod, node=f"old-{1 + number % 2}"))
    nature.settle(world)
    found = way(world, pods_of(world)[-1])
    assert found.ahead == 4
    assert closed(found).open == "evictions of this decision have room for it"


def test_who_comes_before_has_the_room() -> None:
    world = under_way((DEPLOYMENT, "web", 1), (DEPLOYMENT, "api", 2))
    say(world, {WEB.owner_key: Turn.RELEASED, API.owner_key: Turn.RELEASED})
    for node in world.all(Node):
        if node.kubelet_version == NEW:
            one = msgspec.structs.replace(node.allocatable, pods=1)
            world.put(msgspec.structs.replace(node, allocatable=one))
    world.budget("api", {"app": "api"}, {"maxUnavailable": 2})
    nature.settle(world)
    assert closed(way(world)).open == "a target node has room for it"


def test_a_pod_that_is_forced_waits_for_its_siblings() -> None:
    world = released(a_shop(on_blocked=OnBlockedWorkload.FORCE))
    world.budget("web", {"app": "web"}, {"maxUnavailable": 0})
    nature.settle(world)
    first, second, _ = pods_of(world)
    assert all(gate.passing is Passing.OPEN for gate in way(world, first).pod)
    world.put(msgspec.structs.replace(second, ready=False))
    found = closed(way(world, pods_of(world)[0]))
    assert (found.open, found.reason) == ("its PodDisruptionBudget lets it go", Reason.NOT_READY.value)


def test_a_workload_is_told_with_its_next_pod_to_go() -> None:
    world = released(a_shop())
    found = passage(look(world, in_force=False), WEB, None, NOW)
    assert found.name == pods_of(world)[0].name
    assert found.ahead == 0


def test_a_workload_without_pods_to_move_says_what_is_on_its_way() -> None:
    world = released(a_shop(1))
    world.put(msgspec.structs.replace(pods_of(world)[0], node="new-1", ready=False))
    found = passage(look(world, in_force=False), WEB, None, NOW)
    assert found.pod == ()
    assert found.instead.endswith("on new-1 is not Ready")


def test_a_workload_that_soaks_has_no_pod_to_move() -> None:
    found = passage(look(all_there(), in_force=False), WEB, None, NOW)
    assert closed(found).open == "pods of it are left to move, or to come"
    assert (found.pod, found.instead) == ((), "")


def test_every_gate_is_found_closed_in_some_situation() -> None:
    elsewhere = {
        "pods of it are left to move, or to come",
        "evictions of this decision have room for it",
        *(gate for _, gate in BY_THE_OPERATOR),
    }
    reached = {gate for _, gate, _, _ in SEEN} | elsewhere
    assert {gate.open for gate in (*WORKLOAD_GATES, *POD_GATES)} == reached


# --- nothing to pass ---


def without_migration() -> World:
    world = a_shop()
    world.finalize()
    world.end_migration()
    return world


def arrived() -> World:
    world = a_shop()
    for pod in world.pods(WEB):
        change_pod(world, pod, node="new-1")
    arrive(world, "web")
    return world


def test_a_workload_that_has_arrived_and_whose_pods_came_back_has_its_gates_again() -> None:
    world = a_shop()
    arrive(world, "web")
    assert way(world).pod


def opted_out() -> World:
    world = a_shop()
    change(world, "web", annotations=Labels({SKIP: "true"}))
    return world


def for_another_target() -> World:
    world = a_shop()
    world.migrate(target="v1.37.0")
    return world


NOTHING: tuple[tuple[Callable[[], World], str], ...] = (
    (without_migration, "there is no migration"),
    (lambda: a_shop(abort=True), "nothing is being moved"),
    (for_another_target, "the operator has not begun to move workloads to v1.37.0"),
    (arrived, "moved"),
    (opted_out, "left alone: it has opted out"),
    (lambda: a_shop(exclude_namespaces=("shop",)), "left alone: its namespace is excluded"),
)


@pytest.mark.parametrize(("situation", "why"), NOTHING)
def test_a_workload_that_takes_no_part_has_nothing_to_pass(situation: Callable[[], World], why: str) -> None:
    assert way(situation()) == Passage(instead=why)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"node": "new-1"}, "it is on a target node already, new-1"),
        ({"node": "gone"}, "its node gone is gone"),
        ({"deleting": True}, "it is on its way out"),
        ({"phase": "Failed"}, "it has ended"),
        ({"node": ""}, "it is on no node yet; the scheduler finds it one"),
    ],
)
def test_a_pod_that_is_not_to_be_moved_has_nothing_to_pass(values: dict[str, Any], why: str) -> None:
    world = released(a_shop(2))
    moved = world.put(msgspec.structs.replace(pods_of(world)[0], **values))
    assert way(world, moved) == Passage(instead=why)


def test_a_pod_on_a_node_that_is_not_selected_has_nothing_to_pass() -> None:
    world = released(a_shop(1))
    (pod,) = pods_of(world)
    for node in world.all(Node):
        if node.name != pod.node:
            world.put(msgspec.structs.replace(node, labels=Labels({**node.labels, "pool": "a"})))
    world.migrate(node_selector=LabelSelector(match_labels={"pool": "a"}))
    assert way(world, pod).instead == f"its node {pod.node} is none of those that the migration selects"


def test_a_pod_that_waits_for_its_turn_without_a_node_is_made_again() -> None:
    world = a_shop(1)
    say(world, {WEB.owner_key: Turn.HELD})
    nature.delete(world, pods_of(world)[0])
    for node in world.all(Node):
        world.put(msgspec.structs.replace(node, unschedulable=True))
    nature.settle(world)
    assert way(world).instead == (
        "it is on no node yet; it was made to keep off target nodes and is made again when its turn comes"
    )


def test_a_migration_that_cannot_be_read_stops_all() -> None:
    odd = Unreadable(WORKLOAD_MIGRATION, "", "cluster", "not a list")
    view = msgspec.structs.replace(look(a_shop()), unreadable=(odd,))
    assert passage(view, WEB, None, NOW).instead == (
        "nothing is moved: WorkloadMigration cluster cannot be read (not a list); repair it, or delete it"
    )
