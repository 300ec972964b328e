"""Lines break between values, never inside one that fits in a line; nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from shiplift.face.wrapping import broken, values


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "moving to v1.36.3, mode Inject, for 30 min",
            ["moving", "to", "v1.36.3,", "mode", "Inject,", "for 30 min"],
        ),
        ("about 15 min to go (10 min to 2 h)", ["about 15 min", "to", "go", "(10 min", "to", "2 h)"]),
        (
            "[##--] 2/5 workloads, 5/12 pods, 1,234 evictions",
            ["[##--]", "2/5 workloads,", "5/12 pods,", "1,234 evictions"],
        ),
        ("3 on v1.35.4, 2 on v1.36.3 (target)", ["3 on v1.35.4,", "2 on v1.36.3 (target)"]),
        ("0 of 3 done, wave 0: 2/3, and 4 more", ["0 of 3 done,", "wave 0: 2/3,", "and 4 more"]),
        (
            "waits for StatefulSet shop/db, 0 of 2 pods moved (said by WorkloadOrder shop/shop)",
            [
                "waits",
                "for",
                "StatefulSet shop/db,",
                "0 of 2 pods",
                "moved",
                "(said",
                "by",
                "WorkloadOrder shop/shop)",
            ],
        ),
        ("needs 2 has 2: one more", ["needs 2", "has 2:", "one", "more"]),
        ("`shiplift explain sts/db -n shop` tells", ["`shiplift explain sts/db -n shop`", "tells"]),
        ("pod db-1 on node new-1", ["pod db-1", "on", "node new-1"]),
    ],
)
def test_what_belongs_together_stays_together(text: str, parts: list[str]) -> None:
    assert values(text) == parts


WORDS = st.lists(
    st.sampled_from(
        ["for", "60 s", "0 of 2 pods", "StatefulSet shop/db", "x" * 60, "世界" * 9, "wave 1: 0/5,", "a"]
    ),
    max_size=12,
).map(" ".join)


@given(WORDS, st.integers(4, 60))
def test_no_line_is_too_wide_and_nothing_is_lost(text: str, width: int) -> None:
    lines = broken(text, width)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@given(WORDS, st.integers(20, 60))
def test_no_value_that_fits_is_broken(text: str, width: int) -> None:
    lines = broken(text, width)
    for value in values(text):
        assert cell_len(value) > width or any(value in line for line in lines)


@given(WORDS, st.integers(4, 60), st.integers(1, 3))
def test_of_too_many_lines_the_last_says_that_there_is_more(text: str, width: int, most: int) -> None:
    lines = broken(text, width, most)
    assert len(lines) <= most
    assert all(cell_len(line) <= width for line in lines)
    assert lines == broken(text, width) or lines[-1].endswith("…")
