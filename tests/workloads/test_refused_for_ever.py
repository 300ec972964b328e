"""A write that is refused for ever holds up only what it is for, and is told with what was answered."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from shiplift.api.marks import OFF_TARGET_LABEL
from shiplift.api.placements import PLACEMENT, Turn
from shiplift.api.workloads import Mode, OnBlockedWorkload, WorkloadState
from shiplift.engine.retries import EVERYDAY
from shiplift.engine.step import Answer, Outcome, Outcomes
from shiplift.facts import kinds
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.decide.waiting import line_of
from shiplift.workloads.model import Migrating, Reason
from shiplift.workloads.record import Record, Surge
from shiplift.workloads.steps import Evict, MarkNode, MarkPod, PodStep, Replace, Rescue, WritePlacement
from shiplift.workloads.tell.report import status_of
from tests.model import nature
from tests.operated import NEW as NEW_VERSION
from tests.operated import OLD
from tests.workloads.halfway import Json, wait_line
from tests.workloads.rig import Scene
from tests.workloads.views import DEPLOYMENT, an_id, change, change_pod, look, say, under_way
from tests.workloads.webhooks import VALIDATING, Webhook
from tests.workloads.world import World

WHY = "failed calling webhook x: connection refused"
OTHER = an_id("other", namespace="team-b")


def two_teams() -> World:
    """The placement of shop is there, that of team-b is not."""
    world = under_way((DEPLOYMENT, "web", 3))
    say(world, {"Deployment.web": Turn.RELEASED})
    world.workload(DEPLOYMENT, "other", 1, "team-b")
    nature.settle(world)
    change_pod(world, world.pods(OTHER)[0], node="old-1")
    return world


def answered(world: World, key: str, attempt: int, answer: Answer = Answer.REFUSED) -> Outcomes:
    at = world.now - timedelta(minutes=10)
    return Outcomes(last={key: Outcome(step=key, answer=answer, message=WHY, attempt=attempt, at=at)})


def refused_placement(attempt: int, answer: Answer = Answer.REFUSED) -> Migrating:
    world = two_teams()
    known = answered(world, WritePlacement.key_for("team-b"), attempt, answer)
    return decide(look(world, known), world.now)


def evicts(decision: Migrating) -> bool:
    return any(isinstance(step, Evict) for step in decision.steps)


def test_a_placement_that_may_still_be_written_is_waited_for() -> None:
    assert not evicts(refused_placement(EVERYDAY))


@pytest.mark.parametrize("answer", [Answer.REFUSED, Answer.UNKNOWN, Answer.FAILED])
def test_a_placement_that_is_refused_for_ever_holds_up_its_own_namespace_only(answer: Answer) -> None:
    decision = refused_placement(EVERYDAY + 1, answer)
    assert evicts(decision)
    assert all(step.workload != OTHER for step in decision.steps if isinstance(step, Evict))
    assert any(isinstance(step, WritePlacement) for step in decision.steps), "it is tried again"


def test_it_is_told_in_the_notes_and_in_the_line_of_each_workload_of_its_namespace() -> None:
    decision = refused_placement(EVERYDAY + 1)
    line = decision.lines[OTHER]
    assert (line.state, line.reason) == (WorkloadState.BLOCKED, Reason.REFUSED)
    assert line.message == f"WorkloadPlacement team-b/{PLACEMENT} cannot be written: {WHY}"
    assert any("team-b" in note and WHY in note for note in decision.notes)
    assert WHY in status_of(decision).needs


def unmarked(attempt: int, seconds: float) -> Migrating:
    """An old node lacks its label, and the write was answered so often by an error."""
    world = under_way((DEPLOYMENT, "web", 3))
    say(world, {"Deployment.web": Turn.RELEASED})
    node = next(one for one in world.all(Node) if OFF_TARGET_LABEL in one.labels)
    world.put(msgspec.structs.replace(node, labels=Labels()))
    view = look(world, answered(world, f"{MarkNode.PREFIX}{node.uid}", attempt))
    return decide(msgspec.structs.replace(view, unmarked={node.name: seconds}), world.now)


def test_why_a_node_cannot_be_labelled_is_told() -> None:
    decision = unmarked(EVERYDAY + 1, 600.0)
    assert decision.reason is Reason.NODE_NOT_MARKED
    assert f"it cannot be labelled: {WHY}" in decision.message
    assert "keep others from taking the label off" not in decision.message


def test_a_node_that_lacks_its_label_for_long_is_told_in_words_that_stay() -> None:
    early, late = unmarked(1, 11.0), unmarked(1, 600.0)
    assert early.message == late.message
    assert early.lines == late.lines


def untainted(attempt: int) -> Migrating:
    """Mode Template: one target node lacks its taint, and the write was refused so often."""
    world = under_way((DEPLOYMENT, "web", 2), mode=Mode.TEMPLATE)
    node = next(one for one in world.all(Node) if one.name == "new-2")
    world.put(msgspec.structs.replace(node, taints=()))
    return decide(look(world, answered(world, f"{MarkNode.PREFIX}{node.uid}", attempt)), world.now)


def test_a_node_that_may_still_be_tainted_is_waited_for() -> None:
    decision = untainted(EVERYDAY)
    line = decision.lines[an_id("web")]
    assert (line.state, line.reason, decision.stalled) == (WorkloadState.MOVING, Reason.PREPARING, False)


def test_a_node_that_can_never_be_tainted_stalls_all_and_is_named_with_what_was_answered() -> None:
    decision = untainted(EVERYDAY + 1)
    line, told = decision.lines[an_id("web")], status_of(decision)
    assert (line.state, line.reason) == (WorkloadState.BLOCKED, Reason.NODE_NOT_MARKED)
    assert f"node new-2 cannot be tainted, so pods could come to it before their turn: {WHY}" in line.message
    assert (decision.stalled, decision.reason) == (True, Reason.NODE_NOT_MARKED)
    assert (told.needs, told.blocked, told.eta) == (line.message, 1, None)
    assert any(isinstance(step, MarkNode) for step in decision.steps), "it is tried again"


def refused_of(world: World, kind: type[PodStep]) -> Migrating:
    """The decision once what it wants to do to a pod was refused for ever."""
    step = next(one for one in decide(look(world), world.now).steps if isinstance(one, kind))
    return decide(look(world, answered(world, step.key, EVERYDAY + 1)), world.now)


def check_told(decision: Migrating, what: str) -> None:
    line = line_of(decision, decision.view.tallies[an_id("web")])
    assert (line.state, line.reason) == (WorkloadState.BLOCKED, Reason.REFUSED)
    assert line.message.endswith(f"{what}: {WHY}")
    assert status_of(decision).blocked == 1


def test_a_pod_that_cannot_be_put_first_to_go_is_told_of_a_surge() -> None:
    world = under_way((DEPLOYMENT, "web", 2), on_blocked=OnBlockedWorkload.SURGE)
    world.budget("web", {"app": "web"}, {"minAvailable": "100%"})
    say(world, {"Deployment.web": Turn.RELEASED}, {"Deployment.web": Record(surge=Surge(2, 3))})
    change(world, "web", replicas=3)
    nature.settle(world)
    decision = refused_of(world, MarkPod)
    check_told(decision, "first to go")
    assert WHY in status_of(decision).needs


def stranded(mode: Mode) -> World:
    """The pod of web, which waits for db, is pending: old nodes are closed."""
    world = under_way((DEPLOYMENT, "web", 1), (DEPLOYMENT, "db", 1), mode=mode)
    world.order("order", [(an_id("web"), an_id("db"))])
    for node in [one for one in world.all(Node) if one.name.startswith("old")]:
        world.put(msgspec.structs.replace(node, unschedulable=True))
    nature.delete(world, world.pods(an_id("web"))[0])
    nature.settle(world)
    return world


def test_a_pod_that_cannot_be_let_go_before_its_turn_is_told_and_is_no_exception_to_the_order() -> None:
    world = stranded(Mode.TEMPLATE)
    world.publish(status_of(decide(look(world), world.now)))
    assert world.migration is not None
    assert len(world.migration.status.exceptions) == 1
    decision = refused_of(world, Rescue)
    check_told(decision, "before its turn")
    assert decision.exceptions == ()


def test_a_pod_that_cannot_be_brought_back_is_told() -> None:
    world = under_way((DEPLOYMENT, "web", 1))
    say(world, {"Deployment.web": Turn.RELEASED})
    nature.delete(world, world.pods(an_id("web"))[0])
    for node in [one for one in world.all(Node) if one.name.startswith("new")]:
        world.remove(node)
    nature.settle(world)
    say(world, {"Deployment.web": Turn.HELD})
    check_told(refused_of(world, Replace), "for the nodes that are left")


# --- on a real API server ---


def shop_and_team(scene: Scene) -> tuple[str, str]:
    scene.nodes("old", OLD)
    shop, team = scene.namespace(), scene.namespace("team-b")
    scene.deployment(shop, "web", 2)
    scene.deployment(team, "other", 1)
    scene.wait_ready(shop, web=2)
    scene.wait_ready(team, other=1)
    scene.nodes("new", NEW_VERSION)
    return shop, team


def test_a_webhook_that_is_down_for_one_namespace_stops_that_namespace_only(scene: Scene) -> None:
    shop, team = shop_and_team(scene)
    webhook = Webhook(scene.rig, VALIDATING, "down.example.com", lambda _: {})
    rule = {
        "apiGroups": ["shiplift.dev"],
        "apiVersions": ["*"],
        "operations": ["*"],
        "resources": ["workloadplacements"],
    }
    nobody = {"url": "https://127.0.0.1:1/"}
    webhook.watch(team, "workloadplacements", rules=[rule], clientConfig=nobody)
    try:
        scene.migrate()
        scene.rig.start()
        line = wait_line(scene, "other", reason="Refused", state="Blocked")
        assert f"WorkloadPlacement {team}/{PLACEMENT} cannot be written" in line["message"]
        assert "down.example.com" in line["message"]
        scene.wait(lambda: scene.arrived(shop, "web"))
        assert any("down.example.com" in note for note in scene.status()["notes"])
    finally:
        webhook.close()
    scene.wait(lambda: scene.arrived(team, "other"))


def test_a_placement_behind_the_finalizer_of_somebody_is_told_with_the_finalizer(scene: Scene) -> None:
    shop, team = shop_and_team(scene)
    body: Json = {
        "metadata": {"name": PLACEMENT, "finalizers": ["example.com/kept"]},
        "spec": {"target": "v0", "turns": {}, "ledger": {}},
    }
    scene.client.create(kinds.WORKLOAD_PLACEMENT, body, team)
    scene.drop(kinds.WORKLOAD_PLACEMENT, PLACEMENT, team)
    scene.migrate()
    scene.rig.start()
    line = wait_line(scene, "other", reason="Refused", state="Blocked")
    assert "finalizers of others (example.com/kept)" in line["message"]
    scene.wait(lambda: scene.arrived(shop, "web"))
    scene.change(kinds.WORKLOAD_PLACEMENT, team, PLACEMENT, {"metadata": {"finalizers": None}})
    scene.wait(lambda: scene.arrived(team, "other"), 60)
