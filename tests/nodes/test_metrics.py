"""What Prometheus is told of rollouts: what their statuses say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

from benchmarks.rows import make
from shiplift.api.nodes import Blocker, NodeRollout, NodeState, RolloutPhase
from shiplift.api.values import Progress
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import NODE_ROLLOUT, Kind
from shiplift.kube.store import Store
from shiplift.nodes.tell.metrics import RolloutCollector
from tests.nodes.face.rollouts import MADE, NOW, a_record, a_rollout


class Rollouts:
    """A store that has nothing else."""

    def __init__(self, *rollouts: NodeRollout) -> None:
        self._rows = [make(Custom, one.metadata.name, object=one) for one in rollouts]

    def snapshot(self, *of: Kind) -> Rollouts:
        assert of == (NODE_ROLLOUT,)
        return self

    def customs(self, _kind: Kind) -> list[Custom]:
        return self._rows


def read(*rollouts: NodeRollout) -> dict[str, dict[tuple[str, ...], float]]:
    """By metric, by the values of its labels."""
    collector = RolloutCollector(cast("Store", Rollouts(*rollouts)), lambda: float(NOW))
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in collector.collect():
        found[family.name] = {tuple(one.labels.values()): one.value for one in family.samples}
    return found


BLOCKER = (Blocker(pod="shop/web-1"),)
BUSY = a_rollout(
    a_record("a", NodeState.DRAINING, 30, blockers=BLOCKER),
    a_record("b", NodeState.DRAINING, 90),
    a_record("c", NodeState.FAILED, 90),
    a_record("d", NodeState.SKIPPED),
    phase=RolloutPhase.RUNNING,
    progress=Progress.of(4, 12),
    start_time=MADE,
    failures=1,
    unavailable=3,
    stalled="one failed",
)


def value(name: str, *rollouts: NodeRollout) -> Any:
    return read(*rollouts)[f"shiplift_rollout_{name}"]["r",]


def test_nodes_are_counted_by_state_and_add_up() -> None:
    nodes = {state: number for (_, state), number in read(BUSY)["shiplift_rollout_nodes"].items()}
    assert {state: number for state, number in nodes.items() if number} == {
        "Done": 4,
        "Draining": 2,
        "Failed": 1,
        "Skipped": 1,
        "Waiting": 5,
    }
    assert set(nodes) == {*(one.value for one in NodeState), "Done"}


def test_each_number_is_that_of_the_status() -> None:
    said = {
        name: value(name, BUSY) for name in ("active", "stalled", "failures", "unavailable_nodes", "paused")
    }
    assert said == {"active": 1, "stalled": 1, "failures": 1, "unavailable_nodes": 3, "paused": 0}
    assert value("start_timestamp_seconds", BUSY) == MADE.timestamp()
    assert value("paused", a_rollout(spec={"paused": True})) == 1


def test_only_blocked_drains_count_and_the_longest_is_told() -> None:
    assert value("blocked_drain_seconds", BUSY) == 30 * 60
    assert value("blocked_drain_seconds", a_rollout()) == 0


def test_how_long_it_takes_ends_with_it() -> None:
    assert value("duration_seconds", a_rollout()) == 0
    assert value("duration_seconds", BUSY) == 3600
    over = a_rollout(start_time=MADE, complete_time=MADE + timedelta(minutes=5), phase=RolloutPhase.COMPLETE)
    assert value("duration_seconds", over) == 300
    assert value("active", over) == 0


def test_before_the_first_node_nothing_has_begun() -> None:
    assert value("start_timestamp_seconds", a_rollout()) == 0
    assert datetime.fromtimestamp(NOW, UTC) > MADE


def test_without_rollouts_there_are_no_numbers() -> None:
    assert all(not samples for samples in read().values())
