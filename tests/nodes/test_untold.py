"""What cannot be done is told where it is wanted, and no longer once it can."""

from __future__ import annotations

from shiplift.api.nodes import Hooks
from shiplift.api.values import Hook
from shiplift.engine.step import Outcome, Outcomes, Step
from shiplift.nodes.steps import Cordon, MakeHook, SetFinalizer
from tests.nodes.stage import Stage, decided
from tests.nodes.world import START

HOOKS = Hooks(before=(Hook(name="noout", namespace="shop", service_account_name="hooks", job={}),))


def _failing(stage: Stage, kind: type[Step], why: str) -> Outcomes:
    (step,) = [one for one in decided(stage).steps if isinstance(one, kind)]
    return Outcomes().remember([Outcome.failed(step, why)], START)


def test_a_step_of_a_node_that_fails_is_told_in_its_record() -> None:
    stage = Stage(1, hooks=HOOKS)
    stage.until(lambda: stage.told.nodes)
    failed = _failing(stage, MakeHook, "jobs.batch is forbidden")
    for _ in range(2):
        (record,) = decided(stage, outcomes=failed).told[0].status.nodes
        assert record.message.startswith(
            "hook noout runs before it is cordoned (cannot be done: run hook noout"
        )
        assert record.message.endswith("jobs.batch is forbidden)")
        assert record.message.count("cannot be done") == 1
        stage.world.publish(stage.world.rollouts["next"], decided(stage, outcomes=failed).told[0].status)
    (record,) = decided(stage).told[0].status.nodes
    assert record.message == "hook noout runs before it is cordoned"


def test_a_step_of_the_rollout_that_fails_is_told_in_its_message() -> None:
    stage = Stage(1)
    decision = decided(stage, outcomes=_failing(stage, SetFinalizer, "noderollouts is forbidden"))
    assert decision.told[0].message.endswith(
        "(cannot be done: put our finalizer on NodeRollout next: noderollouts is forbidden)"
    )


def test_a_refusal_is_everyday_and_not_told() -> None:
    stage = Stage(1)
    stage.until(lambda: stage.told.nodes)
    (step,) = [one for one in decided(stage).steps if isinstance(one, Cordon)]
    refused = Outcomes().remember([Outcome.refused(step, "somebody was faster")], START)
    (record,) = decided(stage, outcomes=refused).told[0].status.nodes
    assert "cannot be done" not in record.message
