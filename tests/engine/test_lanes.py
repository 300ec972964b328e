"""Jobs in lanes: which of them may be taken, and in which order."""

from hypothesis import given
from hypothesis import strategies as st

from shiplift.engine.lanes import Lanes


def lanes(*added):
    made = Lanes()
    for name, lane in added:
        made.add(name, lane)
    return made


def test_they_are_taken_in_the_order_in_which_they_came():
    waiting = lanes(("a1", "a"), ("free", ""), ("b1", "b"))
    assert [waiting.take() for _ in range(3)] == [("a", "a1"), ("", "free"), ("b", "b1")]


def test_the_next_of_a_lane_may_be_taken_when_the_one_before_it_is_done():
    waiting = lanes(("a1", "a"), ("a2", "a"))
    assert waiting.take() == ("a", "a1")
    assert not waiting
    waiting.done("a")
    assert waiting.take() == ("a", "a2")


def test_one_that_had_to_wait_for_its_lane_goes_before_those_that_came_after_it():
    waiting = lanes(("a1", "a"), ("a2", "a"))
    waiting.take()
    waiting.add("late", "")
    waiting.done("a")
    assert [waiting.take()[1] for _ in range(2)] == ["a2", "late"]


def test_those_without_a_lane_wait_for_none():
    waiting = lanes(("x", ""), ("y", ""))
    assert [waiting.take()[1] for _ in range(2)] == ["x", "y"]


@given(st.lists(st.one_of(st.sampled_from(["", "a", "b", "c"]), st.integers(0, 9))))
def test_it_gives_what_a_search_for_the_oldest_free_one_finds(moves):
    """A string adds a job in that lane, a number takes one (even) or ends one that was taken (odd)."""
    waiting, plain, taken = Lanes(), [], []
    for number, move in enumerate(moves):
        if isinstance(move, str):
            waiting.add(number, move)
            plain.append((move, number))
        elif move % 2 and taken:
            waiting.done(taken.pop(move % len(taken)))
        elif waiting:
            lane, job = waiting.take()
            assert (lane, job) == next(one for one in plain if not one[0] or one[0] not in taken)
            plain.remove((lane, job))
            taken.append(lane)
    assert bool(waiting) == any(not lane or lane not in taken for lane, _ in plain)
