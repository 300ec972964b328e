"""NodeRollouts as people look at them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from shiplift.api.base import ObjectMeta
from shiplift.api.nodes import NodeRollout, NodeRolloutSpec, NodeRolloutStatus, NodeState, NodeStatus
from shiplift.api.values import Condition, ConditionStatus

MADE = datetime(2026, 11, 1, 12, tzinfo=UTC)
NOW = int((MADE + timedelta(hours=1)).timestamp())


UNHEARD = Condition(
    type="Reconciling",
    status=ConditionStatus.TRUE,
    reason="AgentUnheard",
    message="nothing was heard",
    last_transition_time=MADE,
)


def a_rollout(
    *records: NodeStatus,
    name: str = "r",
    about: dict[str, Any] | None = None,
    spec: dict[str, Any] | None = None,
    stalled: str = "",
    **status: Any,
) -> NodeRollout:
    conditions = [
        Condition(
            type="Stalled",
            status=ConditionStatus.TRUE,
            reason="Stopped",
            message=stalled,
            last_transition_time=MADE,
        )
    ]
    known: dict[str, Any] = {"observed_generation": 1, "conditions": tuple(conditions if stalled else ())}
    meta: dict[str, Any] = {"uid": f"uid-{name}", "generation": 1, "creation_timestamp": MADE}
    return NodeRollout(
        metadata=ObjectMeta(name=name, **meta | (about or {})),
        spec=NodeRolloutSpec(**{"version": "v1.36.3"} | (spec or {})),
        status=NodeRolloutStatus(nodes=records, **known | status),
    )


def a_record(name: str, state: NodeState, minutes: int = 0, **given: Any) -> NodeStatus:
    """It has been there for so many minutes."""
    since = MADE + timedelta(hours=1) - timedelta(minutes=minutes)
    return NodeStatus(name=name, uid=f"uid-{name}", state=state, last_transition_time=since, **given)
