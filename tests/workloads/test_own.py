"""A migration that moves the operator itself: after all others, its leader after its other pods."""

from __future__ import annotations

from typing import Any, cast

import pytest
from msgspec import structs

from shiplift.api.placements import Turn
from shiplift.api.workloads import OnNoCapacity, WaitForNodes, WorkloadState, WorkloadStatus
from shiplift.drain.own import ALONE
from shiplift.drain.steps import HandOver
from shiplift.engine.step import Outcomes
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod
from shiplift.facts.quantities import Resources
from shiplift.kube.store import Store
from shiplift.kube.succession import Succession
from shiplift.workloads.decide.deadlines import let_go
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.decide.forewarning import forewarnings
from shiplift.workloads.decide.placements import without_placement
from shiplift.workloads.decide.rescue import rescued
from shiplift.workloads.decide.waiting import line_of
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.model import Migrating, Reason, View
from shiplift.workloads.observe.observer import Observer
from shiplift.workloads.steps import Evict, WritePlacement
from tests.workloads.views import (
    DEPLOYMENT,
    an_id,
    arrive,
    change_pod,
    cordon,
    say,
    status,
    tally,
    under_way,
)
from tests.workloads.world import World

OURS, WEB = an_id("shiplift"), an_id("web")


def a_cluster(replicas: int = 2, **spec: Any) -> World:
    world = under_way((DEPLOYMENT, "shiplift", replicas), (DEPLOYMENT, "web", 1), **spec)
    for pod in world.all(Pod):
        # as the Deployment controller labels them
        (owner,) = pod.owners
        hashed = {"pod-template-hash": owner.name.rpartition("-")[2]}
        change_pod(
            world,
            pod,
            labels=Labels({**pod.labels, **hashed}),
            owners=(structs.replace(owner, api_version="apps/v1"),),
        )
    return world


def pods_of(world: World, name: str) -> list[Pod]:
    return sorted(
        (pod for pod in world.all(Pod) if pod.name.startswith(f"{name}-")), key=lambda pod: pod.name
    )


def look(world: World, own: str, *, may: bool = True, pending: bool = False) -> View:
    succession = Succession(lambda: own)
    if not may:
        succession.hand_over("a moment ago")
    if not pending:
        succession.over()
    observer = Observer(
        cast("Store", world), lambda: world.inject, now=lambda: world.now, succession=succession
    )
    for row in world.placements():
        observer.in_force.note(row.uid, row.generation, observer.in_force.now())
    return observer.observe(Outcomes())


def decided(world: World, own: str = "", **more: Any) -> Migrating:
    uid = own or pods_of(world, "shiplift")[0].uid
    return decide(look(world, uid, **more), world.now)


def ended(decision: Migrating) -> list[str]:
    return [one.name for one in decision.steps if isinstance(one, Evict)]


def turns(decision: Migrating) -> dict[str, Turn]:
    return {
        name: turn
        for step in decision.steps
        if isinstance(step, WritePlacement)
        for name, turn in step.turns.items()
    }


def test_it_is_held_until_the_others_have_arrived() -> None:
    world = a_cluster()
    first = decided(world)
    assert turns(first) == {WEB.owner_key: Turn.RELEASED}
    line = line_of(first, tally(first.view, "shiplift"))
    assert (line.state, line.reason) == (WorkloadState.HELD, Reason.GOES_LAST)
    assert line.message == f"it is the operator itself, which goes last: waits for {WEB}"
    arrive(world, "web")
    assert turns(decided(world))[OURS.owner_key] is Turn.RELEASED


def test_an_operator_that_runs_elsewhere_holds_back_nobody() -> None:
    assert turns(decided(a_cluster(), "nobody")) == dict.fromkeys(
        (OURS.owner_key, WEB.owner_key), Turn.RELEASED
    )


def told(world: World, state: WorkloadState, reason: Reason) -> None:
    """What the status says of the other one."""
    stuck = WorkloadStatus(
        kind=DEPLOYMENT, namespace=WEB.namespace, name="web", uid="u", state=state, reason=reason
    )
    migration = world.migration
    assert migration is not None
    world.publish(structs.replace(migration.status, workloads=(stuck,)))


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (WorkloadState.BLOCKED, Reason.NEVER_EVICTABLE),
        (WorkloadState.BLOCKED, Reason.NO_SLOT),
        (WorkloadState.HELD, Reason.NO_SLOT),
    ],
)
def test_others_that_cannot_go_are_not_waited_for(state: WorkloadState, reason: Reason) -> None:
    world = a_cluster()
    pod = pods_of(world, "web")[0]
    change_pod(world, pod, spec=structs.replace(pod.spec, requests=Resources(cpu=10**9)))
    told(world, state, reason)
    assert turns(decided(world))[OURS.owner_key] is Turn.RELEASED


@pytest.mark.parametrize("state", [WorkloadState.BLOCKED, WorkloadState.HELD])
def test_others_for_which_there_is_room_by_now_go_before_it(state: WorkloadState) -> None:
    world = a_cluster()
    told(world, state, Reason.NO_SLOT)
    assert turns(decided(world)) == {WEB.owner_key: Turn.RELEASED}


@pytest.mark.parametrize("policy", [OnNoCapacity.WAIT, OnNoCapacity.CONSOLIDATE])
def test_it_does_not_go_with_others_once_a_target_node_is_given_back(policy: OnNoCapacity) -> None:
    world = a_cluster(on_no_capacity=policy)
    targets = [one for one in world.all(Node) if one.name.startswith("new")]
    cordon(world, *(one.name for one in targets))
    closed = decided(world)
    told(world, line_of(closed, tally(closed.view, "web")).state, Reason.NO_SLOT)
    assert Turn.RELEASED not in turns(decided(world)).values()
    for one in targets:
        world.put(one)
    assert turns(decided(world)) == {WEB.owner_key: Turn.RELEASED}


def test_others_that_have_left_the_old_nodes_are_not_waited_for_though_they_never_get_ready() -> None:
    world = a_cluster()
    say(world, {WEB.owner_key: Turn.RELEASED})
    assert OURS.owner_key not in turns(decided(world))
    moved(world, pods_of(world, "web")[0], ready=False)
    assert turns(decided(world))[OURS.owner_key] is Turn.RELEASED


def test_others_are_waited_for_until_their_last_pod_is_gone_from_the_old_nodes() -> None:
    world = a_cluster()
    say(world, {WEB.owner_key: Turn.RELEASED})
    change_pod(world, pods_of(world, "web")[0], deleting=True)
    assert OURS.owner_key not in turns(decided(world))


def test_pods_of_others_that_end_on_target_nodes_are_not_waited_for() -> None:
    world = a_cluster()
    say(world, {WEB.owner_key: Turn.RELEASED})
    moved(world, pods_of(world, "web")[0])
    change_pod(world, pods_of(world, "web")[0], deleting=True)
    assert turns(decided(world))[OURS.owner_key] is Turn.RELEASED


def test_who_depends_on_the_operator_goes_after_it() -> None:
    world = a_cluster()
    world.order("order", [(WEB, OURS)])
    assert turns(decided(world)) == {OURS.owner_key: Turn.RELEASED, WEB.owner_key: Turn.HELD}


def released(replicas: int = 2) -> World:
    """The others have arrived; it is its turn."""
    world = a_cluster(replicas)
    arrive(world, "web")
    moved(world, pods_of(world, "web")[0])
    say(world, {OURS.owner_key: Turn.RELEASED, WEB.owner_key: Turn.RELEASED})
    return world


def moved(world: World, pod: Pod, *, ready: bool = True) -> None:
    assert any(node.name == "new-1" for node in world.all(Node))
    change_pod(world, pod, node="new-1", ready=ready)


@pytest.mark.parametrize("replicas", [1, 2])
def test_a_pod_of_it_that_ends_for_ever_keeps_its_leader_from_nothing(replicas: int) -> None:
    """Its node is lost, say."""
    world = released(replicas)
    leader, *others = pods_of(world, "shiplift")
    for one in others:
        moved(world, one)
    lost = structs.replace(leader, name="shiplift-lost", uid="lost", deleting=True, ready=False)
    world.put(lost)
    ends = [one.uid for one in decided(world, leader.uid).steps if isinstance(one, Evict | HandOver)]
    assert ends == [leader.uid]


def test_its_leader_goes_after_its_other_pods() -> None:
    world = released()
    one, two = pods_of(world, "shiplift")
    assert ended(decided(world, one.uid)) == [two.name]
    assert ended(decided(world, two.uid)) == [one.name]


def test_it_hands_over_to_one_that_has_moved_and_is_ready() -> None:
    world = released()
    one, two = pods_of(world, "shiplift")
    moved(world, two, ready=False)
    assert ended(decided(world, one.uid)) == []
    moved(world, two)
    found = decided(world, one.uid)
    assert [step.to for step in found.steps if isinstance(step, HandOver)] == [two.name]
    assert ended(found) == []


def test_who_leads_instead_ends_it() -> None:
    world = released()
    one, two = pods_of(world, "shiplift")
    moved(world, two)
    assert ended(decided(world, two.uid)) == [one.name]


def test_it_goes_by_itself_where_nobody_took_over() -> None:
    world = released()
    one, two = pods_of(world, "shiplift")
    moved(world, two)
    assert ended(decided(world, one.uid, may=False)) == [one.name]


def test_while_it_hands_over_its_own_pod_stays() -> None:
    world = released()
    one, two = pods_of(world, "shiplift")
    moved(world, two)
    found = decided(world, one.uid, may=False, pending=True)
    assert ended(found) == []
    assert not [step for step in found.steps if isinstance(step, HandOver)]


def test_a_pod_of_it_that_fits_on_no_old_node_goes_before_its_turn() -> None:
    world = a_cluster()
    one, two = pods_of(world, "shiplift")
    cordon(world, "old-1", "old-2")
    change_pod(world, two, node="", ready=False, unschedulable="0/4 nodes are available")
    view = look(world, one.uid)
    assert rescued(view, world.now).early == {OURS}
    assert turns(decide(view, world.now))[OURS.owner_key] is Turn.RELEASED


@pytest.mark.parametrize(("passed", "early"), [(60, set[WorkloadId]()), (890, {OURS})])
def test_it_is_let_go_before_whoever_drains_its_node_gives_up(passed: float, early: set[WorkloadId]) -> None:
    world = a_cluster(drain_deadline="15m", wait_for_nodes=WaitForNodes(settle="0s"))
    cordon(world, "old-1", "old-2")
    world.publish(status(world))
    world.pass_time(passed)
    assert let_go(look(world, pods_of(world, "shiplift")[0].uid), world.now).early == early


@pytest.mark.parametrize("replicas", [1, 2])
def test_whose_pods_are_lost_gets_new_ones_wherever_there_is_a_node(replicas: int) -> None:
    world = a_cluster(replicas)
    one, *_ = pods_of(world, "shiplift")
    assert turns(decided(world)) == {WEB.owner_key: Turn.RELEASED}
    say(world, {WEB.owner_key: Turn.RELEASED})
    found = decided(world)
    assert (turns(found), ended(found)) == ({}, [pods_of(world, "web")[0].name])
    assert line_of(found, tally(found.view, "shiplift")).reason == Reason.GOES_LAST
    assert without_placement(found.view) == []
    arrive(world, "web")
    assert turns(decided(world, one.uid))[OURS.owner_key] is Turn.RELEASED


def test_the_only_one_says_beforehand_what_that_means_and_goes() -> None:
    world = released(1)
    (one,) = pods_of(world, "shiplift")
    assert forewarnings(look(world, one.uid)) == (f"pod {one.namespace}/{one.name} {ALONE}",)
    assert ended(decided(world, one.uid)) == [one.name]
    two = released(2)
    assert forewarnings(look(two, pods_of(two, "shiplift")[0].uid)) == ()
