"""When whoever waits for the end of a move may go on."""

from __future__ import annotations

from typing import Any

import pytest

from shiplift.api.workloads import WorkloadMigration
from shiplift.facts.nodes import Node
from shiplift.view.section import Arrival
from shiplift.workloads.face.arrival import arrival, contradicted, is_at_rest
from tests.workloads.face.migrations import BUSY, NEW, at, migration, progress
from tests.workloads.world import World

DONE = BUSY | {"conditions": [], "progress": progress(5, 5), "workloads": []}
IDLE: dict[str, Any] = {"observedGeneration": 2, "state": "NoUpgrade"}


def condition(kind: str, reason: str = "Some") -> dict[str, Any]:
    about = {"type": kind, "status": "True", "reason": reason, "message": "", "lastTransitionTime": at(1)}
    return {"conditions": [about]}


@pytest.mark.parametrize(
    ("status", "spec", "expected"),
    [
        (BUSY, {}, Arrival.NOT_YET),
        (DONE, {}, Arrival.MOVED),
        (DONE, {"paused": True}, Arrival.MOVED),
        (DONE | {"observedGeneration": 1}, {"target": NEW}, Arrival.NOT_YET),
        (IDLE, {}, Arrival.MOVED),
        (IDLE | {"observedGeneration": 1}, {}, Arrival.NOT_YET),
        (IDLE | condition("Reconciling"), {}, Arrival.NOT_YET),
        (IDLE | condition("Stalled"), {}, Arrival.NOT_YET),
        (IDLE | condition("Stalled", "NoNodes"), {}, Arrival.GIVEN_UP),
        (IDLE | condition("Stalled", "NoNodes") | {"observedGeneration": 1}, {}, Arrival.NOT_YET),
        ({}, {}, Arrival.NOT_YET),
        (DONE, {"abort": True}, Arrival.GIVEN_UP),
    ],
)
def test_nobody_goes_on_too_early(status: dict[str, Any], spec: dict[str, Any], expected: Arrival) -> None:
    assert arrival(migration(status, spec)) is expected


@pytest.mark.parametrize(
    ("status", "spec", "expected"),
    [
        (IDLE, {}, True),
        (IDLE | {"observedGeneration": 1}, {}, False),
        (IDLE | condition("Reconciling"), {}, False),
        (IDLE, {"abort": True}, False),
        (DONE, {}, False),
        (BUSY, {}, False),
    ],
)
def test_nothing_is_to_be_aborted_only_where_all_is_done_and_undone(
    status: dict[str, Any], spec: dict[str, Any], expected: bool
) -> None:
    assert is_at_rest(migration(status, spec)) is expected


def test_what_cannot_be_read_is_not_taken_for_done() -> None:
    assert not is_at_rest(WorkloadMigration())


def test_what_is_being_deleted_moves_nothing_any_more() -> None:
    assert arrival(migration(BUSY, deletionTimestamp=at(59))) is Arrival.GIVEN_UP


def nodes(**many: int) -> list[Node]:
    world = World()
    for pool, number in many.items():
        for one in range(number):
            world.node(f"{pool}-{one}", f"v1.{pool.removeprefix('v')}.0", labels={"pool": pool})
    return world.all(Node)


ONE = IDLE | {"versions": [{"version": "v1.36.0", "nodes": 2}]}
TWO = IDLE | {"versions": [{"version": "v1.36.0", "nodes": 2}, {"version": "v1.37.0", "nodes": 1}]}
MANY = IDLE | {"versions": [{"version": f"v1.36.{number}", "nodes": 1} for number in range(64)]}


@pytest.mark.parametrize(
    ("status", "there", "spec", "said"),
    [
        (ONE, {"v36": 2}, {}, ""),
        (ONE, {"v36": 5}, {}, ""),
        (ONE, {"v36": 2, "v37": 2}, {}, "nodes run v1.37.0, which the status"),
        (ONE, {"v36": 2, "v37": 2}, {"nodeSelector": {"matchLabels": {"pool": "v36"}}}, ""),
        (TWO, {"v36": 2}, {}, "no node runs v1.37.0 any more, which the status"),
        (IDLE, {"v36": 2}, {}, "nodes run v1.36.0, which the status"),
        (IDLE, {}, {}, ""),
        (MANY, {"v37": 1}, {}, "no node runs v1.36.0 any more"),
    ],
)
def test_a_status_of_another_time_is_found_out_by_the_nodes(
    status: dict[str, Any], there: dict[str, int], spec: dict[str, Any], said: str
) -> None:
    told = contradicted(migration(status, spec), nodes(**there))
    assert told.startswith(said)
    assert bool(told) is bool(said)
