"""The values that all layers tell of themselves with."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.view.values import Heard, plain

NOW = 1_777_629_600


@pytest.mark.parametrize(
    ("heard", "silent"),
    [
        (Heard(NOW), None),
        (Heard(NOW + 5), None),
        (Heard(NOW - 15), None),
        (Heard(NOW - 16), 16),
        (Heard(NOW - 16, patience=30), None),
        (Heard(NOW, gone=True), 0),
        (Heard(NOW - 3, gone=True), 3),
    ],
)
def test_an_operator_that_is_away_is_told_of(heard: Heard, silent: int | None) -> None:
    assert heard.silent(NOW) == silent


@given(st.text())
def test_no_text_can_move_the_cursor(text: str) -> None:
    assert all(letter.isprintable() for letter in plain(text))
    assert plain(text) == plain(plain(text))
