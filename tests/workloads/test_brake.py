"""The brake: evictions stop before pods are moved round and round, say why, and go on by themselves."""

from __future__ import annotations

from typing import cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.api.marks import OFF_TARGET_LABEL, TARGET_LABEL
from shiplift.api.placements import Turn
from shiplift.api.workloads import WorkloadState, WorkloadStatus
from shiplift.engine import contested
from shiplift.engine.step import Outcome, Outcomes
from shiplift.facts.meta import NO_LABELS
from shiplift.facts.nodes import Node
from shiplift.facts.pods import PodSpec
from shiplift.facts.selectors import NodeTerm, Requirement
from shiplift.facts.workloads import ReplicaSet, StatefulSet
from shiplift.kube.store import Store
from shiplift.workloads.decide import brake
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.memory import Evictions
from shiplift.workloads.model import Evicted, Migrating, Reason
from shiplift.workloads.observe.observer import Observer
from shiplift.workloads.record import Record, Surge
from shiplift.workloads.steps import CheckInForce, Evict, Replace, WritePlacement
from shiplift.workloads.tell import report
from shiplift.workloads.tell.report import status_of
from tests.model import nature
from tests.workloads.players import Operator, finish
from tests.workloads.views import DEPLOYMENT, an_id, change, look, say, under_way
from tests.workloads.world import NEW, OLD, World

WEB = an_id("web")
RELEASED = {"Deployment.web": Turn.RELEASED}


class Clock:
    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


class Eyes:
    """An observer that hears of everything in a world, with a clock of its own."""

    def __init__(self, world: World) -> None:
        self.world, self.clock = world, Clock()
        self.observer = Observer(cast("Store", world), lambda: world.inject, now=lambda: world.now)
        self.observer.in_force._clock = self.clock  # pyright: ignore[reportPrivateUsage]
        self.observer._strays._now = self.clock  # pyright: ignore[reportPrivateUsage]
        self.observer._unmarked._clock = self.clock  # pyright: ignore[reportPrivateUsage]
        world.listeners.append(self.observer.heard)

    def prove(self) -> None:
        self.clock.time += 1
        for row in self.world.placements():
            self.observer.in_force.note(row.uid, row.generation, self.clock.time)

    def decide(self) -> Migrating:
        return decide(self.observer.observe(Outcomes()), self.world.now)


def evictions(decision: Migrating) -> list[str]:
    return [step.name for step in decision.steps if isinstance(step, Evict)]


def released(replicas: int = 3) -> World:
    """A workload that may move."""
    world = under_way((DEPLOYMENT, "web", replicas))
    say(world, RELEASED)
    return world


# --- strays ---


def stray_in(world: World, eyes: Eyes) -> Migrating:
    """The decision after a pod was made without our rule."""
    eyes.prove()
    assert evictions(eyes.decide())
    world.steers = False
    nature.delete(world, world.pods(WEB)[0])
    nature.settle(world)
    return eyes.decide()


def test_a_pod_made_without_our_rule_stops_every_eviction() -> None:
    world = released()
    eyes = Eyes(world)
    decision = stray_in(world, eyes)
    assert not evictions(decision)
    assert [step.namespace for step in decision.steps if isinstance(step, CheckInForce)] == ["shop"]
    assert decision.reason is Reason.POD_NOT_STEERED
    assert "was made without our rule" in decision.message
    assert "API servers are asked whether they go by shiplift-pods" in decision.lines[WEB].message


def test_evictions_go_on_when_every_api_server_has_proven_the_rule_again() -> None:
    world = released()
    eyes = Eyes(world)
    stray_in(world, eyes)
    world.steers = True
    assert not evictions(eyes.decide())
    eyes.prove()
    assert evictions(eyes.decide())


def test_an_answer_to_an_earlier_question_is_no_proof() -> None:
    world = released()
    eyes = Eyes(world)
    asked = eyes.clock.time
    stray_in(world, eyes)
    eyes.clock.time += 5
    for row in world.placements():
        eyes.observer.in_force.note(row.uid, row.generation, asked)
    assert not evictions(eyes.decide())


def test_pods_that_carry_our_rule_or_were_there_before_stop_nothing() -> None:
    world = released()
    eyes = Eyes(world)
    eyes.prove()
    assert evictions(eyes.decide())
    nature.delete(world, world.pods(WEB)[0])
    nature.settle(world)
    assert evictions(eyes.decide())


def test_with_the_policy_gone_evictions_end_and_with_it_back_all_arrive() -> None:
    """109 evictions for 36 pods were seen before there was a brake."""
    world = under_way(*((DEPLOYMENT, f"app-{number}", 4) for number in range(3)))
    operator = Operator(world)
    while not any(step for step in (operator.decision or look_at(operator)).steps if isinstance(step, Evict)):
        operator.round()
        nature.tick(world)
    world.steers = world.answers = False
    for _ in range(60):
        operator.round()
        nature.tick(world)
        world.pass_time(5)
    migration = world.migration
    assert migration is not None
    assert migration.status.moves <= 12
    assert {one.reason for one in migration.status.workloads} == {Reason.POD_NOT_STEERED}
    assert {one.state for one in migration.status.workloads} == {WorkloadState.BLOCKED}
    assert "the API server goes by generation 0" in migration.status.message
    world.steers = world.answers = True
    finish(world, operator=operator)
    assert world.migration is not None
    assert world.migration.status.moves == 0


def look_at(operator: Operator) -> Migrating:
    operator.round()
    assert operator.decision is not None
    return operator.decision


# --- nodes without their mark ---


def unmark(world: World, name: str = "old-1") -> None:
    node = world.named(Node, name, "")
    assert node is not None
    labels = {key: value for key, value in node.labels.items() if key != OFF_TARGET_LABEL}
    world.put(msgspec.structs.replace(node, labels=type(node.labels)(labels)))


def mark(world: World, name: str = "old-1") -> None:
    node = world.named(Node, name, "")
    assert node is not None
    world.put(world.marked(node))


def test_nothing_moves_while_an_old_node_lacks_its_mark_and_after_ten_seconds_it_is_told() -> None:
    world = released()
    unmark(world)
    eyes = Eyes(world)
    eyes.prove()
    decision = eyes.decide()
    assert not evictions(decision)
    assert decision.reason is Reason.MOVING, "that a node is marked is everyday"
    assert (
        decision.lines[WEB].message == "old node old-1 is being marked, so that pods do not come back to it"
    )
    eyes.clock.time += 10
    decision = eyes.decide()
    assert not evictions(decision)
    assert decision.reason is Reason.NODE_NOT_MARKED
    assert "old node old-1 has lacked or lost label shiplift.dev/off-target," in decision.message
    assert decision.lines[WEB].state is WorkloadState.BLOCKED
    mark(world)
    assert evictions(eyes.decide()), "it never had a mark before, so nobody took one off"


def test_a_node_that_lost_its_mark_counts_until_the_mark_stays() -> None:
    world = released()
    eyes = Eyes(world)
    eyes.prove()
    assert evictions(eyes.decide())
    for _ in range(4):
        unmark(world)
        assert not evictions(eyes.decide())
        eyes.clock.time += 1
        mark(world)
        decision = eyes.decide()
        assert not evictions(decision)
        assert decision.look_again_after is not None
        assert decision.look_again_after.total_seconds() <= 1, "no event announces that it stays"
        eyes.clock.time += 3
        decision = eyes.decide()
    assert decision.reason is Reason.NODE_NOT_MARKED, "for all that time somebody took it off"
    eyes.clock.time += 7.1
    assert evictions(eyes.decide())


def test_a_node_that_is_emptied_has_not_lost_its_mark() -> None:
    world = released()
    eyes = Eyes(world)
    eyes.prove()
    eyes.decide()
    node = world.named(Node, "old-1", "")
    assert node is not None
    more = type(node.labels)({**node.labels, TARGET_LABEL: NEW})
    world.put(msgspec.structs.replace(node, labels=more))
    assert evictions(eyes.decide())


def test_a_new_target_is_no_sign_that_somebody_took_marks_off() -> None:
    world = released()
    eyes = Eyes(world)
    eyes.prove()
    eyes.decide()
    for node in world.all(Node):
        bare = {
            key: value for key, value in node.labels.items() if key not in (OFF_TARGET_LABEL, TARGET_LABEL)
        }
        world.put(msgspec.structs.replace(node, labels=type(node.labels)(bare)))
    world.migrate(target=OLD)
    eyes.decide()
    assert not eyes.observer.changes.changes


# --- held workloads ---


def held() -> tuple[World, Eyes]:
    world = under_way((DEPLOYMENT, "web", 2), (DEPLOYMENT, "api", 1))
    world.order("order", [(WEB, an_id("api"))])
    say(world, {"Deployment.web": Turn.HELD, "Deployment.api": Turn.HELD})
    eyes = Eyes(world)
    eyes.prove()
    eyes.decide()
    return world, eyes


def test_a_held_pod_that_nothing_kept_off_the_target_nodes_is_told_as_out_of_turn() -> None:
    world, eyes = held()
    world.steers = False
    nature.delete(world, world.pods(WEB)[0])
    nature.settle(world)
    decision = eyes.decide()
    assert decision.reason is Reason.POD_NOT_STEERED
    (exception,) = decision.exceptions
    assert exception.workload == str(WEB)
    assert exception.reason == "PodNotSteered"
    assert not evictions(decision)


def test_where_nothing_moves_the_api_servers_are_asked_every_half_minute() -> None:
    _, eyes = held()
    eyes.clock.time += 29
    assert not [step for step in eyes.decide().steps if isinstance(step, CheckInForce)]
    eyes.clock.time += 2
    assert [step for step in eyes.decide().steps if isinstance(step, CheckInForce)]


def test_a_policy_that_is_gone_is_the_headline_although_nothing_moves() -> None:
    world, eyes = held()
    world.answers = False
    for row in world.placements():
        eyes.observer.in_force.note(row.uid, 0, eyes.clock.time)
    (step,) = (one for one in eyes.decide().steps if isinstance(one, CheckInForce))
    refused = Outcome.refused(step, "policy shiplift-pods or its binding is gone")
    outcomes = Outcomes()
    for _ in range(brake.ATTEMPTS_TO_PROVE + 1):
        outcomes = outcomes.remember([refused], world.now)
    decision = decide(eyes.observer.observe(outcomes), world.now)
    assert decision.reason is Reason.NOT_IN_FORCE
    assert "policy shiplift-pods or its binding is gone" in decision.message


# --- too many evictions ---


def told(world: World, evictions: int, most: int, uid: str = "") -> None:
    """The status counts so many evictions of `web`."""
    migration, row = world.migration, world.row_of(WEB)
    assert migration is not None
    assert row is not None
    line = WorkloadStatus(
        kind=DEPLOYMENT,
        namespace=WEB.namespace,
        name=WEB.name,
        state=WorkloadState.MOVING,
        uid=uid or row.uid,
        evictions=evictions,
        most_replicas=most,
    )
    world.publish(msgspec.structs.replace(migration.status, workloads=(line,)))


@pytest.mark.parametrize(
    ("evicted", "most", "stops"), [(5, 3, False), (6, 3, True), (7, 3, True), (6, 4, False), (8, 4, True)]
)
def test_more_than_two_evictions_a_replica_are_stopped(evicted: int, most: int, stops: bool) -> None:
    world = released(3)
    told(world, evicted, most)
    decision = decide(look(world), world.now)
    assert bool(evictions(decision)) is not stops
    if stops:
        assert decision.lines[WEB].reason is Reason.EVICTED_TOO_OFTEN
        assert f"stopped after {evicted} evictions for {most} replicas" in decision.lines[WEB].message
        assert "`shiplift pause` and then `shiplift resume`" in decision.lines[WEB].message


def test_evictions_of_an_earlier_workload_of_that_name_do_not_count() -> None:
    world = released(3)
    told(world, 60, 3, uid="another")
    assert evictions(decide(look(world), world.now))


def test_evictions_that_no_status_tells_yet_count_too() -> None:
    world = released(3)
    told(world, 5, 3)
    view = msgspec.structs.replace(look(world), evicted=Evicted({WEB: 1}))
    assert not evictions(decide(view, world.now))


def test_a_pause_begins_anew() -> None:
    world = released(3)
    told(world, 6, 3)
    migration = world.migration
    assert migration is not None
    world.migrate(paused=True)
    status = status_of(decide(look(world), world.now))
    assert [one.evictions for one in status.workloads] == [0]
    world.publish(status)
    world.migrate(paused=False)
    assert evictions(decide(look(world), world.now))


def test_the_status_counts_on_and_keeps_the_most_replicas() -> None:
    world = released(3)
    told(world, 4, 5)
    (line,) = status_of(decide(look(world), world.now), Evicted({WEB: 2}, {WEB: 1})).workloads
    assert (line.evictions, line.made_room, line.most_replicas) == (6, 1, 5)


def test_a_webhook_that_strips_our_rule_is_found_out_after_two_rounds() -> None:
    world = under_way((DEPLOYMENT, "web", 3))
    world.steers = False
    operator = Operator(world)
    for _ in range(80):
        operator.round()
        nature.tick(world)
        world.pass_time(5)
    migration = world.migration
    assert migration is not None
    (line,) = migration.status.workloads
    assert line.reason == Reason.EVICTED_TOO_OFTEN
    assert "without our rule: does a webhook take its node affinity off" in line.message
    assert migration.status.moves <= 6
    world.steers = True
    world.migrate(paused=True)
    operator.round()
    world.migrate(paused=False)
    finish(world, operator=operator)


def an_eviction(*, makes_room: bool = False) -> Evict:
    return Evict(WEB, "web-1", "uid", "old-1", "lane", makes_room=makes_room)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3)), max_size=30))
def test_what_is_told_is_counted_once(events: list[tuple[bool, int]]) -> None:
    """Whatever is evicted between asking and telling stays untold."""
    counting, told_so_far, noted = Evictions(), 0, 0
    for room, between in events:
        counting.note(an_eviction(makes_room=room))
        asked = counting.untold()
        for _ in range(between):
            counting.note(an_eviction())
        counting.told(asked)
        told_so_far += asked.total
        noted += 1 + between
    assert told_so_far + counting.untold().total == noted


def test_only_lines_with_evictions_are_counted() -> None:
    world = released(3)
    told(world, 0, 0)
    assert brake.counted(look(world)) == {}


def test_the_count_is_kept_where_the_status_has_no_room_for_all_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Lines of workloads that are blocked come first, and were all that was listed."""
    monkeypatch.setattr(report, "_MOST_BYTES", 20_000)
    world = under_way((DEPLOYMENT, "web", 3))
    missing = "apps/namespaces/shop/Deployment/missing"
    for number in range(80):
        blocked = type(NO_LABELS)({"config.kubernetes.io/depends-on": missing})
        world.workload(DEPLOYMENT, f"app-{number}", 0, annotations=blocked)
    world.steers = False
    operator = Operator(world)
    for _ in range(80):
        operator.round()
        nature.tick(world)
        world.pass_time(5)
    migration = world.migration
    assert migration is not None
    lines = migration.status.workloads
    assert migration.status.moves <= 6
    assert [one.reason for one in lines if one.name == "web"] == [Reason.EVICTED_TOO_OFTEN]
    assert len(lines) < 80
    assert list(lines) == sorted(lines, key=lambda one: one.name), "they are in their order still"


# --- pods that are made again ---


def a_rule(key: str, value: str = NEW) -> tuple[NodeTerm, ...]:
    return (NodeTerm((Requirement(key, "NotIn", (value,)),)),)


def with_terms(world: World, terms: tuple[NodeTerm, ...] | None) -> None:
    """The template of `web` has these."""
    row = world.row_of(WEB)
    assert row is not None
    change(world, "web", template=msgspec.structs.replace(row.template, node_terms=terms))


def test_a_workload_whose_template_keeps_its_pods_off_target_nodes_is_not_moved_and_says_so() -> None:
    """Its spec was copied from a pod of a held workload: whatever is made from it can go nowhere."""
    world = under_way((DEPLOYMENT, "web", 2))
    with_terms(world, a_rule(TARGET_LABEL))
    nature.settle(world)
    before = {pod.uid for pod in world.pods(WEB)}
    operator = Operator(world)
    for _ in range(40):
        operator.round()
        nature.tick(world)
        world.pass_time(5)
    assert world.migration is not None
    (line,) = world.migration.status.workloads
    assert (line.state, line.reason) == (WorkloadState.BLOCKED, Reason.TEMPLATE_KEEPS_OFF)
    assert "take shiplift.dev/target-version and" in line.message
    assert {pod.uid for pod in world.pods(WEB)} == before
    with_terms(world, None)
    finish(world, operator=operator)
    assert world.versions(WEB) == [NEW, NEW]


@pytest.mark.parametrize("terms", [None, a_rule(OFF_TARGET_LABEL), a_rule(TARGET_LABEL, OLD), ()])
def test_rules_that_let_pods_onto_target_nodes_stop_nothing(terms: tuple[NodeTerm, ...] | None) -> None:
    world = released()
    with_terms(world, terms)
    assert decide(look(world), world.now).lines[WEB].reason is not Reason.TEMPLATE_KEEPS_OFF


def test_a_template_that_keeps_off_target_nodes_stops_a_released_workload_and_does_not_hold_it_again() -> (
    None
):
    world = released()
    with_terms(world, a_rule(TARGET_LABEL))
    decision = decide(look(world), world.now)
    assert decision.lines[WEB].reason is Reason.TEMPLATE_KEEPS_OFF
    assert not [step for step in decision.steps if isinstance(step, WritePlacement)]


def test_a_surge_that_is_under_way_is_seen_to_its_end_whatever_the_template_says() -> None:
    world = released()
    say(world, RELEASED, {WEB.owner_key: Record(surge=Surge(3, 4))})
    with_terms(world, a_rule(TARGET_LABEL))
    assert decide(look(world), world.now).lines[WEB].reason is Reason.SURGING


def test_pods_that_keep_off_target_nodes_however_often_they_are_made_again_are_left_after_two_rounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A webhook adds the rule of held pods to every new one."""
    world = released(2)

    def admit(_owner: ReplicaSet | StatefulSet, spec: PodSpec) -> PodSpec:
        return msgspec.structs.replace(spec, node_terms=a_rule(TARGET_LABEL))

    monkeypatch.setattr(world, "admit_pod", admit)
    for name in ("old-1", "old-2"):
        node = world.named(Node, name, "")
        assert node is not None
        world.put(msgspec.structs.replace(node, unschedulable=True))
    operator, uids = Operator(world), set[str]()
    for _ in range(60):
        uids |= {pod.uid for pod in world.pods(WEB)}
        operator.round()
        nature.tick(world)
        world.pass_time(10)
    assert world.migration is not None
    (line,) = world.migration.status.workloads
    assert line.made_again == 4
    assert len(uids) <= 8, "two that were moved, and those that came after them"
    assert (line.state, line.reason) == (WorkloadState.BLOCKED, Reason.MADE_AGAIN_TOO_OFTEN)
    assert "stopped after 4 pending pods for 2 replicas were made again" in line.message
    assert "stopped after 4 pending pods" in world.migration.status.needs


def test_pods_of_one_workload_are_made_again_ever_more_slowly() -> None:
    world = released(1)
    made = Replace(WEB, "web-1", "one", 1)
    memory = contested.Memory()
    memory.note(made, world.now)
    after = Replace(WEB, "web-2", "another", 1)
    assert contested.wait(memory.changes, after, world.now)
    assert not contested.wait(memory.changes, Replace(an_id("api"), "api-1", "other", 1), world.now)
    assert not list(contested.told(memory.changes, [after])), "nobody has undone anything"
