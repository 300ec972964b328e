"""The values that all layers tell of themselves with."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.view.values import Heard, plain

NOW = 1_777_629_600


@pytest.mark.parametrize(
    ("heard", "silent"), [(NOW, None), (NOW + 5, None), (NOW - 60, None), (NOW - 61, 61)]
)
def test_an_operator_that_is_away_is_told_of(heard: int, silent: int | None) -> None:
    assert Heard(heard).silent(NOW) == silent


@given(st.text())
def test_no_text_can_move_the_cursor(text: str) -> None:
    assert all(letter.isprintable() for letter in plain(text))
    assert plain(text) == plain(plain(text))
