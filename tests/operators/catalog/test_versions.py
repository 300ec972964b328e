"""Versions and ranges are read as OLM's tools read them, and every other text is refused by name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.operators.catalog.ranges import parse_range
from shiplift.operators.catalog.semver import SemverError, parse

ASCENDING = [
    "0.0.1",
    "0.9.0",
    "0.10.0",
    "1.0.0-0",
    "1.0.0-1",
    "1.0.0-11",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0-rc.2",
    "1.0.0-rc.11",
    "1.0.0",
    "1.0.1-0",
    "2026.11.17",
    f"{2**64 - 1}.0.0",
]
NO_VERSIONS = [
    "",
    "1",
    "1.0",
    "v1.0.0",
    "01.0.0",
    "1.0.0.0",
    "1.0.0-",
    "1.0.0-01",
    "1.0.0-a..b",
    "1.0.0+",
    "1.0.0 ",
    "1.0.0\n",
    "1.x.0",
    "-1.0.0",
    f"{2**64}.0.0",
    f"1.0.0-{2**64}",
    "1" * 5000 + ".0.0",
    "\u0661.0.0",
]


def test_versions_stand_in_their_order() -> None:
    versions = [parse(text) for text in ASCENDING]
    for place, version in enumerate(versions):
        assert [version < other for other in versions] == [place < at for at in range(len(versions))]
        assert [version >= other for other in versions] == [place >= at for at in range(len(versions))]


def test_build_metadata_does_not_count() -> None:
    assert parse("1.0.0+a").rank == parse("1.0.0+b").rank == parse("1.0.0").rank
    assert parse("1.0.0-rc.1+a") <= parse("1.0.0-rc.1")


@pytest.mark.parametrize("text", NO_VERSIONS, ids=lambda text: repr(text)[:24])
def test_what_is_no_version_is_refused_by_name(text: str) -> None:
    with pytest.raises(SemverError, match="is not a semantic version"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        (">=1.0.0 <1.2.0", "1.0.0 1.1.9 1.2.0-rc.1", "0.9.9 1.2.0"),
        (">= 1.0.0 < 1.2.0", "1.1.0", "1.2.0"),
        ("<1.0.0 || >=2.0.0", "0.9.0 2.0.0", "1.0.0 1.9.9"),
        ("1.2.3", "1.2.3", "1.2.4 1.2.3-rc.1"),
        ("=1.2.3", "1.2.3", "1.2.2"),
        ("==1.2.3", "1.2.3+build", "1.2.2"),
        ("!=1.2.3", "1.2.4", "1.2.3"),
        ("!1.2.3 >1.0.0", "1.2.4", "1.2.3 1.0.0"),
        (">=2.1.x <2.2.1", "2.1.0 2.2.0", "2.2.1 2.1.0-rc.1"),
        ("1.2.x", "1.2.0 1.2.9", "1.3.0 1.1.9"),
        ("1.x", "1.0.0 1.9.9", "2.0.0 0.9.0"),
        ("1.x.x", "1.0.9", "1.1.0"),
        (">1.2.x", "1.3.0", "1.2.9"),
        ("<=1.2.x", "1.2.9", "1.3.0"),
        ("!=1.2.x", "", "1.1.0 1.2.3 1.3.0"),
        ("<1.x", "0.9.9", "1.0.0"),
        ("~1.x", "1.0.0", "1.1.0"),
        ("a 1.0.0", "1.0.0", "1.0.1"),
    ],
)
def test_a_range_holds_what_it_says(text: str, inside: str, outside: str) -> None:
    range_ = parse_range(text)
    assert [one for one in inside.split() if not range_.holds(parse(one))] == []
    assert [one for one in outside.split() if range_.holds(parse(one))] == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "||",
        "1.0.0 ||",
        "|| 1.0.0",
        "1.0.0 || || 2.0.0",
        ">=1.0",
        "~1.0.0",
        ">=a",
        "1.0.0-x",
        ">=1..x",
    ],
)
def test_what_is_no_range_is_refused_by_name(text: str) -> None:
    with pytest.raises(SemverError, match="is no range of versions"):
        parse_range(text)


@given(st.text(alphabet="0123456789.x<>=!|~^ -+abv", max_size=24))
def test_any_text_is_a_range_or_refused(text: str) -> None:
    try:
        range_ = parse_range(text)
    except SemverError:
        return
    assert range_.holds(parse("1.0.0")) in (True, False)
