"""What is old or unknown moves nothing: every kind that a decision reads, and every pod that the store should
have shown to go."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from benchmarks.rows import make
from shiplift.api.workloads import Mode, Turn, WorkloadState
from shiplift.engine.barrier import Gone
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
from shiplift.workloads.memory import Evictions
from shiplift.workloads.model import Migrating, Reason, View
from shiplift.workloads.observe import doubts
from shiplift.workloads.observe.observer import READS, Observer
from shiplift.workloads.steps import Evict, Force
from shiplift.workloads.tell.publish import Publisher
from tests.workloads.views import DEPLOYMENT, STATEFUL_SET, an_id, look, say, under_way
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


def test_nothing_is_undone_from_what_may_be_old_and_all_of_it_when_it_is_fresh() -> None:
    world = under_way((DEPLOYMENT, "web", 2), mode=Mode.TEMPLATE)
    world.migrate(mode=Mode.TEMPLATE, abort=True)
    observer = Observer(cast("Any", world), lambda: True)
    grow_old(world, kinds.WORKLOAD_MIGRATION)
    assert decide(observer.observe(Outcomes()), NOW).steps == ()
    world._tables[kinds.WORKLOAD_MIGRATION].fresh_until = float("inf")
    assert decide(observer.observe(Outcomes()), NOW).steps, "though no event came"


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
    unsettled = [Gone(kinds.POD, uid) for uid in uids]
    assert len(asked.leaving(unsettled, world.snapshot())) == 9 - doubts.MOST_AT_ONCE
    asked.leaving(unsettled, world.snapshot())
    assert asked.leaving(unsettled, world.snapshot()) == frozenset()
    assert answers.asked == 9
    assert asked.leaving(unsettled, world.snapshot()) == frozenset()
    assert answers.asked == 9
    now[0] += doubts.ASK_AGAIN
    asked.leaving(unsettled, world.snapshot())
    assert answers.asked == 9 + doubts.MOST_AT_ONCE


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
