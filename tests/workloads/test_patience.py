"""How long a step waits after a refusal."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from shiplift.engine.step import Outcome, Outcomes
from shiplift.workloads.model import Taken
from shiplift.workloads.patience import undone, wait
from shiplift.workloads.steps import RestoreBudget

NOW = datetime(2026, 11, 1, tzinfo=UTC)
STEP = RestoreBudget("shop", "web", "u1")


def seconds(value: float) -> timedelta:
    return timedelta(seconds=value)


def after(*outcomes: Outcome) -> Outcomes:
    """Each remembered at NOW, one after the other."""
    remembered = Outcomes()
    for one in outcomes:
        remembered = remembered.remember([one], NOW)
    return remembered


def test_what_was_never_tried_does_not_wait() -> None:
    assert wait(Outcomes(), STEP, NOW) == seconds(0)


def test_what_went_well_does_not_wait() -> None:
    assert wait(after(Outcome.done(STEP)), STEP, NOW) == seconds(0)


def test_a_refusal_waits_as_long_as_the_server_asked() -> None:
    refused = after(Outcome.refused(STEP, "not now", seconds(5)))
    assert wait(refused, STEP, NOW) == seconds(5)
    assert wait(refused, STEP, NOW + seconds(4)) == seconds(1)
    assert wait(refused, STEP, NOW + seconds(6)) == seconds(0)


def test_a_refusal_without_a_time_does_not_wait() -> None:
    assert wait(after(Outcome.refused(STEP, "not now")), STEP, NOW) == seconds(0)


@pytest.mark.parametrize(("failures", "expected"), [(1, 1), (2, 2), (3, 4), (5, 16), (6, 30), (50, 30)])
def test_each_failure_in_a_row_waits_longer_and_half_a_minute_at_most(failures: int, expected: int) -> None:
    failed = after(*[Outcome.failed(STEP, "no")] * failures)
    assert wait(failed, STEP, NOW) == seconds(expected)


def test_another_step_does_not_wait() -> None:
    assert wait(after(Outcome.failed(STEP, "no")), RestoreBudget("shop", "web", "u2"), NOW) == seconds(0)


@pytest.mark.parametrize(("times", "expected"), [(1, 2), (2, 4), (4, 16), (5, 30), (99, 30)])
def test_what_somebody_undoes_again_and_again_is_left_alone_ever_longer(times: int, expected: int) -> None:
    taken = {STEP.key: Taken(times, NOW)}
    assert undone(taken, STEP, NOW) == seconds(expected)
    assert undone(taken, STEP, NOW + seconds(60)) == seconds(0)
    assert undone({}, STEP, NOW) == seconds(0)
