"""What is old or unknown moves nothing: every kind that a decision reads, and every pod that the store should
have shown to go."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from benchmarks.rows import make
from shiplift.api.placements import Turn
from shiplift.api.values import ConditionStatus
from shiplift.api.workloads import Cleanup, Hold, Mode, WorkloadState
from shiplift.engine.barrier import Gone, Seen
from shiplift.engine.decision import Requeue
from shiplift.engine.step import Outcome, Outcomes, Step
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.facts.pods import Pod
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError, Look, Unknown
from shiplift.kube.events import Recorder
from shiplift.kube.unsettled import is_there
from shiplift.workloads.act.actor import Actor
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.decide.freshness import DISPENSABLE, may_be_told
from shiplift.workloads.memory import Evictions, InForce
from shiplift.workloads.model import Migrating, Reason, View
from shiplift.workloads.observe import doubts
from shiplift.workloads.observe.observer import READS, Observer
from shiplift.workloads.record import Record, Surge
from shiplift.workloads.steps import (
    DeleteHold,
    DeletePlacement,
    Evict,
    Force,
    MarkNode,
    RestoreBudget,
    Scale,
    SetFinalizer,
    SetTolerations,
    WritePlacement,
)
from shiplift.workloads.tell.publish import Publisher
from shiplift.workloads.tell.report import status_of
from tests.model import nature
from tests.workloads import server
from tests.workloads.players import residue
from tests.workloads.views import DEPLOYMENT, STATEFUL_SET, an_id, change, look, said, say, under_way
from tests.workloads.world import NEW, World, a_world

NOW = datetime(2030, 1, 1, tzinfo=UTC)
WEB, DB = an_id("web"), an_id("db", STATEFUL_SET)


def moving() -> World:
    world = under_way((STATEFUL_SET, "db", 3))
    say(world, {DB.owner_key: Turn.RELEASED})
    return world


def grow_old(world: World, kind: Kind) -> None:
    """Nothing was heard of that kind for longer than should be."""
    world._tables[kind].fresh_until = time.monotonic() - 1


# --- every kind ---


@pytest.mark.parametrize("kind", READS, ids=str)
def test_nothing_moves_while_any_kind_that_is_read_may_be_old(kind: Kind) -> None:
    world = moving()
    assert decide(look(world), NOW).steps
    grow_old(world, kind)
    decision = decide(look(world), NOW)
    assert decision.steps == ()
    assert decision.reason is Reason.STALE_VIEW
    assert str(kind) in decision.message
    assert isinstance(decision.look_again, Requeue), "no event says that it is fresh again"


@pytest.mark.parametrize("kind", READS, ids=str)
def test_nothing_is_begun_while_any_kind_that_is_read_may_be_old(kind: Kind) -> None:
    world = a_world()
    world.node("new-1", NEW)
    assert decide(look(world), NOW).reason is Reason.STARTING
    grow_old(world, kind)
    decision = decide(look(world), NOW)
    assert (decision.reason, decision.moving, decision.steps) == (Reason.STALE_VIEW, False, ())


# --- to undo ---


def half_way(**spec: Any) -> World:
    """With something of ours in every place: nodes, budgets, a placement, a template."""
    world = under_way((DEPLOYMENT, "web", 2), (DEPLOYMENT, "api", 2), mode=Mode.TEMPLATE, **spec)
    world.budget("api", {"app": "api"}, {"minAvailable": 1})
    world.order("shop", [(an_id("api"), an_id("nobody"))])
    undo_or_move(world, 8)
    placement = said(world)
    assert placement is not None
    assert placement.ledger
    assert "hold api" in residue(world)
    return world


def undo_or_move(world: World, rounds: int = 30) -> list[Step]:
    """As the operator does, from one look to the next."""
    taken: list[Step] = []
    for _ in range(rounds):
        decision = decide(look(world), world.now)
        for step in decision.steps:
            server.take(world, step, InForce())
        taken += decision.steps
        if may_be_told(decision):
            world.publish(status_of(decision))
        nature.tick(world)
        world.pass_time(5)
    return taken


def abort(world: World) -> None:
    world.migrate(abort=True)


def delete(world: World) -> None:
    world.end_migration()


def is_undone(world: World) -> bool:
    migration = world.migration
    return residue(world) == [] and (migration is None or migration.metadata.finalizers == ())


@pytest.mark.parametrize("kind", DISPENSABLE, ids=str)
@pytest.mark.parametrize("ends", [abort, delete])
def test_an_abort_or_deletion_is_carried_out_without_what_it_does_not_need(
    kind: Kind, ends: Callable[[World], None]
) -> None:
    world = half_way(hold=Hold.ALWAYS)
    ends(world)
    grow_old(world, kind)
    undo_or_move(world)
    assert is_undone(world)
    if world.migration is not None:
        assert world.migration.status.message == "aborted: workloads stay where they are"
        assert condition_of(world, "Ready") is ConditionStatus.TRUE


def condition_of(world: World, name: str) -> ConditionStatus:
    assert world.migration is not None
    return next(one.status for one in world.migration.status.conditions if one.type == name)


NEEDED = {
    kinds.NODE: (MarkNode,),
    kinds.POD_DISRUPTION_BUDGET: (DeleteHold, RestoreBudget),
    kinds.WORKLOAD_PLACEMENT: (WritePlacement, DeletePlacement, SetTolerations),
    kinds.DEPLOYMENT: (WritePlacement, DeletePlacement, SetTolerations),
    kinds.HORIZONTAL_POD_AUTOSCALER: (WritePlacement, DeletePlacement, SetTolerations),
}


@pytest.mark.parametrize("kind", NEEDED, ids=str)
def test_what_may_be_old_is_not_undone_and_told_and_all_else_is(kind: Kind) -> None:
    world = half_way(hold=Hold.ALWAYS)
    abort(world)
    grow_old(world, kind)
    taken = undo_or_move(world)
    assert taken
    assert not [step for step in taken if isinstance(step, (*NEEDED[kind], SetFinalizer))]
    assert world.migration is not None
    assert world.migration.status.message.startswith(f"what is known of {kind} may be old, and what it is")
    assert condition_of(world, "Stalled") is ConditionStatus.TRUE
    world._tables[kind].fresh_until = float("inf")
    undo_or_move(world)
    assert is_undone(world)


def test_tolerations_stay_while_nobody_knows_whether_taints_are_there() -> None:
    world = half_way(hold=Hold.ALWAYS, cleanup=Cleanup.IMMEDIATE)
    abort(world)
    grow_old(world, kinds.NODE)
    assert not [step for step in undo_or_move(world) if isinstance(step, SetTolerations)]


def test_tolerations_come_off_in_order_only_where_a_rollout_can_be_seen() -> None:
    world = half_way(hold=Hold.ALWAYS, cleanup=Cleanup.IMMEDIATE)
    abort(world)
    grow_old(world, kinds.POD)
    assert not [step for step in undo_or_move(world) if isinstance(step, SetTolerations)]
    assert world.migration is not None
    assert str(kinds.POD) in world.migration.status.message


def test_nothing_is_undone_from_what_may_be_old_and_all_of_it_when_it_is_fresh() -> None:
    world = under_way((DEPLOYMENT, "web", 2), mode=Mode.TEMPLATE)
    world.migrate(mode=Mode.TEMPLATE, abort=True)
    observer = Observer(cast("Any", world), lambda: True)
    grow_old(world, kinds.WORKLOAD_MIGRATION)
    assert decide(observer.observe(Outcomes()), NOW).steps == ()
    world._tables[kinds.WORKLOAD_MIGRATION].fresh_until = float("inf")
    assert decide(observer.observe(Outcomes()), NOW).steps, "though no event came"


def test_the_marks_of_a_surge_are_looked_for_where_pods_are_fresh() -> None:
    world = under_way((DEPLOYMENT, "web", 2))
    say(world, {WEB.owner_key: Turn.RELEASED}, {WEB.owner_key: Record(surge=Surge(2, 3))})
    change(world, "web", replicas=3)
    abort(world)
    grow_old(world, kinds.POD)
    assert not [step for step in undo_or_move(world) if isinstance(step, Scale | DeletePlacement)]
    world._tables[kinds.POD].fresh_until = float("inf")
    undo_or_move(world)
    assert is_undone(world)
    row = world.row_of(WEB)
    assert row is not None
    assert row.replicas == 2


class Refusing:
    """A client that must not be used."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was called")


def test_of_what_may_be_old_nothing_is_told_where_nothing_was_begun() -> None:
    world = a_world()
    world.node("new-1", NEW)
    grow_old(world, kinds.NODE)
    publisher = Publisher(cast("Client", Refusing()), cast("Recorder", Refusing()), Evictions())
    assert list(publisher.publish(decide(look(world), NOW))) == []


def test_of_an_undo_that_waits_for_what_is_old_the_status_tells() -> None:
    world = half_way(hold=Hold.ALWAYS)
    abort(world)
    grow_old(world, kinds.NODE)
    publisher = Publisher(cast("Client", Refusing()), cast("Recorder", Refusing()), Evictions())
    with pytest.raises(AssertionError, match="was called"):
        list(publisher.publish(decide(look(world), NOW)))


# --- pods that should be gone ---


class Answers:
    """What the API server says of a pod when it is asked, and how often it was."""

    def __init__(self, *, stays: bool) -> None:
        self.stays, self.asked = stays, 0

    def __call__(self, pod: Pod) -> bool:
        self.asked += 1
        return self.stays


def seen(world: World, outcomes: Outcomes, stays: doubts.Stays) -> View:
    observer = Observer(cast("Any", world), lambda: True, stays=stays)
    for row in world.placements():
        observer.in_force.note(row.uid, row.generation, observer.in_force.now())
    return observer.observe(outcomes)


def evictions(decision: Migrating) -> list[Step]:
    return [step for step in decision.steps if isinstance(step, Evict | Force)]


def silent(world: World) -> tuple[Step, Outcomes]:
    """The first pod was evicted, asked for again since nothing shows it, and is gone: the watch is dead."""
    (first,) = evictions(decide(look(world), NOW))
    assert isinstance(first, Evict)
    gone = Outcome.refused(first, "the object is gone")
    known = Outcomes().remember([gone], NOW)
    return first, known.with_unsettled([Gone(kinds.POD, first.uid)])


def test_with_a_silent_pod_watch_a_stateful_set_does_not_lose_a_second_pod() -> None:
    world = moving()
    first, outcomes = silent(world)
    answers = Answers(stays=False)
    decision = decide(seen(world, outcomes, answers), NOW)
    assert answers.asked == 1, "it is looked at live"
    assert {step.key for step in evictions(decision)} <= {first.key}
    assert decision.lines[DB].state is WorkloadState.MOVING
    assert f"evict {decision.view.tallies[DB].evicting[0].uid}" == first.key


def test_without_the_doubt_a_second_pod_would_go() -> None:
    """What the test above would see if nobody read what is unsettled: it can tell the two apart."""
    world = moving()
    first, outcomes = silent(world)
    blind = outcomes.with_unsettled([])
    waiting = blind.remember([Outcome.failed(cast("Step", first), "gone")], NOW)
    decision = decide(seen(world, waiting, Answers(stays=False)), NOW)
    assert {step.key for step in evictions(decision)} - {first.key}


def test_a_pod_that_is_there_live_counts_as_it_looks() -> None:
    world = moving()
    _, outcomes = silent(world)
    decision = decide(seen(world, outcomes.with_unsettled(outcomes.unsettled), Answers(stays=True)), NOW)
    tally = decision.view.tallies[DB]
    assert len(tally.pods) == 3
    assert not tally.evicting


def test_few_are_asked_about_in_one_look_and_not_again_at_once() -> None:
    world = under_way((DEPLOYMENT, "web", 9))
    uids = [pod.uid for pod in world.pods(WEB)]
    answers, now = Answers(stays=True), [100.0]
    asked = doubts.Doubts(answers, lambda: now[0])
    unsettled = [Seen(kinds.POD, 7), *(Gone(kinds.POD, uid) for uid in uids)]
    assert asked.leaving(unsettled, world.snapshot()) == frozenset(uids[doubts.MOST_AT_ONCE :])
    asked.leaving(unsettled, world.snapshot())
    assert asked.leaving(unsettled, world.snapshot()) == frozenset()
    assert answers.asked == 9
    assert asked.leaving(unsettled, world.snapshot()) == frozenset()
    assert answers.asked == 9
    now[0] += doubts.ASK_AGAIN
    asked.leaving(unsettled, world.snapshot())
    assert answers.asked == 9 + doubts.MOST_AT_ONCE


def test_a_pod_that_comes_into_doubt_again_is_asked_about_again() -> None:
    world = under_way((DEPLOYMENT, "web", 1))
    (pod,) = world.pods(WEB)
    answers, unsettled = Answers(stays=True), [Gone(kinds.POD, pod.uid)]
    asked = doubts.Doubts(answers, lambda: 100.0)
    asked.leaving(unsettled, world.snapshot())
    asked.leaving([], world.snapshot())
    answers.stays = False
    assert asked.leaving(unsettled, world.snapshot()) == {pod.uid}


def test_a_pod_that_the_store_has_no_more_is_nobody_s_doubt() -> None:
    world = under_way((DEPLOYMENT, "web", 1))
    (pod,) = world.pods(WEB)
    world.remove(pod)
    asked = doubts.Doubts(Answers(stays=False), time.monotonic)
    assert asked.leaving([Gone(kinds.POD, pod.uid)], world.snapshot()) == frozenset()


class Live:
    """A client that says what became of a removal."""

    def __init__(self, look: Look) -> None:
        self._look = look

    def resolve_unknown(self, doubt: Any) -> tuple[Look, dict[str, Any]]:
        assert doubt.path == "/api/v1/namespaces/shop/pods/one"
        return self._look, {}


@pytest.mark.parametrize(
    ("found", "there"), [(Look.APPLIED, False), (Look.NOT_APPLIED, True), (Look.STILL_UNKNOWN, False)]
)
def test_only_what_is_seen_to_be_there_counts_as_there(found: Look, there: bool) -> None:
    world = a_world()
    pod = world.put(_pod("one"))
    assert is_there(Live(found), kinds.POD, pod) is there


def _pod(name: str) -> Pod:
    return make(Pod, name, uid=f"uid-{name}", namespace="shop")


class Losing:
    """A client whose answers to evictions get lost."""

    def __init__(self, error: KubeError) -> None:
        self._error = error

    def evict(self, *_: Any, **__: Any) -> Any:
        raise self._error


@pytest.mark.parametrize(
    ("look_", "barriers"), [(Look.STILL_UNKNOWN, 1), (Look.NOT_APPLIED, 0)], ids=["unknown", "not-there"]
)
def test_a_pod_whose_eviction_may_have_happened_counts_as_leaving(look_: Look, barriers: int) -> None:
    world = moving()
    (step,) = evictions(decide(look(world), NOW))
    observer = Observer(cast("Any", world), lambda: True)
    for row in world.placements():
        observer.in_force.note(row.uid, row.generation, observer.in_force.now())
    client = cast("Client", Losing(Unknown("no answer", look=look_)))
    outcome = Actor(client, observer.in_force, observer.changes).act(step)
    assert len(outcome.barriers) == barriers
