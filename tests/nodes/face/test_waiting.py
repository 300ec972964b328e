"""`shiplift wait` for rollouts: the exit code tells if nodes are changed, never will be, or need help."""

from __future__ import annotations

import pytest

from shiplift.api.nodes import NodeRollout, NodeState, RolloutPhase
from shiplift.cli.output import CommandError, Exit
from shiplift.cli.sections import Seen, Told, done
from shiplift.cli.wait import Waiting
from shiplift.nodes.face.rollouts import rollouts_view
from shiplift.nodes.face.status import STATUS
from tests.nodes.face.rollouts import NOW, a_record, a_rollout

BEGIN, PATIENCE, TIMEOUT = 100.0, 60.0, 600.0
BLOCKED = a_record("a", NodeState.DRAINING, 90, reason="DrainBlocked", message="1 pod left")


def seen(*rollouts: NodeRollout) -> Seen:
    return Seen((Told("nodes", STATUS, rollouts_view(rollouts, NOW, None)),), None, stale=False)


def ends(*rollouts: NodeRollout, after: float = TIMEOUT) -> tuple[Exit, str]:
    """How a wait ends that sees the same at its beginning and so many seconds later."""
    time = [BEGIN]
    waiting = Waiting(TIMEOUT, PATIENCE, lambda: time[0])
    try:
        if waiting.is_over(seen(*rollouts)):
            return Exit.FINE, done(seen(*rollouts))
        time[0] += after
        assert not waiting.is_over(seen(*rollouts))
    except CommandError as error:
        return error.code, error.message
    raise AssertionError("it goes on")


def test_it_ends_well_when_every_node_runs_what_it_should() -> None:
    assert ends(a_rollout(phase=RolloutPhase.COMPLETE)) == (Exit.FINE, "every node runs what it should")


@pytest.mark.parametrize(
    ("rollouts", "message"),
    [
        ((a_rollout(phase=RolloutPhase.ABORTED),), "NodeRollout r was aborted: nodes stay as they are"),
        ((), "there is no NodeRollout in this cluster"),
    ],
)
def test_it_ends_when_it_will_not_come_to_that(rollouts: tuple[NodeRollout, ...], message: str) -> None:
    assert ends(*rollouts) == (Exit.ACT, message)


@pytest.mark.parametrize(
    ("rollout", "message"),
    [
        (a_rollout(phase=RolloutPhase.STOPPED, stalled="1 node failed"), "stalled: 1 node failed"),
        (
            a_rollout(observed_generation=0),
            "stalled: no operator with the layer nodes has looked at NodeRollout r yet: `shiplift operator`"
            " runs one",
        ),
        (
            a_rollout(phase=RolloutPhase.PAUSED, spec={"paused": True}),
            "stalled: paused: `shiplift resume rollout/r` goes on",
        ),
    ],
)
def test_it_ends_when_somebody_has_to_help_for_too_long(rollout: NodeRollout, message: str) -> None:
    assert ends(rollout, after=PATIENCE) == (Exit.STALLED, message)


@pytest.mark.parametrize("rollout", [a_rollout(phase=RolloutPhase.RUNNING), a_rollout(BLOCKED)])
def test_else_it_ends_with_its_time(rollout: NodeRollout) -> None:
    """A drain that a budget blocks may go on by itself."""
    assert ends(rollout) == (Exit.TIMEOUT, "not done in 600 s")
