"""When whoever waits for the end of a move may go on."""

from __future__ import annotations

from typing import Any

import pytest

from shiplift.view.section import Arrival
from shiplift.workloads.face.arrival import arrival
from tests.workloads.face.migrations import BUSY, NEW, at, migration, progress

DONE = BUSY | {"conditions": [], "progress": progress(5, 5), "workloads": []}
IDLE: dict[str, Any] = {"observedGeneration": 2, "state": "NoUpgrade"}


def condition(kind: str) -> dict[str, Any]:
    about = {"type": kind, "status": "True", "reason": "Some", "message": "", "lastTransitionTime": at(1)}
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
        ({}, {}, Arrival.NOT_YET),
        (DONE, {"abort": True}, Arrival.GIVEN_UP),
    ],
)
def test_nobody_goes_on_too_early(status: dict[str, Any], spec: dict[str, Any], expected: Arrival) -> None:
    assert arrival(migration(status, spec)) is expected


def test_what_is_being_deleted_moves_nothing_any_more() -> None:
    assert arrival(migration(BUSY, deletionTimestamp=at(59))) is Arrival.GIVEN_UP
