"""Letters: in order for each receiver, at least once while there is room, and what goes is counted."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.outside.letters import MOST, MOST_BYTES, MOST_IN_ALL, Box, Letter, read, written

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)


def letter(name: str, receiver: str = "a", body: str = "") -> Letter:
    return Letter(name, receiver, NOW, body)


def test_only_the_first_of_each_receiver_may_be_sent() -> None:
    box = Box().put([letter("1"), letter("2", "b"), letter("3"), letter("4", "b")])
    assert [one.id for one in box.heads] == ["1", "2"]
    assert [one.id for one in box.done(letter("1")).heads] == ["2", "3"]


def test_the_same_letter_is_there_once_and_not_again_after_it_was_delivered() -> None:
    box = Box().put([letter("1"), letter("1")])
    assert len(box.letters) == 1
    assert box.done(letter("1")).put([letter("1")]).letters == ()


def test_where_there_is_no_room_the_oldest_goes_and_that_is_counted() -> None:
    box = Box().put(letter(str(n), "ab"[n % 2]) for n in range(MOST + 3))
    assert len(box.letters) == MOST
    assert box.letters[0].id == "3"
    assert box.dropped == {"a": 2, "b": 1}


def test_large_letters_take_more_room() -> None:
    body = "x" * MOST_BYTES
    box = Box().put(letter(str(n), body=body) for n in range(40))
    assert len(box.letters) == MOST_IN_ALL // MOST_BYTES
    assert box.dropped == {"a": 40 - MOST_IN_ALL // MOST_BYTES}
    assert len(written(box)) < 1 << 20


def test_a_letter_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="has 16385 bytes, more than 16384"):
        letter("1", body="x" * (MOST_BYTES + 1))
    with pytest.raises(ValueError, match="needs an id and a receiver"):
        letter("")


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=60))
def test_each_receiver_hears_in_order(moves: list[tuple[str, bool]]) -> None:
    """Put in, or delivered: what was heard, and what is still to be, is what was put in, in order."""
    box, put, heard = Box(), dict[str, list[str]](), dict[str, list[str]]()
    for number, (receiver, deliver) in enumerate(moves):
        head = next((one for one in box.heads if one.receiver == receiver), None)
        if deliver and head is not None:
            heard.setdefault(receiver, []).append(head.id)
            box = box.done(head)
        else:
            put.setdefault(receiver, []).append(str(number))
            box = box.put([letter(str(number), receiver)])
    for receiver, all_of in put.items():
        left = [one.id for one in box.letters if one.receiver == receiver]
        assert heard.get(receiver, []) + left == all_of
    assert read(written(box)) == box
