"""A pool of target nodes that grows when pods wait for a node: from nothing, within budgets, or it stops."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from shiplift.api.placements import Turn
from shiplift.api.workloads import Growing, Mode, NodeSize, OnBlockedWorkload, OnNoCapacity, WorkloadState
from shiplift.engine.decision import requeue
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod
from shiplift.facts.quantities import Resources
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.model import Reason
from shiplift.workloads.steps import Evict, WritePlacement
from tests.examples import tries
from tests.model import nature
from tests.workloads.players import Judge, Operator, finish, residue
from tests.workloads.sketches import Moment, scripts
from tests.workloads.views import DEPLOYMENT, STATEFUL_SET, an_id, change, look, say, under_way
from tests.workloads.world import NEW, World

WEB, DB = an_id("web"), an_id("db", STATEFUL_SET)
POOL = {"pool": "new"}
GROWING = Growing(node_selector=POOL, size=NodeSize(cpu="4", memory="16Gi", pods=2))


class Autoscaler:
    """Makes a node for pods that no node takes, some time after it saw them; knows no pod of its own."""

    def __init__(self, world: World, *, delay: int = 3, most: int = 9, room: int = 2) -> None:
        self._world, self._delay, self._most, self._room = world, delay, most, room
        self._seen = self.nodes = 0
        self.most_waiting: list[tuple[int, int]] = []
        """How many pods waited at each moment, and how many nodes there were."""

    def look(self) -> None:
        waiting = [pod for pod in self._world.all(Pod) if pod.unschedulable and not pod.node]
        self.most_waiting.append((len(waiting), self.nodes))
        self._seen = self._seen + 1 if waiting else 0
        if self._seen >= self._delay and self.nodes < self._most:
            self._seen, self.nodes = 0, self.nodes + 1
            node = self._world.node(f"new-{self.nodes}", NEW, self._room, labels=POOL)
            self._world.put(self._world.marked(node))


def a_shop(*workloads: tuple[Any, str, int], **spec: Any) -> World:
    """Workloads on old nodes, and a pool of target nodes at zero."""
    given: dict[str, Any] = {"on_no_capacity": OnNoCapacity.PROVISION, "growing": GROWING} | spec
    world = under_way(*(workloads or ((DEPLOYMENT, "web", 3),)), **given)
    world.migrate(target=NEW)
    for name in ("new-1", "new-2"):
        node = world.named(Node, name, "")
        assert node is not None
        world.remove(node)
    return world


def play(world: World, autoscaler: Autoscaler, judge: Judge | None = None, rounds: int = 120) -> Operator:
    operator = Operator(world, judge)
    for _ in range(rounds):
        operator.round()
        autoscaler.look()
        nature.tick(world)
        if judge is not None:
            judge.look()
    return operator


def released(world: World, *ids: WorkloadId) -> World:
    say(world, {id_.owner_key: Turn.RELEASED for id_ in ids or (WEB,)})
    return world


def evicted(world: World) -> list[str]:
    return [step.workload.name for step in decide(look(world), world.now).steps if isinstance(step, Evict)]


# --- the whole way ---


def test_a_pool_at_zero_grows_for_pods_that_wait_and_everybody_arrives() -> None:
    world = a_shop((DEPLOYMENT, "web", 3), (STATEFUL_SET, "db", 3), (DEPLOYMENT, "api", 4))
    for name in ("web", "db"):
        world.budget(name, {"app": name}, {"maxUnavailable": 1})
    nature.settle(world)
    ids = [WEB, DB, an_id("api")]
    judge, autoscaler = Judge(world, ids=ids), Autoscaler(world)
    operator = play(world, autoscaler, judge)
    assert [world.versions(id_) for id_ in ids] == [[NEW] * 3, [NEW] * 3, [NEW] * 4]
    assert all(waiting <= max(nodes, 1) for waiting, nodes in autoscaler.most_waiting)
    assert sum(judge.evicted.values()) == 10
    finish(world, judge, operator=operator)
    assert residue(world) == []


@pytest.mark.parametrize("policy", [OnNoCapacity.WAIT, OnNoCapacity.STOP])
def test_without_the_policy_it_never_grows(policy: OnNoCapacity) -> None:
    world = a_shop(on_no_capacity=policy)
    autoscaler = Autoscaler(world)
    play(world, autoscaler, rounds=40)
    assert autoscaler.nodes == 0
    assert NEW not in world.versions(WEB)
    world.put(world.marked(world.node("new-1", NEW, 0, labels=POOL)))
    assert evicted(released(world)) == [], "not to a full node either"


def test_a_pool_that_does_not_grow_stops_it_and_the_pod_is_named() -> None:
    world = a_shop((DEPLOYMENT, "web", 3), (DEPLOYMENT, "api", 3))
    autoscaler = Autoscaler(world, most=0)
    operator = play(world, autoscaler, rounds=40)
    assert {waiting for waiting, _ in autoscaler.most_waiting} == {0, 1}
    (pod,) = [pod for pod in world.all(Pod) if pod.unschedulable]
    world.pass_time(600)
    operator.round()
    assert operator.decision is not None
    assert (operator.decision.stalled, operator.decision.reason) == (True, Reason.STOPPED)
    assert operator.decision.message == (
        f"pod shop/{pod.name} has waited 10m for a new node of the growing pool, and none has come"
        f" ({pod.unschedulable}); see why it does not grow, or add target nodes"
    )
    assert not [step for step in operator.decision.steps if isinstance(step, Evict | WritePlacement)]


def test_it_goes_on_by_itself_when_the_pool_grows_after_all() -> None:
    world = a_shop()
    operator = play(world, Autoscaler(world, most=0), rounds=40)
    world.pass_time(600)
    operator.die()
    play(world, Autoscaler(world))
    assert world.versions(WEB) == [NEW] * 3


@settings(max_examples=tries(60))
@given(scripts)
def test_interrupted_anywhere_it_comes_to_the_same_end(script: list[Moment]) -> None:
    world = a_shop((DEPLOYMENT, "web", 3), (STATEFUL_SET, "db", 2))
    world.budget("web", {"app": "web"}, {"maxUnavailable": 1})
    nature.settle(world)
    judge, autoscaler = Judge(world, ids=[WEB, DB]), Autoscaler(world)
    operator = Operator(world, judge)
    for moment in script:
        operator.round(cut=moment.cut, backwards=moment.backwards, publishes=moment.publishes)
        if moment.dies:
            operator.die()
            operator = Operator(world, judge)
        for _ in range(moment.ticks):
            autoscaler.look()
            nature.tick(world)
            judge.look()
    operator.die()
    play(world, autoscaler, judge)
    assert (world.versions(WEB), world.versions(DB)) == ([NEW] * 3, [NEW] * 2)
    assert all(waiting <= max(nodes, 1) for waiting, nodes in autoscaler.most_waiting)


def test_where_no_budget_lets_a_pod_go_a_surge_waits_for_the_node() -> None:
    world = a_shop(on_blocked=OnBlockedWorkload.SURGE)
    world.budget("web", {"app": "web"}, {"maxUnavailable": 0})
    nature.settle(world)
    judge = Judge(world, ids=[WEB])
    play(world, Autoscaler(world, room=4), judge)
    assert world.versions(WEB) == [NEW] * 3
    assert judge.evicted == {}


# --- who may go ---


def test_one_pod_goes_first_and_alone() -> None:
    world = released(a_shop((DEPLOYMENT, "api", 8), (DEPLOYMENT, "web", 8)), an_id("api"), WEB)
    assert evicted(world) == ["api"]


def test_as_many_wait_as_there_are_target_nodes() -> None:
    world = released(a_shop((DEPLOYMENT, "api", 8), (DEPLOYMENT, "web", 8)), an_id("api"), WEB)
    for number in range(3):
        world.put(world.marked(world.node(f"new-{number}", NEW, 0, labels=POOL)))
    assert evicted(world) == ["api", "api", "web"]


def test_a_pod_that_no_new_node_would_take_keeps_nobody_waiting() -> None:
    """The first pod of api is on its way, and asks for more than a node of the pool has."""
    world = released(a_shop((DEPLOYMENT, "api", 1), (DEPLOYMENT, "web", 3)), an_id("api"), WEB)
    nature.delete(world, world.pods(an_id("api"))[0])
    nature.settle(world)
    (pod,) = world.pods(an_id("api"))
    assert evicted(world) == []
    large = msgspec.structs.replace(pod.spec, requests=Resources(cpu=5000))
    world.put(msgspec.structs.replace(pod, spec=large))
    assert evicted(world) == ["web"]


def test_its_budget_is_kept() -> None:
    world = released(a_shop())
    world.budget("web", {"app": "web"}, {"minAvailable": 3})
    nature.settle(world)
    assert evicted(world) == []


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"requests": Resources(cpu=5000)}, "insufficient cpu"),
        ({"requests": Resources(memory=17 << 30)}, "insufficient memory"),
        ({"node_selector": Labels(pool="other")}, "node affinity"),
        ({"claims": ("data",)}, "claim shop/data does not exist"),
    ],
)
def test_a_pod_that_a_new_node_would_not_take_stays(spec: dict[str, Any], why: str) -> None:
    world = released(a_shop())
    for pod in world.pods(WEB):
        world.put(msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, **spec)))
    assert evicted(world) == []
    line = decide(look(world), world.now).lines[WEB]
    assert (line.state, line.reason) == (WorkloadState.BLOCKED, Reason.NO_SLOT)
    assert f"a new node of the growing pool would not take it either ({why})" in line.message


@pytest.mark.parametrize("selector", [{"pool": "new"}, {"kubernetes.io/os": "linux"}])
def test_a_pod_that_asks_for_the_pool_goes(selector: dict[str, str]) -> None:
    world = released(a_shop())
    for pod in world.pods(WEB):
        spec = msgspec.structs.replace(pod.spec, node_selector=Labels(selector))
        world.put(msgspec.structs.replace(pod, spec=spec))
    assert evicted(world) == ["web"]


def test_in_mode_template_nothing_would_keep_it_off_old_nodes_so_it_stays() -> None:
    world = a_shop(mode=Mode.TEMPLATE)
    autoscaler = Autoscaler(world)
    play(world, autoscaler, rounds=30)
    row = world.row_of(WEB)
    assert row is not None
    assert (autoscaler.nodes, row.template.tolerations) == (0, ())
    world.put(world.marked(world.node("new-1", NEW, 0, labels=POOL)))
    line = decide(look(world), world.now).lines[WEB]
    assert line.message == (
        "0 of 1 target nodes fit: 1 too many pods; onNoCapacity Provision needs mode Inject;"
        " add target nodes, or wait"
    )


# --- what is told ---


def test_while_it_waits_for_a_node_that_is_told_and_looked_at_in_time() -> None:
    world = released(a_shop((DEPLOYMENT, "web", 1)))
    nature.delete(world, world.pods(WEB)[0])
    nature.settle(world)
    (pod,) = world.pods(WEB)
    world.pass_time(595 - (world.now.timestamp() - pod.created))
    decision = decide(look(world), world.now)
    line = decision.lines[WEB]
    assert (line.state, line.reason) == (WorkloadState.MOVING, Reason.PENDING)
    assert line.message == f"pod {pod.name} waits for a new node of the growing pool: {pod.unschedulable}"
    assert decision.look_again == requeue(timedelta(seconds=5))


@pytest.mark.parametrize(
    ("age", "given", "stops"),
    [(599, {}, False), (600, {}, True), (3600, {"unschedulable": ""}, False)],
    ids=["in time", "too late", "not looked at by the scheduler"],
)
def test_a_pod_that_waited_too_long_for_a_node_stops_it(age: int, given: dict[str, Any], stops: bool) -> None:
    world = released(a_shop((DEPLOYMENT, "web", 1)))
    nature.delete(world, world.pods(WEB)[0])
    nature.settle(world)
    (pod,) = world.pods(WEB)
    world.put(msgspec.structs.replace(pod, created=int(world.now.timestamp()) - age, **given))
    assert (decide(look(world), world.now).reason is Reason.STOPPED) is stops


def test_a_pod_for_which_there_is_a_place_by_now_stops_nothing() -> None:
    world = released(a_shop((DEPLOYMENT, "web", 1)))
    nature.delete(world, world.pods(WEB)[0])
    nature.settle(world)
    change(world, "web", replicas=1)
    world.put(world.marked(world.node("new-1", NEW, labels=POOL)))
    world.pass_time(3600)
    assert not decide(look(world), world.now).stalled
