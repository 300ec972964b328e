"""Making room: which old node is emptied, when, and what goes from it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from shiplift.api.marks import OFF_TARGET_LABEL, TARGET_LABEL
from shiplift.api.placements import Turn
from shiplift.api.workloads import OnNoCapacity, WorkloadState, WorkloadStatus
from shiplift.drain.steps import ForgetEviction
from shiplift.engine.step import Outcomes
from shiplift.facts import kinds
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod
from shiplift.facts.workloads import PodDisruptionBudget
from shiplift.workloads.decide.consolidate import chosen, emptying_steps
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.model import Reason
from shiplift.workloads.names import SKIP
from shiplift.workloads.steps import Evict, WritePlacement
from shiplift.workloads.tell.report import status_of
from tests.model import nature
from tests.workloads.databases import a_database, a_pod, named
from tests.workloads.players import Operator
from tests.workloads.views import DEPLOYMENT, STATEFUL_SET, an_id, change, evicting, look, say, under_way
from tests.workloads.world import World

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def a_shop(**workloads: int) -> World:
    """Two old nodes with pods on them, and target nodes on which nothing fits."""
    named = [(DEPLOYMENT, name, replicas) for name, replicas in workloads.items()]
    return under_way(*named, on_no_capacity=OnNoCapacity.CONSOLIDATE)


def place(world: World, **nodes: str) -> None:
    """All pods of a workload on one node."""
    for name, node in nodes.items():
        for pod in world.pods(an_id(name)):  # of either kind
            world.put(msgspec.structs.replace(pod, node=node))


def begin(world: World, node: str) -> None:
    """It is written down and marked that this one is being emptied."""
    assert world.migration is not None
    world.publish(msgspec.structs.replace(world.migration.status, emptying=node))
    row = world.named(Node, node, "")
    assert row is not None
    both = {**row.labels, TARGET_LABEL: "v1.36.3", OFF_TARGET_LABEL: "v1.36.3"}
    world.put(msgspec.structs.replace(row, labels=Labels(both)))


def change_node(world: World, name: str, **values: Any) -> None:
    row = world.named(Node, name, "")
    assert row is not None
    world.put(msgspec.structs.replace(row, **values))


def evicted(world: World, node: str) -> list[str]:
    return sorted(
        step.workload.name for step in emptying_steps(look(world), node, world.now) if isinstance(step, Evict)
    )


def test_nothing_goes_from_it_in_a_namespace_with_a_budget_that_cannot_be_read() -> None:
    world = a_shop(web=1)
    place(world, web="old-1")
    begin(world, "old-1")
    assert evicted(world, "old-1") == ["web"]
    world.spoil(kinds.POD_DISRUPTION_BUDGET, "odd", "no selector")
    assert evicted(world, "old-1") == []


# --- which ---


def test_the_emptiest_node_is_chosen_when_nobody_can_move() -> None:
    world = a_shop(web=3, api=1)
    place(world, web="old-1", api="old-2")
    assert chosen(look(world), stuck=True) == "old-2"
    assert chosen(look(world), stuck=False) == ""


def test_without_the_policy_none_is() -> None:
    world = a_shop(web=3, api=1)
    world.migrate(on_no_capacity=OnNoCapacity.WAIT)
    assert chosen(look(world), stuck=True) == ""


def test_one_that_was_begun_is_kept_until_it_is_old_no_more() -> None:
    world = a_shop(web=3, api=1)
    place(world, web="old-1", api="old-2")
    begin(world, "old-1")
    assert chosen(look(world), stuck=False) == "old-1"
    change_node(world, "old-1", kubelet_version="v1.36.3")
    assert chosen(look(world), stuck=False) == ""


def test_a_node_with_pods_that_cannot_be_moved_is_not_chosen() -> None:
    world = a_shop(web=3, api=1)
    place(world, web="old-1", api="old-2")
    change(world, "api", annotations=Labels({SKIP: "true"}))
    assert chosen(look(world), stuck=True) == "old-1"


def test_a_node_whose_pods_were_released_is_not_chosen() -> None:
    world = a_shop(web=3, api=1)
    place(world, web="old-1", api="old-2")
    say(world, {an_id("api").owner_key: Turn.RELEASED, an_id("web").owner_key: Turn.HELD})
    assert chosen(look(world), stuck=True) == "old-1"


def test_a_node_whose_pods_no_budget_lets_go_is_not_chosen() -> None:
    world = a_shop(web=3, api=1)
    place(world, web="old-1", api="old-2")
    world.budget("api", {"app": "api"}, {"minAvailable": 1})
    nature.settle(world)
    assert chosen(look(world), stuck=True) == "old-1"


def on_nodes(world: World, *nodes: str) -> None:
    """The pods of the database, from the first on."""
    for number, node in enumerate(nodes):
        world.put(msgspec.structs.replace(a_pod(look(world), number), node=node))
    nature.settle(world)


@pytest.mark.parametrize("why", ["two budgets", "never"])
def test_only_the_node_of_the_pod_that_cannot_go_is_closed(why: str) -> None:
    least = 1 if why == "never" else 0
    budgets = {"primary": {"minAvailable": least}}
    world = a_database("primary", "", "", budgets=budgets, on_no_capacity=OnNoCapacity.CONSOLIDATE)
    if why == "two budgets":
        world.budget("again", {"role": "primary"}, {"minAvailable": 0})
    on_nodes(world, "old-1", "old-2", "old-2")
    assert chosen(look(world), stuck=True) == "old-2"


def test_from_the_node_each_pod_goes_by_its_own_budget() -> None:
    budgets = {"primary": {"minAvailable": 1}, "replica": {"minAvailable": 1}}
    world = a_database(
        "primary", "replica", "replica", budgets=budgets, on_no_capacity=OnNoCapacity.CONSOLIDATE
    )
    on_nodes(world, "old-1", "old-1", "old-1")
    begin(world, "old-1")
    steps = [step for step in emptying_steps(look(world), "old-1", world.now) if isinstance(step, Evict)]
    assert [(step.name, step.lane) for step in steps] == [("db-2", named(world, "replica").uid)]


def test_a_cordoned_node_is_not_chosen() -> None:
    world = a_shop(web=3, api=1)
    place(world, web="old-1", api="old-2")
    change_node(world, "old-2", unschedulable=True)
    assert chosen(look(world), stuck=True) == ""


def test_a_node_whose_pods_fit_nowhere_else_is_not_chosen() -> None:
    world = a_shop(web=3, api=1)
    place(world, web="old-1", api="old-2")
    row = world.named(Node, "old-1", "")
    assert row is not None
    full = msgspec.structs.replace(row.allocatable, pods=3)
    change_node(world, "old-1", allocatable=full)
    assert chosen(look(world), stuck=True) == "old-1"
    change_node(world, "old-2", allocatable=full)
    assert chosen(look(world), stuck=True) == ""


@pytest.mark.parametrize("whose", ["a Deployment", "a StatefulSet"])
def test_a_node_with_pods_that_have_two_budgets_is_not_chosen(whose: str) -> None:
    world = a_shop(web=3)
    kind = DEPLOYMENT if whose == "a Deployment" else STATEFUL_SET
    world.workload(kind, "api", 1)
    nature.settle(world)
    place(world, web="old-1", api="old-2")
    for name in ("one", "two"):
        world.budget(name, {"app": "api"}, {"maxUnavailable": 1})
    nature.settle(world)
    assert chosen(look(world), stuck=True) == "old-1"


# --- letting go ---


def begun(**workloads: int) -> World:
    """old-2 is being emptied, and has a pod of api."""
    world = a_shop(**workloads)
    place(world, **{name: "old-2" if name == "api" else "old-1" for name in workloads})
    begin(world, "old-2")
    return world


@pytest.mark.parametrize("why", ["two budgets", "a budget that never lets it go", "it opts out", "no place"])
def test_a_node_that_can_no_longer_be_emptied_is_let_go_for_another(why: str) -> None:
    world = begun(web=1, api=1)
    assert chosen(look(world), stuck=True) == "old-2"
    if why == "it opts out":
        change(world, "api", annotations=Labels({SKIP: "true"}))
    elif why == "no place":
        only(world, "old-1", 1)
    else:
        for name in ("one", "two") if why == "two budgets" else ("never",):
            world.budget(name, {"app": "api"}, {"maxUnavailable": int(why == "two budgets")})
    nature.settle(world)
    assert chosen(look(world), stuck=True) == ""
    assert world.migration is not None
    world.publish(msgspec.structs.replace(world.migration.status, emptying=""))
    assert chosen(look(world), stuck=True) == "old-1"


def test_a_node_is_let_go_when_the_policy_is_another() -> None:
    world = begun(web=1, api=1)
    world.migrate(on_no_capacity=OnNoCapacity.WAIT)
    assert chosen(look(world), stuck=True) == ""


def test_a_node_is_let_go_when_target_nodes_have_room_for_all() -> None:
    world = begun(web=1, api=1)
    say(world, {an_id("web").owner_key: Turn.HELD, an_id("api").owner_key: Turn.HELD})
    assert decide(look(world), NOW).emptying == ""


def test_a_node_is_kept_while_its_pods_are_on_their_way_to_other_old_nodes() -> None:
    world = begun(web=1, api=1)
    only(world, "new-1", 0)
    only(world, "new-2", 0)
    say(world, {an_id("web").owner_key: Turn.HELD, an_id("api").owner_key: Turn.HELD})
    (pod,) = world.pods(an_id("api"))
    assert decide(look(world, evicting(pod)), NOW).emptying == "old-2"


def test_an_empty_node_is_kept_for_who_changes_it() -> None:
    world = begun(web=1)
    assert chosen(look(world), stuck=False, full=False) == "old-2"


# --- what goes ---


def test_what_is_on_the_node_goes_within_its_budget() -> None:
    world = a_shop(web=3, api=1)
    place(world, web="old-1", api="old-1")
    begin(world, "old-1")
    assert evicted(world, "old-1") == ["api", "web"]


def test_nothing_goes_before_the_node_is_marked() -> None:
    world = a_shop(web=3)
    place(world, web="old-1")
    begin(world, "old-1")
    row = world.named(Node, "old-1", "")
    assert row is not None
    bare = {key: value for key, value in row.labels.items() if key != TARGET_LABEL}
    change_node(world, "old-1", labels=Labels(bare))
    assert evicted(world, "old-1") == []


def test_who_is_released_or_opted_out_stays() -> None:
    world = a_shop(web=1, api=1)
    place(world, web="old-1", api="old-1")
    begin(world, "old-1")
    say(world, {an_id("api").owner_key: Turn.RELEASED, an_id("web").owner_key: Turn.HELD})
    assert evicted(world, "old-1") == ["web"]
    change(world, "web", annotations=Labels({SKIP: "true"}))
    assert evicted(world, "old-1") == []


def test_while_one_is_leaving_the_next_waits() -> None:
    world = a_shop(web=3)
    place(world, web="old-1")
    begin(world, "old-1")
    pod = world.pods(an_id("web"))[0]
    world.put(msgspec.structs.replace(pod, deleting=1))
    assert evicted(world, "old-1") == []


def test_nobody_goes_who_would_fit_nowhere() -> None:
    world = a_shop(web=1, api=1)
    place(world, web="old-1", api="old-1")
    begin(world, "old-1")
    change_node(world, "old-2", unschedulable=True)
    assert evicted(world, "old-1") == []


def test_an_eviction_under_way_stays_wanted_and_no_further_pod_of_it_goes() -> None:
    world = a_shop(web=8, api=1)
    place(world, web="old-1", api="old-2")
    begin(world, "old-1")
    first = emptying_steps(look(world), "old-1", world.now)
    assert first
    running = Outcomes(running=frozenset({first[0].key}))
    assert emptying_steps(look(world, running), "old-1", world.now) == first[:1]


def only(world: World, name: str, pods: int) -> None:
    """As many pods as the node takes."""
    row = world.named(Node, name, "")
    assert row is not None
    change_node(world, name, allocatable=msgspec.structs.replace(row.allocatable, pods=pods))


def test_a_slot_on_the_other_old_nodes_is_given_once() -> None:
    world = a_shop(web=1, api=1)
    place(world, web="old-1", api="old-1")
    begin(world, "old-1")
    only(world, "old-2", 1)
    (first,) = emptying_steps(look(world), "old-1", world.now)
    assert emptying_steps(look(world, Outcomes(running=frozenset({first.key}))), "old-1", world.now) == [
        first
    ]
    (gone,) = [pod for pod in world.all(Pod) if first.key == f"evict {pod.uid}"]
    world.put(msgspec.structs.replace(gone, deleting=True))
    assert emptying_steps(look(world), "old-1", world.now) == []


@pytest.mark.parametrize("how", ["evicted", "terminating", "pending"])
def test_who_is_on_the_way_to_another_old_node_is_not_released_to_full_target_nodes(how: str) -> None:
    web = an_id("web")
    world = a_shop(web=1, api=2)
    only(world, "new-1", 0)
    only(world, "new-2", 0)
    place(world, web="old-1", api="old-2")
    begin(world, "old-1")
    say(world, {web.owner_key: Turn.HELD, an_id("api").owner_key: Turn.HELD})
    (pod,) = world.pods(web)
    changed = {"terminating": {"deleting": True}, "pending": {"node": "", "ready": False}, "evicted": {}}[how]
    world.put(msgspec.structs.replace(pod, **changed))
    decision = decide(look(world, evicting(pod) if how == "evicted" else None), NOW)
    assert not [step for step in decision.steps if isinstance(step, WritePlacement)]
    assert decision.lines[web].reason is Reason.CONSOLIDATING


def test_a_pod_goes_only_while_the_placement_that_keeps_its_successor_off_the_node_is_in_force() -> None:
    world = a_shop(web=1, api=2)
    place(world, web="old-1", api="old-2")
    begin(world, "old-1")
    say(world, {an_id("web").owner_key: Turn.HELD, an_id("api").owner_key: Turn.HELD})
    view = look(world)
    (step,) = emptying_steps(view, "old-1", world.now)
    assert isinstance(step, Evict)
    row = view.placements[step.workload.namespace].row
    assert (step.placement, step.generation) == (row.uid, row.generation)


def test_a_budget_that_takes_a_pod_for_evicted_which_is_there_is_made_to_forget_it() -> None:
    """An operator that dies between an eviction's note and the pod's deletion stops nothing for minutes."""
    world = a_shop(web=2)
    place(world, web="old-1")
    world.budget("web", {"app": "web"}, {"maxUnavailable": 1})
    nature.settle(world)
    begin(world, "old-1")
    row, pod = world.named(PodDisruptionBudget, "web"), world.pods(an_id("web"))[0]
    assert row is not None
    world.put(msgspec.structs.replace(pod, ready_since=1))
    world.put(msgspec.structs.replace(row, disruptions_allowed=0, disrupted_pods=(pod.name,)))
    steps = emptying_steps(look(world), "old-1", world.now)
    assert [step.pod for step in steps if isinstance(step, ForgetEviction)] == [pod.name]


# --- the brake ---


def packed(**workloads: int) -> World:
    """Three old nodes with room to spare, and a target node without any."""
    world = a_shop(**workloads)
    for name in ("new-1", "new-2"):
        world.remove(world.named(Node, name, ""))
    for number in range(3, 6):
        world.node(f"old-{number}")
    world.node("new-0", "v1.36.3", room=0)
    nature.settle(world)
    return world


def play(world: World, operator: Operator, rounds: int) -> None:
    for _ in range(rounds):
        operator.round()
        nature.tick(world)
        world.pass_time(5)


def test_pods_that_come_back_to_the_node_that_is_emptied_are_evicted_no_more_after_two_rounds() -> None:
    world = packed(web=6)
    world.steers = False
    play(world, operator := Operator(world), 200)
    assert world.migration is not None
    status = world.migration.status
    (line,) = status.workloads
    assert 0 < status.moves <= 12
    assert line.made_room == status.moves
    assert (line.state, line.reason) == (WorkloadState.BLOCKED, Reason.EVICTED_TOO_OFTEN)
    assert "makes no more room after 12 evictions for 6 replicas" in line.message
    assert "does a webhook take its node affinity off?" in line.message
    assert "makes no more room" in status.needs
    assert status.emptying == "", "a node that cannot be emptied is let go"
    operator.die()
    play(world, Operator(world), 20)
    assert world.migration.status.moves == status.moves, "the count is in the status"


def test_a_workload_that_waits_for_others_tells_too_that_it_makes_no_more_room() -> None:
    world = packed(web=6, api=1)
    world.order("order", [(an_id("web"), an_id("api"))])
    world.steers = False
    play(world, Operator(world), 200)
    assert world.migration is not None
    reasons = {one.name: one.reason for one in world.migration.status.workloads}
    assert reasons["web"] == Reason.EVICTED_TOO_OFTEN


def made_room(world: World, times: int) -> None:
    """The status says so of `web`."""
    row, migration = world.row_of(an_id("web")), world.migration
    assert row is not None
    assert migration is not None
    line = WorkloadStatus(
        kind=DEPLOYMENT,
        namespace=row.namespace,
        name=row.name,
        state=WorkloadState.BLOCKED,
        uid=row.uid,
        made_room=times,
        most_replicas=row.replicas,
    )
    world.publish(msgspec.structs.replace(migration.status, workloads=(line,)))


def test_the_count_begins_anew_when_the_emptied_node_is_an_old_one_no_more() -> None:
    world = a_shop(web=3)
    place(world, web="old-2")
    begin(world, "old-1")
    made_room(world, 5)
    assert [one.made_room for one in status_of(decide(look(world), world.now)).workloads] == [5]
    change_node(world, "old-1", kubelet_version="v1.36.3")
    assert [one.made_room for one in status_of(decide(look(world), world.now)).workloads] == [0]


def test_a_pause_begins_to_count_anew() -> None:
    world = a_shop(web=3)
    begin(world, "old-1")
    made_room(world, 6)
    world.migrate(paused=True)
    assert [one.made_room for one in status_of(decide(look(world), world.now)).workloads] == [0]


def test_others_make_room_while_one_workload_does_no_more() -> None:
    world = packed(web=3, api=1)
    place(world, web="old-1", api="old-2")
    made_room(world, 6)
    decision = decide(look(world), NOW)
    assert decision.lines[an_id("web")].reason is Reason.EVICTED_TOO_OFTEN
    assert decision.emptying == "old-2"
