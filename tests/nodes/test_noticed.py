"""No pod is asked to go before Kubernetes' own controllers have noticed the cordon of its node."""

from __future__ import annotations

from shiplift.api.nodes import NodeState
from shiplift.engine.step import Step
from shiplift.nodes.names import NOTICED_WITHIN
from shiplift.nodes.steps import Evict
from tests.nodes.players import Operator, tick
from tests.nodes.stage import Stage


def evictions(stage: Stage) -> list[tuple[str, bool]]:
    """Filled from now on: the node of each pod that is asked to go, and whether its cordon is noticed."""
    seen: list[tuple[str, bool]] = []

    def note(step: Step) -> None:
        if isinstance(step, Evict):
            seen.append((step.node, stage.node(step.node).tainted))

    stage.world.listeners.append(note)
    return seen


def drains(stage: Stage) -> bool:
    return any(one.state is NodeState.DRAINING for one in stage.told.nodes)


def go_on(stage: Stage, seconds: int) -> None:
    for _ in range(seconds):
        stage.operator.round()
        tick(stage.world, stage.judge.look)


def test_while_nobody_leads_the_controllers_no_pod_is_asked_to_go_and_that_is_told() -> None:
    stage = Stage(1)
    stage.world.led = False
    seen = evictions(stage)
    stage.until(lambda: drains(stage))
    go_on(stage, 20)
    assert not seen
    assert stage.record("w-0").message == (
        "2 pods left; none is asked to go before Kubernetes' controllers taint it with"
        " node.kubernetes.io/unschedulable, or 60 s"
    )
    stage.world.led = True
    stage.finish()
    stage.well()
    assert all(noticed for _, noticed in seen)


def test_where_no_controllers_run_that_is_waited_for_once_and_told() -> None:
    stage = Stage(3)
    stage.world.led = False
    seen = evictions(stage)
    stage.until(lambda: drains(stage))
    begun = stage.world.now
    stage.until(lambda: seen, NOTICED_WITHIN + 5)
    assert (stage.world.now - begun).total_seconds() >= NOTICED_WITHIN - 2
    assert stage.record("w-0").message.endswith(
        "; Kubernetes' controllers did not taint it with node.kubernetes.io/unschedulable in 60 s:"
        " none seem to run"
    )
    waited = stage.world.now
    stage.until(lambda: stage.told.phase == "Complete", 90)
    stage.well()
    assert (stage.world.now - waited).total_seconds() < NOTICED_WITHIN
    assert {node for node, _ in seen} == {"w-0", "w-1", "w-2"}


def test_another_operator_waits_anew_and_no_longer() -> None:
    stage = Stage(1)
    stage.world.led = False
    seen = evictions(stage)
    stage.until(lambda: drains(stage))
    go_on(stage, 30)
    stage.operator = Operator(stage.world)
    go_on(stage, NOTICED_WITHIN - 5)
    assert not seen
    go_on(stage, 10)
    assert seen
