"""More workloads than the status can keep track of: said at the start, and never written."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from shiplift.api.workloads import WorkloadMigrationStatus
from shiplift.workloads.decide import decision
from shiplift.workloads.decide.decision import MOST_MET, arrived, decide
from shiplift.workloads.model import Reason
from shiplift.workloads.tell.report import status_of
from tests.model import nature
from tests.workloads.views import DEPLOYMENT, look, under_way
from tests.workloads.world import NEW, World, a_world

NOW = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three are already many."""
    monkeypatch.setattr(decision, "MOST_MET", 3)


def about_to_begin(workloads: int) -> World:
    world = a_world()
    for number in range(workloads):
        world.workload(DEPLOYMENT, f"web-{number}", 1)
    nature.settle(world)
    world.node("new-1", NEW)
    return world


def test_the_most_is_what_the_api_lets_a_status_have() -> None:
    assert MOST_MET == 20_000
    full = WorkloadMigrationStatus(met=("u",) * MOST_MET)
    assert msgspec.convert(msgspec.to_builtins(full), WorkloadMigrationStatus) == full
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"met": ["u"] * (MOST_MET + 1)}, WorkloadMigrationStatus)


def test_a_migration_that_is_too_large_does_not_begin_and_says_what_to_do() -> None:
    assert decide(look(about_to_begin(3)), NOW).reason is Reason.STARTING
    refused = decide(look(about_to_begin(4)), NOW)
    assert (refused.reason, refused.stalled, refused.moving, refused.steps) == (
        Reason.TOO_LARGE,
        True,
        False,
        (),
    )
    stalled = next(one for one in status_of(refused).conditions if one.type == "Stalled")
    assert (stalled.status.value, stalled.reason) == ("True", "TooLarge")
    assert "4 workloads are in scope" in refused.message
    assert "spec.excludeNamespaces" in refused.message


def test_one_that_grows_too_large_half_way_goes_on_and_says_so() -> None:
    world = under_way(*((DEPLOYMENT, f"web-{number}", 0) for number in range(5)))
    view = look(world)
    assert len(arrived(view, NOW)) == 3, "what cannot be written is not"
    decided = decide(view, NOW)
    assert decided.moving
    assert "5 workloads are in scope" in status_of(decided).notes[0]
