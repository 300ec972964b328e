"""Surging, state by state: recorded, raised, all Ready, marked, lowered, gone; and when others meddle."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from shiplift.api.placements import Turn, WorkloadPlacementSpec
from shiplift.api.workloads import Mode, OnBlockedWorkload, WorkloadState
from shiplift.engine.step import Step
from shiplift.facts.meta import Labels
from shiplift.facts.pods import Pod
from shiplift.facts.workloads import HorizontalPodAutoscaler, PodDisruptionBudget
from shiplift.room.booking import Booking, NoSlot
from shiplift.workloads.decide import surging
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.decide.surging import Surging, surge
from shiplift.workloads.model import Reason
from shiplift.workloads.names import SURGE_LEDGER
from shiplift.workloads.record import RECORDS, Record, Surge
from shiplift.workloads.steps import MarkPod, Scale, WritePlacement
from tests.examples import tries
from tests.model import nature
from tests.workloads import server
from tests.workloads.players import Operator
from tests.workloads.sketches import Moment, scripts
from tests.workloads.views import (
    DEPLOYMENT,
    STATEFUL_SET,
    an_id,
    change,
    change_pod,
    look,
    said,
    say,
    tally,
    under_way,
)
from tests.workloads.world import NEW, OLD, World

WEB = an_id("web")
PLAN = Surge(2, 3)


def a_shop(plan: Surge | None = None, replicas: int = 2, **spec: Any) -> World:
    """A Deployment that no budget lets go, released."""
    world = under_way((DEPLOYMENT, "web", replicas), on_blocked=OnBlockedWorkload.SURGE, **spec)
    world.budget("web", {"app": "web"}, {"minAvailable": "100%"})
    say(world, {WEB.owner_key: Turn.RELEASED}, {WEB.owner_key: Record(surge=plan)} if plan else {})
    nature.settle(world)
    return world


def next_of(world: World, name: str = "web") -> Surging:
    view = look(world)

    def no_slot(pod: Pod) -> NoSlot | None:
        found = Booking(view.room).book(pod, leaving=False)
        return found if isinstance(found, NoSlot) else None

    return surge(view, tally(view, name), no_slot, world.now)


def take(world: World, *steps: Step) -> None:
    for step in steps:
        assert server.take(world, step, {}).ok


def raised(plan: Surge = PLAN) -> World:
    world = a_shop(plan)
    change(world, "web", replicas=3)
    nature.settle(world)
    return world


def old_pods(world: World) -> list[Pod]:
    return [pod for pod in world.pods(WEB) if pod.node.startswith("old")]


def seconds(world: World) -> int:
    return int(world.now.timestamp())


def write(world: World, record: Record) -> None:
    say(world, {WEB.owner_key: Turn.RELEASED}, {WEB.owner_key: record} if record else {})


def follow(world: World) -> Surging:
    """Do what is to be done until nothing is."""
    for _ in range(20):
        if not (found := next_of(world)).steps and found.record is None:
            return found
        take(world, *found.steps)
        if found.record is not None:
            write(world, found.record)
        nature.settle(world)
    raise AssertionError(f"no end: {next_of(world)}")


def scaler(world: World) -> HorizontalPodAutoscaler:
    (row,) = world.all(HorizontalPodAutoscaler)
    return row


# --- the way ---


def test_first_it_is_written_down_how_many_there_were() -> None:
    world = a_shop()
    found = next_of(world)
    assert (found.steps, found.record) == ((), Record(surge=Surge(2, 3, at=seconds(world))))


def test_written_down_one_more_is_asked_for() -> None:
    (step,) = next_of(a_shop(PLAN)).steps
    assert isinstance(step, Scale)
    assert step.replicas == 3


def test_until_the_new_pod_is_ready_nothing_is_done() -> None:
    world = a_shop(PLAN)
    change(world, "web", replicas=3)
    found = next_of(world)
    assert (found.steps, found.message) == ((), "2 of 3 pods are Ready")


def test_with_all_ready_an_old_pod_is_put_first_to_go() -> None:
    world = raised()
    (step,) = next_of(world).steps
    assert isinstance(step, MarkPod)
    assert step.first_to_go
    assert step.uid in {pod.uid for pod in old_pods(world)}


def test_marked_the_replica_is_taken_back_and_the_marked_pod_goes() -> None:
    world = raised()
    (mark,) = next_of(world).steps
    take(world, mark)
    (step,) = next_of(world).steps
    assert isinstance(step, Scale)
    assert step.replicas == 2
    take(world, step)
    nature.settle(world)
    assert isinstance(mark, MarkPod)
    assert mark.uid not in {pod.uid for pod in world.pods(WEB)}


def test_lowered_while_the_old_pod_is_leaving_it_waits() -> None:
    world = a_shop(PLAN)
    change_pod(world, world.pods(WEB)[0], deleting=1)
    assert next_of(world).steps == ()


def test_with_pods_left_to_move_it_goes_round_again() -> None:
    world = raised()
    for _ in range(2):
        take(world, *next_of(world).steps)
    nature.settle(world)
    assert len(old_pods(world)) == 1
    again = next_of(world).record
    assert again == Record(surge=Surge(2, 3, at=seconds(world), there=1))
    assert again is not None
    write(world, again)
    (step,) = next_of(world).steps
    assert isinstance(step, Scale)
    assert step.replicas == 3


def test_with_none_left_the_record_is_taken_out() -> None:
    world = a_shop(PLAN)
    for pod in world.pods(WEB):
        change_pod(world, pod, node="new-1")
    found = next_of(world)
    assert (found.steps, found.record) == ((), Record())


def test_a_mark_that_is_left_comes_off_before_the_record() -> None:
    world = a_shop(PLAN)
    for pod in world.pods(WEB):
        change_pod(world, pod, node="new-1", annotations=Labels({SURGE_LEDGER: "1"}))
    found = next_of(world)
    assert [type(step) for step in found.steps] == [MarkPod, MarkPod]
    assert found.record is None


def test_the_whole_way_moves_every_pod_and_leaves_nothing() -> None:
    world = a_shop()
    for _ in range(40):
        found = next_of(world)
        take(world, *found.steps)
        if found.record is not None:
            say(world, {WEB.owner_key: Turn.RELEASED}, {WEB.owner_key: found.record} if found.record else {})
        nature.settle(world)
        if found.record == Record():
            break
    assert world.versions(WEB) == [NEW, NEW]
    assert not any(pod.annotations for pod in world.pods(WEB))


# --- pause, and no room ---


def test_paused_nothing_begins_and_what_has_begun_ends() -> None:
    found = next_of(a_shop(paused=True))
    assert (found.reason, found.record) == (Reason.PAUSED, None)
    found = next_of(a_shop(PLAN, paused=True))
    assert (found.steps, found.record) == ((), Record())


def test_without_a_slot_nothing_begins() -> None:
    world = a_shop()
    for name in ("new-1", "new-2"):
        node = next(one for one in look(world).room.eligible.values() if one.name == name).node
        assert node is not None
        world.put(msgspec.structs.replace(node, unschedulable=True))
    found = next_of(world)
    assert (found.reason, found.record) == (Reason.NO_SLOT, None)


# --- somebody else ---


def test_somebody_elses_number_stays_and_ours_is_forgotten() -> None:
    world = a_shop(PLAN)
    change(world, "web", replicas=5)
    nature.settle(world)
    found = next_of(world)
    assert (found.steps, found.record) == ((), Record())
    assert found.message == "replicas were set to 5 by somebody else"


def test_overtaken_marks_come_off_and_the_floor_goes_back_first() -> None:
    plan = Surge(2, 3, "web-scaler", 2)
    world = a_shop(plan)
    world.autoscaler(WEB, 3, 9, desired_replicas=6)
    nature.settle(world)
    change_pod(world, world.pods(WEB)[0], annotations=Labels({SURGE_LEDGER: "1"}))
    found = next_of(world)
    assert [type(step) for step in found.steps] == [MarkPod, Scale]
    assert found.record is None


@pytest.mark.parametrize("policy", [OnBlockedWorkload.WAIT, OnBlockedWorkload.STOP, OnBlockedWorkload.FORCE])
def test_where_nobody_wants_surges_any_more_the_one_under_way_ends_and_no_other_begins(
    policy: OnBlockedWorkload,
) -> None:
    world = raised()
    world.migrate(on_blocked=policy)
    for _ in range(2):
        take(world, *next_of(world).steps)
    nature.settle(world)
    assert len(old_pods(world)) == 1
    found = next_of(world)
    assert (found.steps, found.record) == ((), Record())


# --- autoscalers ---


def test_a_floor_above_the_replicas_is_never_lowered() -> None:
    world = a_shop(Surge(2, 3, "web-scaler", 5))
    world.autoscaler(WEB, 5, 9)
    (step,) = next_of(world).steps
    assert isinstance(step, Scale)
    assert (step.autoscaler, step.replicas) == ("", 3)


def test_an_autoscaler_has_its_floor_raised_first() -> None:
    world = a_shop()
    world.autoscaler(WEB, 2, 5, desired_replicas=2)
    plan = Surge(2, 3, "web-scaler", 2, seconds(world))
    assert next_of(world).record == Record(surge=plan)
    say(world, {WEB.owner_key: Turn.RELEASED}, {WEB.owner_key: Record(surge=plan)})
    (step,) = next_of(world).steps
    assert isinstance(step, Scale)
    assert (step.autoscaler, step.replicas, step.uid) == ("web-scaler", 3, scaler(world).uid)


def test_an_autoscaler_gets_its_floor_back_before_the_replica_is_taken_back() -> None:
    world = raised(Surge(2, 3, "web-scaler", 2))
    world.autoscaler(WEB, 3, 5, desired_replicas=2)
    take(world, *next_of(world).steps)
    (step,) = next_of(world).steps
    assert isinstance(step, Scale)
    assert (step.autoscaler, step.replicas) == ("web-scaler", 2)


def test_a_floor_that_somebody_else_set_stays() -> None:
    world = raised(Surge(2, 3, "web-scaler", 1))
    world.autoscaler(WEB, 2, 5, desired_replicas=3)
    view = look(world)
    steps = surging.undo(tally(view, "web"), Surge(2, 3, "web-scaler", 1))
    assert [step.autoscaler for step in steps if isinstance(step, Scale)] == [""]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            {"labels": Labels({surging.KEDA: "shop"})},
            "KEDA sets its replicas; raise minReplicaCount of ScaledObject shop",
        ),
        ({"ceiling": 2}, "HorizontalPodAutoscaler web-scaler is at its most, 2"),
    ],
)
def test_where_an_autoscaler_stands_in_the_way_it_is_said_what_to_do(
    given: dict[str, Any], text: str
) -> None:
    world = a_shop()
    world.autoscaler(WEB, 2, given.pop("ceiling", 5), desired_replicas=2, **given)
    found = next_of(world)
    assert (found.reason, found.steps, found.record) == (Reason.SURGE_IMPOSSIBLE, (), None)
    assert text in found.message


def test_a_stateful_set_cannot_surge() -> None:
    world = under_way((STATEFUL_SET, "db", 1), on_blocked=OnBlockedWorkload.SURGE, mode=Mode.INJECT)
    assert next_of(world, "db").reason is Reason.SURGE_IMPOSSIBLE


# --- given up ---


def never_ready(world: World) -> Pod:
    """The replica more crashes, over and over."""
    (pod,) = [pod for pod in world.pods(WEB) if not pod.node.startswith("old")]
    return change_pod(world, pod, ready=False, waiting="CrashLoopBackOff")


def test_a_replica_that_is_not_ready_in_time_is_taken_back_and_told() -> None:
    world = raised(Surge(2, 3, at=1))
    say(world, {WEB.owner_key: Turn.RELEASED}, {WEB.owner_key: Record(surge=Surge(2, 3, at=seconds(world)))})
    pod = never_ready(world)
    world.pass_time(599)
    assert (next_of(world).steps, next_of(world).due) == ((), (1.0,))
    world.pass_time(1)
    found = next_of(world)
    assert (found.reason, found.steps) == (Reason.SURGE_FAILED, ())
    told = follow(world)
    assert told.message == (
        f"its replica more was not Ready within 10m (pod {pod.name}: CrashLoopBackOff); it was taken back:"
        " once that is mended, `shiplift pause` and then `shiplift resume` try again"
    )
    assert world.versions(WEB) == [OLD, OLD]
    row = world.row_of(WEB)
    assert row is not None
    assert row.replicas == 2


def gave_up(world: World) -> World:
    write(world, Record(surge=Surge(2, 3, at=1)))
    never_ready(world)
    assert follow(world).reason is Reason.SURGE_FAILED
    return world


def test_a_time_that_is_yet_to_come_does_not_prolong_the_wait_for_a_replica() -> None:
    """Written by a leader whose clock was ahead; its pod tells for how long it has been waited for."""
    world = raised(Surge(2, 3, at=seconds(a_shop()) + 3600))
    pod = never_ready(world)
    change_pod(world, pod, created=seconds(world))
    world.pass_time(599)
    assert next_of(world).reason is Reason.SURGING
    world.pass_time(1)
    assert next_of(world).reason is Reason.SURGE_FAILED


def test_given_up_the_workload_is_blocked_and_is_not_raised_again() -> None:
    world = gave_up(raised())
    decision = decide(look(world), world.now)
    line = decision.lines[WEB]
    assert (line.state, line.reason) == (WorkloadState.BLOCKED, Reason.SURGE_FAILED)
    assert not [step for step in decision.steps if isinstance(step, Scale)]


def test_given_up_a_number_that_somebody_sets_later_stays() -> None:
    world = gave_up(raised())
    change(world, "web", replicas=3)
    nature.settle(world)
    record = RECORDS.readable("", placement(world).ledger)[0][WEB.owner_key]
    assert record.surge is not None
    assert (next_of(world).steps, surging.undo(tally(look(world), "web"), record.surge)) == ((), ())


def placement(world: World) -> WorkloadPlacementSpec:
    found = said(world)
    assert found is not None
    return found


@pytest.mark.parametrize("way", ["paused", "arrived", "another policy"])
def test_given_up_it_is_forgotten_when_somebody_has_acted(way: str) -> None:
    world = gave_up(raised())
    if way == "paused":
        world.migrate(paused=True)
    elif way == "another policy":
        world.migrate(on_blocked=OnBlockedWorkload.FORCE)
    else:
        for pod in world.pods(WEB):
            change_pod(world, pod, node="new-1")
    assert next_of(world).record == Record()


def test_given_up_it_is_forgotten_when_its_budget_gives_way() -> None:
    world = gave_up(raised())
    (uid,) = world.documents
    world.write_budget(
        world.documents[uid] | {"spec": {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 1}}
    )
    nature.settle(world)
    (step,) = [one for one in decide(look(world), world.now).steps if isinstance(one, WritePlacement)]
    assert step.ledger == {}


def test_given_up_it_is_not_forgotten_while_the_budget_still_counts_the_replica() -> None:
    """The status of a budget is behind by a moment: with the replica more it seems to let one go."""
    world = gave_up(raised())
    (uid,) = world.documents
    row = world.get(PodDisruptionBudget, uid)
    assert row is not None
    world.put(msgspec.structs.replace(row, min_available=2, expected_pods=3))
    decision = decide(look(world), world.now)
    assert decision.lines[WEB].reason is Reason.SURGE_FAILED
    assert not [one for one in decision.steps if isinstance(one, WritePlacement)]


def test_a_replica_that_went_to_an_old_node_is_taken_back_and_none_on_a_target_goes() -> None:
    world = raised(Surge(2, 3, there=1))
    first, *_, last = sorted(world.pods(WEB), key=lambda pod: (pod.created, pod.name))
    change_pod(world, first, node="new-1")
    change_pod(world, last, node="old-2")
    found = next_of(world)
    assert (found.reason, found.steps) == (Reason.SURGE_FAILED, ())
    assert found.message.startswith(f"pod {last.name}, its replica more, went to old node old-2;")
    assert follow(world).reason is Reason.SURGE_FAILED
    assert world.versions(WEB) == [OLD, NEW]
    assert not any(pod.annotations for pod in world.pods(WEB))


def test_a_replica_that_somebody_takes_back_again_and_again_is_given_up() -> None:
    """As GitOps does that knows the number of replicas."""
    world = a_shop()
    operator, raises = Operator(world), 0
    for _ in range(60):
        operator.round()
        row = world.row_of(WEB)
        assert row is not None
        raises += row.replicas == 3
        change(world, "web", replicas=2)
        nature.settle(world)
        world.pass_time(40)
    assert raises == surging.MOST_RAISES
    decision = decide(look(world), world.now)
    assert decision.lines[WEB].message.startswith("somebody else sets its replicas back whenever a surge")


def crash_on_target_nodes(world: World) -> None:
    for pod in world.pods(WEB):
        if pod.node.startswith("new"):
            change_pod(world, pod, ready=False, waiting="CrashLoopBackOff")


@settings(max_examples=tries(60))
@given(scripts)
def test_interrupted_anywhere_a_surge_that_never_is_ready_is_taken_back(script: list[Moment]) -> None:
    world = a_shop()
    operator = Operator(world)
    for moment in (*script, *[Moment()] * 30):
        operator.round(cut=moment.cut, backwards=moment.backwards, publishes=moment.publishes)
        if moment.dies:
            operator.die()
            operator = Operator(world)
        for _ in range(moment.ticks):
            nature.tick(world)
            crash_on_target_nodes(world)
            world.pass_time(60)
    row = world.row_of(WEB)
    assert row is not None
    assert (row.replicas, world.versions(WEB)) == (2, [OLD, OLD])
    assert not any(pod.annotations for pod in world.pods(WEB))
    assert decide(look(world), world.now).lines[WEB].reason is Reason.SURGE_FAILED


def test_who_undoes_a_surge_is_named_while_it_is_tried() -> None:
    world = a_shop()
    operator = Operator(world)
    for _ in range(6):
        operator.round()
        change(world, "web", replicas=2)
        nature.settle(world)
        world.pass_time(40)
    assert operator.decision is not None
    assert operator.decision.notes == (
        "Deployment shop/web: somebody else sets its replicas back while a surge moves its pods;"
        " keep them from it while the migration runs",
    )


# --- undoing ---


@pytest.mark.parametrize(("replicas", "expected"), [(2, []), (3, [2]), (7, [])])
def test_undone_only_our_own_number_is_taken_back(replicas: int, expected: list[int]) -> None:
    world = a_shop(PLAN)
    change(world, "web", replicas=replicas)
    steps = surging.undo(tally(look(world), "web"), PLAN)
    assert [step.replicas for step in steps if isinstance(step, Scale)] == expected


def test_undone_marks_come_off() -> None:
    world = raised()
    take(world, *next_of(world).steps)
    steps = surging.undo(tally(look(world), "web"), PLAN)
    assert [type(step) for step in steps] == [MarkPod, Scale]
