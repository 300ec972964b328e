"""How long a step waits after a refusal."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from shiplift.engine.backoff import Backoff
from shiplift.engine.decision import Decision, Requeue, await_change, requeue
from shiplift.engine.retries import EVERYDAY, failures, look_after, only_due, wait
from shiplift.engine.step import Answer, Outcome, Outcomes, Step


class Cordon(Step, frozen=True):
    node: str

    @property
    def key(self) -> str:
        return f"cordon {self.node}"

    def describe(self) -> str:
        return self.key


NOW = datetime(2026, 11, 1, tzinfo=UTC)
STEP = Cordon("node-1")


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
    assert wait(after(Outcome.failed(STEP, "no")), Cordon("node-2"), NOW) == seconds(0)


def test_a_refusal_that_is_everyday_waits_once_it_comes_too_often() -> None:
    refused = Outcome.refused(STEP, "not now")
    assert wait(after(*[refused] * EVERYDAY), STEP, NOW) == seconds(0)
    assert wait(after(*[refused] * (EVERYDAY + 1)), STEP, NOW) == seconds(1)
    assert wait(after(*[refused] * (EVERYDAY + 50)), STEP, NOW) == seconds(30)


def test_what_went_well_at_last_does_not_wait_and_is_no_failure() -> None:
    known = after(*[Outcome.refused(STEP, "not now")] * (EVERYDAY + 1), Outcome.done(STEP, message="done"))
    assert wait(known, STEP, NOW) == seconds(0)
    assert not list(failures(known, [STEP]))


@pytest.mark.parametrize(
    ("answer", "times"), [(Answer.FAILED, 1), (Answer.REFUSED, EVERYDAY + 1), (Answer.UNKNOWN, EVERYDAY + 1)]
)
def test_never_less_than_the_server_asked_for(answer: Answer, times: int) -> None:
    asked = Outcome(step=STEP.key, answer=answer, retry_after=seconds(90))
    assert wait(after(*[asked] * times), STEP, NOW) == seconds(90)


def looked_again(*outcomes: Outcome) -> timedelta:
    return look_after(after(*outcomes).last[STEP.key], Backoff(jitter=0.0), 0.0)


def test_the_loop_looks_again_when_the_step_may_be_tried_again() -> None:
    assert looked_again(Outcome.done(STEP)) == seconds(0)
    assert looked_again(Outcome.refused(STEP, "not now", seconds(5))) == seconds(5)
    assert looked_again(*[Outcome.failed(STEP, "no")] * 3) == seconds(4)


def test_a_refusal_that_may_be_tried_at_any_time_is_looked_at_ever_more_slowly() -> None:
    refused = Outcome.refused(STEP, "not now")
    assert [looked_again(*[refused] * times) for times in (1, 2, 4)] == [seconds(1), seconds(2), seconds(8)]


OTHER = Cordon("node-2")


def left(step: Step) -> timedelta:
    return seconds(3) if step is STEP else seconds(0)


def test_a_decision_is_left_without_the_steps_that_wait_and_looks_again_when_the_first_may_go() -> None:
    assert only_due(Decision((STEP, OTHER)), left) == Decision((OTHER,), Requeue(seconds(3)))
    assert only_due(Decision((STEP,), requeue(seconds(1))), left) == Decision((), Requeue(seconds(1)))


def test_of_several_that_wait_the_first_counts() -> None:
    waits = {STEP.key: seconds(3), OTHER.key: seconds(2)}
    due = only_due(Decision((STEP, OTHER)), lambda step: waits[step.key])
    assert due == Decision((), Requeue(seconds(2)))


def test_a_decision_of_which_nothing_waits_is_the_same() -> None:
    decision = Decision((OTHER,), await_change())
    assert only_due(decision, left) is decision


def test_what_failed_is_told_with_what_was_to_be_done() -> None:
    known = after(Outcome.failed(STEP, "forbidden"))
    assert list(failures(known, [STEP, OTHER])) == ["cordon node-1: forbidden"]
    assert not list(failures(after(Outcome.refused(STEP, "not now")), [STEP]))


def test_what_is_refused_or_not_answered_more_often_than_is_everyday_is_told_too() -> None:
    for one in (Outcome.refused(STEP, "not now"), Outcome.unknown(STEP, "no answer")):
        assert not list(failures(after(*[one] * EVERYDAY), [STEP]))
        assert list(failures(after(*[one] * (EVERYDAY + 1)), [STEP])) == [f"cordon node-1: {one.message}"]
