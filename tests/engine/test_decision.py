from datetime import timedelta

import pytest

from shiplift.engine.decision import AwaitChange, Decision, Requeue, await_change, earliest, requeue
from shiplift.engine.step import Step

SECOND = timedelta(seconds=1)


class Say(Step, frozen=True):
    word: str

    @property
    def key(self) -> str:
        return f"say {self.word}"

    def describe(self) -> str:
        return f"say {self.word} aloud"


def test_an_empty_decision_waits_for_a_change():
    decision = Decision()
    assert decision.look_again == await_change()
    assert decision.look_again_after is None
    assert decision.describe() == ()


def test_a_decision_says_its_steps_in_their_order():
    decision = Decision(steps=(Say("b"), Say("a")))
    assert decision.describe() == ("say b aloud", "say a aloud")


def test_the_same_step_twice_is_refused_by_name():
    with pytest.raises(ValueError, match="step say a is in one decision 2 times"):
        Decision(steps=(Say("a"), Say("b"), Say("a")))


def test_a_time_to_look_again_is_handed_on():
    assert Decision(look_again=requeue(5 * SECOND)).look_again_after == 5 * SECOND


def test_a_moment_that_has_passed_means_at_once():
    assert requeue(-5 * SECOND) == Requeue(timedelta(0))


@pytest.mark.parametrize(
    ("looks", "soonest"),
    [
        ((), AwaitChange()),
        ((await_change(),), AwaitChange()),
        ((await_change(), requeue(3 * SECOND)), Requeue(3 * SECOND)),
        ((requeue(9 * SECOND), requeue(3 * SECOND), await_change()), Requeue(3 * SECOND)),
    ],
)
def test_the_earliest_of_several_looks_wins(looks, soonest):
    assert earliest(*looks) == soonest


def test_a_layer_may_add_what_it_publishes():
    class WithProgress(Decision, frozen=True):
        progress: int = 0

    assert WithProgress(steps=(Say("a"),), progress=3).progress == 3
    with pytest.raises(ValueError, match="2 times"):
        WithProgress(steps=(Say("a"), Say("a")))


def test_equal_views_give_equal_decisions():
    assert Decision(steps=(Say("a"),)) == Decision(steps=(Say("a"),))
