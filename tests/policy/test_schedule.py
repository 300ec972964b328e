"""When the provider is asked: the seed's first diagram, on virtual time."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import datetime, timedelta

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shiplift.api.marks import REFRESH_ASKED
from shiplift.engine.probes import Unanswered
from shiplift.policy.config import Section
from shiplift.policy.decide import schedule
from shiplift.policy.decide.decision import decide
from shiplift.policy.model import Answer, Asking
from shiplift.policy.steps import Ask
from tests.policy.views import HTTP, NEVER_ASKED, NOW, OCM, answered, failing, policy, row, steps, view

SECOND = timedelta(seconds=1)
chances = st.floats(0, 1, exclude_max=True)


def waits(
    config: Section, answers: Iterator[Exception | None], most: int, chance: float = 0.5
) -> list[float]:
    """The seconds between attempts, where each is answered as told."""
    now, asking, asked = NOW, NEVER_ASKED, list[datetime]()
    while len(asked) < most:
        decision = decide(view(asking, row(policy()), config=config), now)
        ask = next((one for one in decision.steps if isinstance(one, Ask)), None)
        if ask is None:
            assert decision.look_again_after is not None
            now += decision.look_again_after
            continue
        asked.append(now)
        now += SECOND
        asking = after(asking, ask, next(answers), now, chance)
    return [(then - before).total_seconds() - 1 for before, then in itertools.pairwise(asked)]


def after(asking: Asking, ask: Ask, error: Exception | None, now: datetime, chance: float) -> Asking:
    wait = error.wait if isinstance(error, Unanswered) else None
    probe = asking.probe
    probe = (
        probe.failed(str(error), now, wait) if error else probe.answered(Answer(ask.purpose, policy()), now)
    )
    return Asking(probe, ask.purpose, False, asking.attempts + 1, chance)


def always(error: Exception | None) -> Iterator[Exception | None]:
    while True:
        yield error


def every(minutes: int) -> Section:
    return msgspec.structs.replace(HTTP, watch_interval=minutes)


def test_while_all_is_well_the_period_passes_between_two_syncs() -> None:
    assert waits(every(10), always(None), 4) == [600.0] * 3


def test_a_failure_is_followed_by_ever_longer_waits_up_to_the_cap() -> None:
    down = always(Unanswered("down"))
    assert waits(every(60), down, 9) == [60, 120, 240, 480, 960, 1920, 3600, 3600]
    assert waits(every(1), down, 6) == [60, 120, 240, 300, 300]
    assert waits(every(600), down, 9)[-1] == 3600


def test_a_success_begins_anew() -> None:
    said = iter([Unanswered("down"), Unanswered("down"), None, Unanswered("down"), None, None])
    assert waits(every(10), said, 6) == [60, 120, 600, 60, 600]


def test_who_asks_us_to_wait_longer_is_heeded() -> None:
    said = iter([Unanswered("429", timedelta(seconds=1000)), Unanswered("429", SECOND), None])
    assert waits(every(10), said, 3) == [1000, 120]


@given(chances, st.integers(1, 100))
@example(0.5, 10080)
def test_every_wait_is_spread_by_a_tenth_at_most(chance: float, minutes: int) -> None:
    (good,) = waits(every(minutes), always(None), 2, chance)
    assert 0.9 * minutes * 60 - 1e-3 <= good <= 1.1 * minutes * 60 + 1e-3
    bad = waits(every(minutes), always(Unanswered("down")), 5, chance)
    cap = min(3600, max(minutes * 60, 300))
    for one, plain in zip(bad, (60, 120, 240, 480), strict=True):
        assert 0.9 * min(plain, cap) - 1e-3 <= one <= 1.1 * min(plain, cap) + 1e-3


def test_new_settings_are_a_reason_to_ask_at_once_even_after_failures() -> None:
    assert steps(view(answered(policy()), row(policy()))) == []
    assert "Ask" in steps(view(answered(policy(), OCM), row(policy())))
    assert "Ask" in steps(view(failing(answered(policy(), OCM), 5), row(policy())))
    asked_to_wait = failing(answered(policy(), OCM), wait=timedelta(minutes=3))
    assert "Ask" not in steps(view(asked_to_wait, row(policy())))


def test_who_is_about_to_start_does_not_wait_for_the_period_but_for_the_backoff() -> None:
    wishing = row(policy(), marks={REFRESH_ASKED: "now"})
    assert steps(view(answered(policy()), wishing)) == ["Ask"]
    assert steps(view(failing(answered(policy())), wishing)) == []
    assert schedule.left(view(failing(answered(policy())), wishing), HTTP, NOW) == timedelta(minutes=1)


def test_a_provider_that_answers_every_other_time_is_asked_no_more_often_than_a_good_one() -> None:
    said = itertools.cycle([None, Unanswered("down")])
    assert waits(every(10), said, 7) == [600, 60, 600, 60, 600, 60]


def test_nothing_is_asked_while_an_answer_is_awaited() -> None:
    pending = msgspec.structs.replace(NEVER_ASKED, pending=True)
    assert steps(view(pending)) == []


@pytest.mark.parametrize("minutes", [1, 60, 10080])
def test_the_settings_are_looked_at_every_minute(minutes: int) -> None:
    decision = decide(view(answered(policy()), row(policy()), config=every(minutes)), NOW)
    assert decision.look_again_after is not None
    assert decision.look_again_after <= timedelta(minutes=1)
