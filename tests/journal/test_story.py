"""What is told of an upgrade: of nodes, of workloads, of waits; and what nobody saw."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.api.nodes import Blocker, NodeState, NodeStatus, RolloutPhase
from shiplift.api.upgrade import Granted, Plan, Request, TurnOf, UpgradeTurn, Verb
from shiplift.api.values import Condition, ConditionStatus
from shiplift.api.workloads import (
    LastMove,
    MigrationState,
    MoveOutcome,
    OrderException,
    WorkloadKind,
    WorkloadState,
    WorkloadStatus,
)
from shiplift.facts import kinds
from shiplift.facts.meta import Owner
from shiplift.journal.face.report import markdown
from shiplift.journal.model import Chapter, NodeStory, WorkloadStory
from tests.journal.desk import START, Desk
from tests.model.world import NEW, OLD, SPACE

DOINGS = ("add", "end", "gone", "ready", "unready")


def texts(story: NodeStory | WorkloadStory | Chapter) -> list[str]:
    return [one.text for one in story.entries]


def workload(chapter: Chapter, name: str = "web") -> WorkloadStory:
    return next(one for one in chapter.workloads if one.name == f"Deployment {SPACE}/{name}")


def condition(kind: str, reason: str = "Done", *, holds: bool = True) -> Condition:
    status = ConditionStatus.TRUE if holds else ConditionStatus.FALSE
    return Condition(type=kind, status=status, reason=reason, last_transition_time=START)


def held(state: WorkloadState = WorkloadState.HELD, **given: str) -> WorkloadStatus:
    return WorkloadStatus(
        kind=WorkloadKind.DEPLOYMENT, namespace=SPACE, name="web", state=state, uid="web-uid", **given
    )


def test_while_nothing_runs_nothing_is_written() -> None:
    desk = Desk()
    desk.node("a")
    view, decision = desk.look()
    assert (view.recording, decision.steps, desk.shelf.text) == (False, (), "")


def test_a_node_that_is_changed_is_told_of_from_its_cordon_to_its_end() -> None:
    desk = Desk()
    desk.node("a")
    desk.node("idle")
    desk.upgrade()
    desk.look()
    for change in ({}, {"ready": False}, {"version": NEW, "ready": False}, {"version": NEW}):
        desk.later()
        desk.node("a", **{"unschedulable": True, **change})
    desk.later()
    desk.node("a", NEW, unschedulable=False)
    (story,) = desk.told().nodes
    assert (story.name, story.was, story.runs) == ("a", OLD, NEW)
    assert texts(story)[0] == "cordoned"
    assert f"{OLD} -> {NEW}" in texts(story)
    assert texts(story)[-1] == "takes pods again"


def test_nodes_that_come_and_go_are_told() -> None:
    desk = Desk()
    old = desk.node("old")
    desk.upgrade()
    desk.look()
    desk.node("new", NEW)
    desk.later()
    desk.world.remove(old)
    told = {one.name: texts(one) for one in desk.told().nodes}
    assert told == {"new": [f"joined with {NEW}"], "old": ["left the cluster"]}


def test_what_keeps_a_node_from_being_drained_is_a_wait_with_its_cause() -> None:
    desk = Desk()
    desk.node("a")
    desk.upgrade()
    desk.look()
    blocker = Blocker(pod="shop/db-0", budget="shop/db", message="needs 2, has 2")
    record = NodeStatus(name="a", uid="x", state=NodeState.DRAINING, reason="DrainBlocked")
    desk.rollout(NodeStatus(name="a", uid="x", state=NodeState.DRAINING, blockers=(blocker,), reason="Kept"))
    desk.look()
    desk.later(90)
    desk.rollout(record)
    (story,) = desk.told().nodes
    (wait,) = story.waits
    assert texts(story) == ["draining"]
    assert wait.end is not None
    assert wait.end - wait.start == timedelta(seconds=90)
    assert (wait.reason, wait.cause) == (
        "Kept",
        "pod shop/db-0 is kept by PodDisruptionBudget shop/db: needs 2, has 2",
    )


def test_a_node_that_failed_is_told_with_why() -> None:
    desk = Desk()
    desk.node("a")
    desk.upgrade()
    desk.look()
    desk.rollout(NodeStatus(name="a", uid="x", state=NodeState.FAILED, message="apt says no"))
    assert texts(desk.told().nodes[0]) == ["failed: apt says no"]


def test_the_least_of_a_workload_that_was_ready_is_told_with_the_moment() -> None:
    desk = Desk()
    desk.deployment("web", 3)
    pods = [desk.pod("web") for _ in range(3)]
    desk.upgrade()
    desk.look()
    desk.later()
    desk.change(pods[0], deleting=1)
    desk.change(pods[1], ready=False)
    moment = desk.now
    desk.later()
    desk.change(pods[1], ready=True)
    desk.pod("web", node="m")
    least = workload(desk.told()).least
    assert least is not None
    assert (least.ready, least.of, least.at) == (1, 3, moment)


def test_a_workload_that_was_always_whole_says_so() -> None:
    desk = Desk()
    desk.deployment("web", 2)
    for _ in range(2):
        desk.pod("web")
    desk.upgrade()
    desk.look()
    extra = desk.pod("web")
    desk.later()
    desk.change(extra, deleting=1)
    least = workload(desk.told()).least
    assert least is not None
    assert (least.ready, least.of) == (2, 2)


def test_scaling_up_is_no_shortage_and_scaling_down_neither() -> None:
    desk = Desk()
    desk.deployment("web", 2)
    pods = [desk.pod("web") for _ in range(2)]
    desk.upgrade()
    desk.look()
    desk.deployment("web", 4)
    pods += [desk.pod("web") for _ in range(2)]
    desk.later()
    desk.deployment("web", 1)
    for one in pods[1:]:
        desk.world.remove(one)
    least = workload(desk.told()).least
    assert least is not None
    assert least.ready == least.of


def test_pods_that_are_given_a_node_are_moves_and_those_from_before_are_not() -> None:
    desk = Desk()
    desk.deployment("web", 2)
    old = [desk.pod("web") for _ in range(2)]
    desk.later()
    desk.upgrade()
    desk.look()
    for one in old:
        desk.world.remove(one)
        made = desk.pod("web", ready=False, node="")
        desk.change(made, node="m")
        desk.change(made, node="m", ready=True)
        desk.later()
    assert workload(desk.told()).moves == 2


def test_pods_of_nobody_and_of_other_owners_are_no_workload() -> None:
    desk = Desk()
    desk.upgrade()
    desk.look()
    desk.pod("web")
    desk.pod("lone", owners=())
    desk.pod("agent", owners=(Owner("DaemonSet", "agent", "ds", controller=True),))
    assert [one.name for one in desk.told().workloads] == [f"Deployment {SPACE}/web"]


def test_a_workload_that_is_held_waits_for_what_the_migration_says_and_has_moved_in_the_end() -> None:
    desk = Desk()
    desk.deployment("web", 1)
    desk.pod("web")
    desk.upgrade()
    desk.migrate(workloads=(held(reason="WaitsForDependency", message="waits for api 0/4"),))
    desk.look()
    desk.later(30)
    desk.migrate(workloads=(held(WorkloadState.RELEASED),))
    desk.later()
    desk.migrate(workloads=(held(WorkloadState.MOVING),))
    desk.later()
    desk.migrate(met=("web-uid",))
    story = workload(desk.told())
    assert texts(story) == ["its turn has come", "moving", "moved"]
    (wait,) = story.waits
    assert (wait.reason, wait.cause) == ("WaitsForDependency", "waits for api 0/4")
    assert wait.end is not None
    assert wait.end - wait.start == timedelta(seconds=30)


def test_exceptions_are_told_once_each() -> None:
    desk = Desk()
    desk.upgrade()
    one = OrderException(pod="shop/web-1", workload="Deployment shop/web", reason="NodeGone", at=START)
    desk.migrate(exceptions=(one,))
    desk.look()
    desk.migrate(exceptions=(one,), message="more")
    (told,) = desk.told().exceptions
    assert (told.pod, told.reason) == ("shop/web-1", "NodeGone")


def test_steps_turns_and_what_people_asked_for_are_told_in_order() -> None:
    desk = Desk()
    desk.upgrade(turn=UpgradeTurn(of=TurnOf.NODES, since=START, pools=("blue",)))
    desk.look()
    desk.later()
    asked = Request(verb=Verb.PAUSE, by="alice", reason="lunch", at=desk.now)
    desk.upgrade(requests=(asked,), conditions=(condition("ControlPlaneUpgraded"),))
    desk.look()
    desk.upgrade(requests=(asked,), conditions=(condition("ControlPlaneUpgraded"),), message="again")
    told = texts(desk.told())
    assert told[0].startswith("the turn of whoever adds nodes (pools blue)")
    assert told[1:] == ["the control plane is upgraded", "pause, asked for by alice: lunch"]


def test_what_was_asked_for_before_the_start_is_not_told() -> None:
    desk = Desk()
    before = Request(verb=Verb.PAUSE, by="alice", at=START - timedelta(hours=1))
    desk.upgrade(requests=(before,))
    assert texts(desk.told()) == []


def test_an_approval_of_the_beginning_of_all_time_is_told_like_any_other() -> None:
    desk, digest = Desk(), f"sha256:{'a' * 64}"
    at = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=12)))
    desk.upgrade(
        approved=Granted(version=NEW, plan_digest=digest, by="ada", at=at),
        plan=Plan(digest=digest, version=NEW),
    )
    (said,) = texts(desk.told())
    assert said.startswith("the plan was approved by ada at ")


def test_who_approved_the_plan_that_runs_is_told_once() -> None:
    desk = Desk()
    digest = f"sha256:{'a' * 64}"
    granted = Granted(
        version=NEW, plan_digest=digest, by="ada", reason="change 4711", at=START - timedelta(hours=1)
    )
    plan = Plan(digest=digest, version=NEW)
    for words in ("it runs", "again"):
        desk.upgrade(approved=granted, plan=plan, message=words)
        desk.look()
    hour_before = f"{START - timedelta(hours=1):%Y-%m-%d %H:%M} UTC"
    assert texts(desk.told()) == [f"the plan was approved by ada at {hour_before}: change 4711"]
    another = Desk()
    another.upgrade(approved=granted, plan=Plan(digest=f"sha256:{'b' * 64}", version=NEW))
    assert texts(another.told()) == []


def test_a_stalled_upgrade_waits_and_goes_on() -> None:
    desk = Desk()
    desk.upgrade(conditions=(condition("Stalled", "StepStalled"),), message="node a is stuck")
    desk.look()
    desk.later(60)
    desk.upgrade(message="it goes on")
    (wait,) = desk.told().waits
    assert (wait.about, wait.reason, wait.cause) == ("the upgrade", "StepStalled", "node a is stuck")
    assert wait.end == START + timedelta(seconds=60)


def test_a_pause_is_a_wait_although_nothing_is_wrong() -> None:
    desk = Desk()
    desk.upgrade(reason="Paused", message="paused")
    assert [one.reason for one in desk.told().waits] == ["Paused"]


def test_an_upgrade_ends_as_its_history_says() -> None:
    desk = Desk()
    desk.upgrade()
    desk.look()
    desk.later(300)
    desk.upgrade(runs=False)
    view, _ = desk.look()
    (told,) = view.journal.chapters
    assert (told.outcome, told.end, told.preceding) == ("Upgraded", desk.now, OLD)
    assert not view.recording
    desk.later(300)
    desk.node("later", NEW)
    assert desk.told() == told, "what happens afterwards is not of the upgrade"


def test_an_upgrade_whose_object_is_gone_ends_too() -> None:
    desk = Desk()
    desk.upgrade()
    desk.look()
    desk.gone(kinds.UPGRADE_CONFIG)
    assert desk.told().outcome == "its UpgradeConfig is gone"


def test_a_second_upgrade_is_a_second_chapter() -> None:
    desk = Desk()
    desk.migrate()
    desk.look()
    desk.later()
    desk.upgrade()
    view, _ = desk.look()
    told = [one.about for one in view.journal.chapters]
    assert told == ["UpgradeConfig cluster", "WorkloadMigration cluster"]


@pytest.mark.parametrize("outcome", [MoveOutcome.MOVED, MoveOutcome.ABORTED])
def test_a_move_that_nobody_conducts_has_a_chapter(outcome: MoveOutcome) -> None:
    desk = Desk()
    desk.migrate()
    desk.look()
    desk.later()
    last = LastMove(target=NEW, outcome=outcome, start_time=START, complete_time=desk.now)
    desk.migrate(MigrationState.NO_UPGRADE, last=last)
    told = desk.told()
    assert (told.about, told.outcome) == ("WorkloadMigration cluster", outcome.value)


def test_a_rollout_that_nobody_conducts_has_a_chapter() -> None:
    desk = Desk()
    desk.rollout(phase=RolloutPhase.RUNNING, start_time=START)
    desk.look()
    desk.later()
    desk.rollout(phase=RolloutPhase.COMPLETE, start_time=START, complete_time=desk.now)
    told = desk.told()
    assert (told.about, told.outcome, told.end) == ("NodeRollout r", "Complete", desk.now)


def test_a_new_leader_goes_on_where_the_last_one_was_and_says_when_nobody_watched() -> None:
    desk = Desk()
    desk.node("a")
    desk.deployment("web", 1)
    desk.pod("web")
    desk.upgrade()
    desk.look()
    desk.later()
    desk.node("a", unschedulable=True)
    desk.look()
    left = desk.now
    desk.observer = Desk().observer
    desk.later(120)
    desk.node("a", NEW)
    desk.lead()
    told = desk.told()
    assert [(one.start, one.end) for one in told.gaps] == [(left, desk.now)]
    (story,) = told.nodes
    assert texts(story)[0] == "cordoned"
    assert texts(story)[-1].startswith(f"found at {NEW}")
    assert len(desk.stored().chapters) == 1


def test_an_end_that_a_new_leader_finds_is_taken_from_the_history() -> None:
    desk = Desk()
    desk.upgrade()
    desk.look()
    desk.observer = Desk().observer
    desk.later(60)
    desk.upgrade(runs=False)
    ended = desk.now
    desk.later(600)
    desk.lead()
    told = desk.told()
    assert (told.outcome, told.end) == ("Upgraded", ended)


def test_news_that_are_older_than_what_was_found_are_told_once() -> None:
    desk = Desk()
    desk.deployment("web", 1)
    desk.upgrade()
    made: list[object] = []
    snapshot = desk.world.snapshot

    def slow(*of: kinds.Kind) -> object:
        if kinds.POD in of and not made:
            made.append(desk.change(desk.pod("web", node="", ready=False), node="n", ready=True))
            made.append(desk.node("a", NEW))
        return snapshot(*of)

    desk.world.snapshot = slow  # type: ignore[method-assign,assignment]
    told = desk.told()
    assert made
    assert told.nodes == ()
    assert [(one.name, one.moves) for one in told.workloads] == [(f"Deployment {SPACE}/web", 0)]


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(DOINGS)), max_size=40))
def test_the_least_is_what_counting_all_pods_each_time_would_say(doings: list[tuple[int, str]]) -> None:
    desk = Desk()
    desk.deployment("web", 3)
    pods = {number: desk.pod("web") for number in range(3)}
    desk.upgrade()
    desk.look()
    least = 3
    for number, doing in doings:
        one = pods.get(number)
        if doing == "add" and one is None:
            pods[number] = desk.pod("web")
        elif one is not None and doing == "gone":
            desk.world.remove(pods.pop(number))
        elif one is not None and doing == "end":
            pods[number] = desk.change(one, deleting=1)
        elif one is not None and not one.deleting:
            pods[number] = desk.change(one, ready=doing != "unready")
        least = min(least, sum(pod.ready and not pod.deleting for pod in pods.values()))
    told = workload(desk.told()).least
    assert told is not None
    assert (told.ready, told.of) == (least, 3)


def test_an_upgrade_whose_journal_is_lost_is_not_told_as_one_in_which_nothing_happened() -> None:
    desk = Desk()
    desk.node("a")
    desk.upgrade()
    desk.look()
    desk.later(600)
    desk.node("a", NEW)
    desk.look()
    desk.later(600)
    desk.shelf.text = ""
    desk.lead()
    told = desk.told()
    assert [(one.start, one.end) for one in told.gaps] == [(START, desk.now)]
    assert "nobody watched from 12:00:00 to 12:20:00" in markdown(told)


def test_an_upgrade_that_is_watched_from_its_start_has_no_gap() -> None:
    desk = Desk()
    desk.later(10)
    desk.upgrade()
    assert desk.told().gaps == ()
