"""The shortest way from an installed version to the head, and why there is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.operators.catalog import paths
from shiplift.operators.catalog.model import Bundle, Entry, Package
from shiplift.operators.catalog.paths import Why, answer
from tests.operators.catalog.building import bundle, entry, installed, package

CHAIN = tuple(entry(f"1.{n}.0", f"1.{n - 1}.0" if n else "") for n in range(5))


def way(package: Package, version: str, channel: str = "stable") -> list[str]:
    return [hop.bundle.version for hop in answer(package, channel, installed(version)).way]


def test_the_way_goes_through_every_version_of_a_chain() -> None:
    found = answer(package(*CHAIN), "stable", installed("1.1.0"))
    assert found.why is Why.WAY
    assert found.message == "1.1.0 → 1.4.0 in 3 hops"
    assert [hop.bundle.version for hop in found.way] == ["1.2.0", "1.3.0", "1.4.0"]


def test_a_shorter_way_is_taken_where_there_is_one() -> None:
    assert way(package(*CHAIN[:4], entry("1.4.0", "1.3.0", ("1.1.0",))), "1.0.0") == ["1.1.0", "1.4.0"]


def test_among_equals_the_higher_version_is_taken() -> None:
    drawn = package(
        entry("1.0.0"),
        entry("1.1.0", "1.0.0"),
        entry("1.2.0", "1.1.0", ("1.0.0",)),
        entry("1.3.0", "1.2.0", ("1.1.0",)),
    )
    assert way(drawn, "1.0.0") == ["1.2.0", "1.3.0"]


def test_the_way_may_end_before_the_head() -> None:
    drawn = package(*CHAIN)
    found = answer(drawn, "stable", installed("1.0.0"), drawn.bundle("1.2.0"))
    assert [hop.bundle.version for hop in found.way] == ["1.1.0", "1.2.0"]


def test_the_head_is_there_already() -> None:
    found = answer(package(*CHAIN), "stable", installed("1.4.0"))
    assert (found.why, found.way) == (Why.THERE, ())
    assert found.message == "app.v1.4.0 is what channel stable leads to; there is nothing newer"


def test_no_way_goes_back() -> None:
    found = answer(package(*CHAIN), "stable", installed("2.0.0"))
    assert found.why is Why.BACKWARDS
    assert found.message == "2.0.0 is not below 1.4.0, which channel stable leads to"
    assert found.hint == "an upgrade never goes back; pin the older version instead"


def test_a_version_that_is_asked_for_is_not_what_the_channel_leads_to() -> None:
    drawn = package(*CHAIN)
    back = answer(drawn, "stable", installed("1.3.0"), drawn.bundle("1.1.0"))
    assert (back.why, back.message) == (Why.BACKWARDS, "1.3.0 is not below 1.1.0")
    there = answer(drawn, "stable", installed("1.1.0"), drawn.bundle("1.1.0"))
    assert (there.why, there.message) == (Why.THERE, "app.v1.1.0 is installed already")
    head = answer(drawn, "stable", installed("1.4.0"), drawn.bundle("1.4.0"))
    assert head.message == "app.v1.4.0 is what channel stable leads to; there is nothing newer"


def test_a_version_that_nothing_takes_over_from_is_told_with_what_the_next_one_wants() -> None:
    found = answer(package(entry("1.2.0", "1.1.0", (), ">=1.0.5 <1.2.0")), "stable", installed("1.0.0"))
    assert found.why is Why.NOTHING_FOLLOWS
    assert found.message == (
        "no version of channel stable takes over from app.v1.0.0: "
        "the next one, app.v1.2.0, replaces app.v1.1.0 and has skipRange >=1.0.5 <1.2.0"
    )


def test_another_channel_in_which_it_goes_on_is_named() -> None:
    drawn = package(entry("1.2.0", "1.1.0"), fast=(entry("1.3.0", "1.0.0"),))
    assert answer(drawn, "stable", installed("1.0.0")).hint == "it goes on in fast: choose with --channel"


def test_a_dead_end_is_told_with_how_far_it_leads() -> None:
    drawn = package(entry("1.0.0"), entry("1.1.0", "1.0.0"), entry("1.3.0", "1.2.0"))
    found = answer(drawn, "stable", installed("1.0.0"))
    assert found.why is Why.DEAD_END
    assert found.message == (
        "1.0.0 leads to 1.1.0 in channel stable, and no version takes over from that on the way to 1.3.0"
    )


def test_a_version_of_another_channel_is_no_goal() -> None:
    drawn = package(*CHAIN, fast=(entry("2.0.0"),))
    found = answer(drawn, "stable", installed("1.0.0"), drawn.bundle("2.0.0"))
    assert (found.why, found.message) == (Why.NO_GOAL, "channel stable does not have app.v2.0.0")


def too_old(one: Bundle) -> str:
    return f"needs {one.min_kubernetes}" if one.min_kubernetes else ""


def test_a_version_that_cannot_run_here_is_gone_round() -> None:
    drawn = package(
        *CHAIN[:4], entry("1.4.0", "1.3.0", ("1.1.0",)), bundles=(bundle("1.2.0", min_kubernetes="9.9"),)
    )
    found = answer(drawn, "stable", installed("1.0.0"), None, too_old)
    assert [hop.bundle.version for hop in found.way] == ["1.1.0", "1.4.0"]


def test_where_every_way_goes_through_one_that_cannot_run_here_it_is_named() -> None:
    drawn = package(*CHAIN, bundles=(bundle("1.2.0", min_kubernetes="9.9"),))
    found = answer(drawn, "stable", installed("1.0.0"), None, too_old)
    assert found.why is Why.REFUSED
    assert found.message == (
        "every way from 1.0.0 to 1.4.0 goes through a version that cannot run here; "
        "on the shortest: app.v1.2.0: needs 9.9"
    )


def test_a_channel_that_is_not_there_is_refused() -> None:
    with pytest.raises(KeyError):
        answer(package(*CHAIN), "fast", installed("1.0.0"))


EDGES = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=14)


@given(EDGES)
def test_a_way_is_as_short_as_any_and_each_hop_follows_the_one_before(edges: list[tuple[int, int]]) -> None:
    drawn = package(*(Entry(f"app.v1.{n}.0", "", skipped(n, edges)) for n in range(8)))
    graph = paths.graph_of(drawn, "stable")
    found = paths.shortest(graph, installed("1.0.0"), "app.v1.7.0", lambda _: "")
    assert len(found) == distance(edges)
    at = installed("1.0.0")
    for hop in found:
        assert hop in graph.successors(at)
        at = hop.installed


def skipped(version: int, edges: list[tuple[int, int]]) -> tuple[str, ...]:
    return tuple(f"app.v1.{before}.0" for before, after in edges if after == version)


def distance(edges: list[tuple[int, int]]) -> int:
    """From 0 to 7 upwards, by relaxing every edge as often as there are versions; 0 where there is no way."""
    far = {0: 0}
    for _ in range(8):
        for before, after in edges:
            if before < after and before in far:
                far[after] = min(far.get(after, 99), far[before] + 1)
    return far.get(7, 0)
