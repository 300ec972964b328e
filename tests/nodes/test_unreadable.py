"""What a node says that nobody understands: its own matter, told, and over some day."""

from __future__ import annotations

import json
from typing import cast

import msgspec
import pytest

from shiplift.agent.protocol import OUTCOME, READY
from shiplift.api.nodes import Hooks, NodeRollout, NodeState, RolloutPass, RolloutPhase
from shiplift.api.values import Hook
from shiplift.engine.step import Outcomes
from shiplift.kube.claims import ClaimBook
from shiplift.kube.client import Client
from shiplift.kube.errors import Forbidden
from shiplift.kube.statuses import as_patch
from shiplift.nodes.model import HookState, Reason
from shiplift.nodes.observe.asking import asking
from shiplift.nodes.observe.members import member
from tests.nodes.players import SILENT, nature
from tests.nodes.seen import Seen, record
from tests.nodes.stage import Stage, decided, told
from tests.nodes.world import Machine

HOURS = 3600.0


@pytest.mark.parametrize("text", ["[" * 2000, '{"a":' * 1000, "{", '"x"'])
def test_any_annotation_of_an_agent_is_one_nodes_problem(text: str) -> None:
    node = Machine("a", "uid-a")
    node.annotations[OUTCOME] = text
    assert OUTCOME in member(node.row()).problem
    seen = Seen()
    seen.roll(record(seen.node("b")))
    seen.annotate(seen.node("a"), {OUTCOME: text})
    assert seen.observer.observe(Outcomes()).members["b"].problem == ""


def _claimed(stage: Stage) -> str:
    stage.until(lambda: stage.node("w-0").annotations.get(READY, "").startswith("false Packages"))
    return stage.node("w-0").annotations[READY].split()[1]


def test_half_a_character_in_a_message_is_stored_as_a_question_mark() -> None:
    stage = Stage(2)
    token = _claimed(stage)
    said = json.dumps({"token": token, "result": "Failed", "message": "bad \ud800 thing"})
    stage.node("w-0").annotations |= {READY: f"true {token}", OUTCOME: said}
    stage.world.touched(stage.node("w-0"))
    (one,) = decided(stage).told
    stored = msgspec.json.encode(as_patch(one.rollout.status, one.status))
    assert b"bad ? thing" in stored


def _wait(stage: Stage, hours: float = 1) -> None:
    for _ in range(int(hours * 6)):
        stage.operator.round()
        nature(stage.world)
        stage.world.pass_time(600)


def test_a_node_in_flight_whose_agent_is_not_understood_fails_in_the_end() -> None:
    stage = Stage(3)
    _claimed(stage)
    node = stage.node("w-0")
    node.fails = SILENT
    node.annotations[OUTCOME] = '{"protocol": 2, "token": "x", "result": "Done"}'
    stage.world.touched(node)
    _wait(stage)
    record_ = stage.record("w-0")
    assert (record_.state, record_.reason) == (NodeState.QUARANTINED, Reason.UNREADABLE)
    assert (stage.phase(), stage.told.failures) == (RolloutPhase.STOPPED, 1)
    stage.world.delete()
    _wait(stage)
    assert (stage.world.rollouts, stage.judge.closed()) == ({}, ["w-0"])


def test_an_agent_that_never_ends_another_order_is_told_and_its_node_stays_cordoned() -> None:
    stage = Stage(2)
    stage.until(lambda: any(one.state is NodeState.DRAINING for one in stage.told.nodes))
    node = stage.node("w-0")
    node.fails = SILENT
    node.annotations[READY] = f"false Packages.1.old-rollout.{node.uid}"
    stage.world.touched(node)
    _wait(stage, 2)
    assert stage.record("w-0").reason == Reason.AGENT_SILENT
    assert "is at work on another order (Packages.1.old-rollout." in stage.record("w-0").message
    assert (stage.phase(), stage.judge.closed()) == (RolloutPhase.STOPPED, ["w-0"])


def test_a_node_whose_agent_is_at_work_for_somebody_else_is_not_begun() -> None:
    stage = Stage(1)
    stage.until(lambda: stage.told.running_pass is RolloutPass.WORKERS)
    node = stage.node("w-0")
    node.annotations[READY] = f"false Packages.1.old-rollout.{node.uid}"
    view = decided(stage, rollouts=(_without_records(stage),))
    assert told(view)[1] == "the agent of node w-0 is at work on another order"


def _without_records(stage: Stage) -> NodeRollout:
    rollout = stage.world.rollouts["next"]
    return msgspec.structs.replace(rollout, status=msgspec.structs.replace(rollout.status, nodes=()))


def test_a_changed_node_whose_agent_falls_silent_is_judged_by_its_kubelet() -> None:
    stage = Stage(1)
    token = _claimed(stage)
    node = stage.node("w-0")
    node.renews = False
    stage.until(lambda: node.annotations.get(READY) == f"true {token}")
    stage.until(lambda: stage.record("w-0").state is NodeState.VERIFYING)
    node.fails = SILENT
    del node.annotations[READY]
    stage.world.touched(node)
    for _ in range(200):
        stage.operator.round()
        stage.world.pass_time(30)
    assert (stage.record("w-0").state, stage.judge.closed()) == (NodeState.QUARANTINED, ["w-0"])


class _Forbidding:
    """A client whose rights were taken away."""

    def get(self, *_: object) -> None:
        raise Forbidden("jobs may not be read", status=403)


def test_a_job_that_may_not_be_read_is_unknown_and_its_node_waits() -> None:
    asked = asking(cast("Client", _Forbidding()), cast("ClaimBook", None))
    job = asked.job(("team", "hook-1"))
    assert job is not None
    assert (job.state, job.message) == (HookState.UNKNOWN, "403: jobs may not be read")
    stage = Stage(1, hooks=Hooks(before=(_HOOK,)))
    stage.until(lambda: stage.world.jobs)
    (key,) = stage.world.jobs
    lost = decided(stage, hooks={key: job})
    (told,) = lost.told[0].status.nodes
    assert told.message == f"Job {job.namespace}/{job.name} of hook tell cannot be read: {job.message}"
    assert lost.steps == ()


_HOOK = Hook(name="tell", namespace="shop", service_account_name="hooks", job={})
