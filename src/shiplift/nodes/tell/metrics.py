"""What Prometheus may ask about rollouts: read from their statuses, so that the two never disagree."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import cast

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shiplift.api.nodes import NodeRollout, NodeState, RolloutPhase
from shiplift.api.values import ConditionStatus
from shiplift.facts.kinds import NODE_ROLLOUT
from shiplift.kube.store import Store

_MOST = 100
"""Rollouts that are told of, the first by name."""
_DONE = "Done"
_OVER = (RolloutPhase.COMPLETE, RolloutPhase.ABORTED)


class RolloutCollector(Collector):
    """Read at each scrape."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store, self._clock = store, clock

    def collect(self) -> Iterator[Metric]:
        rows = self._store.snapshot(NODE_ROLLOUT).customs(NODE_ROLLOUT)
        rollouts = sorted((cast("NodeRollout", row.object) for row in rows), key=_name)[:_MOST]
        yield _nodes(rollouts)
        yield _each(rollouts, "active", "1 while nodes are to be changed.", _is_active)
        yield _each(rollouts, "paused", "1 while no node is begun.", lambda one: one.spec.paused)
        yield _each(rollouts, "stalled", "1 while it goes on only when somebody helps.", _is_stalled)
        yield _each(rollouts, "failures", "Nodes that have failed.", lambda one: one.status.failures)
        yield _each(
            rollouts,
            "unavailable_nodes",
            "Nodes that are down or being changed.",
            lambda one: one.status.unavailable,
        )
        yield _each(rollouts, "start_timestamp_seconds", "When it began; 0 before the first node.", _started)
        yield _each(rollouts, "duration_seconds", "How long it has taken so far, or took.", self._took)
        yield _each(
            rollouts,
            "blocked_drain_seconds",
            "For how long the drain has been blocked that has been for longest.",
            self._blocked,
        )

    def _took(self, rollout: NodeRollout) -> float:
        began, end = rollout.status.start_time, rollout.status.complete_time
        if began is None:
            return 0.0
        return max((end.timestamp() if end else self._clock()) - began.timestamp(), 0.0)

    def _blocked(self, rollout: NodeRollout) -> float:
        since = [
            one.last_transition_time.timestamp()
            for one in rollout.status.nodes
            if one.state is NodeState.DRAINING and one.blockers and one.last_transition_time
        ]
        return max(self._clock() - min(since), 0.0) if since else 0.0


def _name(rollout: NodeRollout) -> str:
    return rollout.metadata.name


def _nodes(rollouts: list[NodeRollout]) -> Metric:
    family = GaugeMetricFamily("shiplift_rollout_nodes", "Nodes by state.", labels=["rollout", "state"])
    for rollout in rollouts:
        status = rollout.status
        counts = Counter(one.state.value for one in status.nodes)
        counts[_DONE] = status.progress.done
        listed = sum(one.state is not NodeState.SKIPPED for one in status.nodes)
        counts[NodeState.WAITING.value] += max(status.progress.total - status.progress.done - listed, 0)
        for state in (*(one.value for one in NodeState), _DONE):
            family.add_metric([_name(rollout), state], counts[state])
    return family


def _each(rollouts: list[NodeRollout], name: str, text: str, value: Callable[[NodeRollout], float]) -> Metric:
    family = GaugeMetricFamily(f"shiplift_rollout_{name}", text, labels=["rollout"])
    for rollout in rollouts:
        family.add_metric([_name(rollout)], value(rollout))
    return family


def _is_active(rollout: NodeRollout) -> bool:
    return rollout.status.phase not in _OVER


def _is_stalled(rollout: NodeRollout) -> bool:
    return any(
        one.type == "Stalled" and one.status is ConditionStatus.TRUE for one in rollout.status.conditions
    )


def _started(rollout: NodeRollout) -> float:
    began = rollout.status.start_time
    return began.timestamp() if began else 0.0
