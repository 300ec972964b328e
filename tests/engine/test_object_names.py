"""Names of objects that are made from other names."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shiplift.engine.object_names import LONGEST, fitting

_names = st.text("ab-.", min_size=1, max_size=400).map(lambda text: f"shiplift-{text}z")


@given(_names)
def test_a_name_fits_and_stays_itself_where_it_can(full: str) -> None:
    assert len(fitting(full)) <= LONGEST
    assert fitting(full) == full or len(full) > LONGEST
    assert fitting(full)[-1].isalnum()


def test_long_names_that_differ_only_at_their_end_stay_two() -> None:
    assert len({fitting("x" * 300 + end) for end in "abc"}) == 3
