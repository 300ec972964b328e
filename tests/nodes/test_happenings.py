"""Which Events are told of the way from one status to the next, and in which words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from shiplift.api.nodes import (
    Blocker,
    NodeRolloutStatus,
    NodeState,
    NodeStatus,
    RolloutPass,
    RolloutPhase,
)
from shiplift.api.values import Condition, ConditionStatus, Progress
from shiplift.nodes.model import Reason, kept
from shiplift.nodes.tell.happenings import Happening, blocked, of_nodes, of_rollout

AT = datetime(2026, 11, 1, tzinfo=UTC)


def a_status(stalled: str = "", reconciling: str = "", **given: Any) -> NodeRolloutStatus:
    said = {"Stalled": stalled, "Reconciling": reconciling}
    conditions = tuple(
        Condition(type=kind, status=ConditionStatus.TRUE, reason=reason, last_transition_time=AT)
        for kind, reason in said.items()
        if reason
    )
    known = {"phase": RolloutPhase.RUNNING, "message": "something", "conditions": conditions}
    return NodeRolloutStatus(**known | given)


def reasons(before: NodeRolloutStatus, after: NodeRolloutStatus) -> list[tuple[str, bool]]:
    return [(one.reason, one.warning) for one in of_rollout(before, after)]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (a_status(), a_status(message="else"), []),
        (a_status(), a_status(start_time=AT), [("Started", False)]),
        (a_status(start_time=AT), a_status(start_time=AT), []),
        (
            a_status(running_pass=RolloutPass.PREPARE),
            a_status(running_pass=RolloutPass.WORKERS),
            [("PassStarted", False)],
        ),
        (a_status(), a_status(stalled="Stopped"), [("Stopped", True)]),
        (a_status(stalled="Stopped"), a_status(stalled="Stopped", message="else"), []),
        (a_status(stalled="Stopped"), a_status(), [("GoesOn", False)]),
        (a_status(), a_status(reconciling=Reason.WINDOW_CLOSED.value), [("WindowClosed", False)]),
        (a_status(), a_status(reconciling=Reason.PAUSED.value), [("Paused", False)]),
        (a_status(), a_status(reconciling=Reason.ROLLING.value), []),
        (a_status(), a_status(reconciling=Reason.AGENT_UNHEARD.value), [("AgentUnheard", True)]),
        (a_status(), a_status(phase=RolloutPhase.COMPLETE), [("Complete", False)]),
        (a_status(stalled="Stopped"), a_status(phase=RolloutPhase.COMPLETE), [("Complete", False)]),
        (a_status(), a_status(phase=RolloutPhase.ABORTED), [("Aborted", True)]),
        (a_status(phase=RolloutPhase.COMPLETE), a_status(phase=RolloutPhase.COMPLETE), []),
    ],
)
def test_a_rollout_tells_its_turns(
    before: NodeRolloutStatus, after: NodeRolloutStatus, told: list[tuple[str, bool]]
) -> None:
    assert reasons(before, after) == told


def test_its_start_says_how_many_nodes() -> None:
    (one,) = of_rollout(a_status(), a_status(start_time=AT, progress=Progress.of(0, 7)))
    assert one.note == "the first of 7 nodes is begun"


def a_record(state: NodeState, reason: Reason | None = None, **given: Any) -> NodeStatus:
    said = {"reason": reason.value if reason else None, "message": "its message"}
    return NodeStatus(name="a", uid="u", state=state, **said | given)


def on_node(before: NodeStatus | None, after: NodeStatus | None) -> Happening | None:
    was, now = (NodeRolloutStatus(nodes=(one,) if one else ()) for one in (before, after))
    told = list(of_nodes("r", was, now))
    assert all((one.name, one.uid) == ("a", "u") for one in told)
    assert len(told) < 2
    return told[0].told if told else None


WAITING = a_record(NodeState.WAITING, Reason.CHOSEN)
DRAINING = a_record(NodeState.DRAINING, Reason.DRAINING)
CHANGING = a_record(NodeState.CHANGING, Reason.WAITS_FOR_AGENT)
VERIFYING = a_record(NodeState.VERIFYING, Reason.VERIFYING)


@pytest.mark.parametrize(
    ("before", "after", "reason", "warning"),
    [
        (None, WAITING, "RolloutBegun", False),
        (DRAINING, CHANGING, "Drained", False),
        (CHANGING, VERIFYING, "Changed", False),
        (CHANGING, a_record(NodeState.CHANGING, Reason.AGENT_UNHEARD), "AgentUnheard", True),
        (VERIFYING, None, "RolledOut", False),
        (DRAINING, None, "GivenBack", False),
        (CHANGING, a_record(NodeState.REVERTING, Reason.AGENT_FAILED), "AgentFailed", True),
        (CHANGING, a_record(NodeState.FAILED, Reason.TIMED_OUT), "TimedOut", True),
        (CHANGING, a_record(NodeState.QUARANTINED, Reason.QUARANTINED), "Quarantined", True),
        (None, a_record(NodeState.SKIPPED, Reason.OPTED_OUT), "OptedOut", False),
    ],
)
def test_a_node_tells_its_turns(
    before: NodeStatus | None, after: NodeStatus | None, reason: str, warning: bool
) -> None:
    told = on_node(before, after)
    assert told is not None
    assert (told.reason, told.warning) == (reason, warning)
    assert told.note.startswith("NodeRollout r: ")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (WAITING, DRAINING),
        (DRAINING, a_record(NodeState.DRAINING, Reason.DRAINING, message="2 pods left")),
        (CHANGING, a_record(NodeState.CHANGING, Reason.CHANGING)),
    ],
)
def test_what_is_mere_progress_is_no_event(before: NodeStatus, after: NodeStatus) -> None:
    assert on_node(before, after) is None


@pytest.mark.parametrize(
    ("budget", "message", "words"),
    [
        ("shop/web", "needs 2", "pod shop/web-1 is kept by PodDisruptionBudget shop/web: needs 2"),
        (
            "shop/web",
            "PodDisruptionBudget shop/web needs 2",
            "pod shop/web-1 is kept: PodDisruptionBudget shop/web needs 2",
        ),
        ("shop/web", "", "pod shop/web-1 is kept by PodDisruptionBudget shop/web"),
        ("", "finalizer x keeps it", "pod shop/web-1 is kept: finalizer x keeps it"),
    ],
)
def test_what_keeps_a_pod_is_named_once(budget: str, message: str, words: str) -> None:
    assert kept(Blocker(pod="shop/web-1", budget=budget, message=message)) == words


def test_a_blocked_drain_names_pod_and_budget() -> None:
    blockers = (
        Blocker(pod="shop/web-1", budget="shop/web", message="needs 2 healthy pods and has 2"),
        Blocker(pod="shop/db-0", message="held by WorkloadMigration cluster"),
    )
    told = blocked("r", a_record(NodeState.DRAINING, Reason.DRAIN_BLOCKED, blockers=blockers))
    assert told == Happening(
        "DrainBlocked",
        "NodeRollout r: pod shop/web-1 is kept by PodDisruptionBudget shop/web:"
        " needs 2 healthy pods and has 2, and 1 more",
        warning=True,
    )
    told = blocked("r", a_record(NodeState.DRAINING, Reason.DRAIN_BLOCKED, blockers=blockers[1:]))
    assert told is not None
    assert told.note == "NodeRollout r: pod shop/db-0 is kept: held by WorkloadMigration cluster"
    told = blocked("r", a_record(NodeState.DRAINING, Reason.DRAIN_TIMED_OUT))
    assert told == Happening("DrainTimedOut", "NodeRollout r: its message", warning=True)
    assert blocked("r", DRAINING) is None
