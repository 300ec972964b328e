"""Which version takes over from which."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.facts.custom import Custom
from shiplift.operators.decide import lineage
from shiplift.operators.names import ORDER
from tests.operators.decide.views import site, version


def test_the_one_that_replaces_it_is_the_heir() -> None:
    old, new = version("1.0.0"), version("1.1.0", 2, "1.0.0")
    where = site(old, new)
    assert lineage.heir(where, old) == new
    assert lineage.heir(where, new) is None
    assert lineage.predecessors(where, new) == (old,)


def test_a_version_that_came_back_is_the_heir_of_the_one_that_had_replaced_it() -> None:
    new, back = version("1.1.0", 2, "1.0.0"), version("1.0.0", 3, "1.1.0")
    where = site(new, back)
    assert lineage.heir(where, new) == back
    assert lineage.heir(where, back) is None


def test_what_a_withdrawn_version_has_goes_back_to_the_one_before() -> None:
    old, new = version("1.0.0"), version("1.1.0", 2, "1.0.0", deleting=5)
    where = site(old, new)
    assert lineage.heir(where, new) == old
    assert lineage.heir(where, old) is None


def test_where_all_go_nobody_inherits() -> None:
    old, new = version("1.0.0", deleting=5), version("1.1.0", 2, "1.0.0", deleting=5)
    assert lineage.heir(site(old, new), new) is None


def test_a_version_is_the_current_one_when_it_runs_and_has_taken_over() -> None:
    old = version("1.0.0", 1, "", "Installed")
    for said, expected in (((), old), (("Installed",), old), (("Installed", "HandedOver"), None)):
        new = version("1.1.0", 2, "1.0.0", *said)
        assert lineage.current(site(old, new)) == (expected or new)


@pytest.mark.parametrize("lost", [{1}, {2}, {1, 2}])
@pytest.mark.parametrize("age", [100, 200])
def test_of_versions_that_lost_their_number_the_order_stays(lost: set[int], age: int) -> None:
    """By age; and where they came in one second, by what each takes over from."""
    old = version("1.9.0", 1, notes={} if 1 in lost else {ORDER: "1"}, created=100)
    new = version("1.10.0", 2, "1.9.0", notes={} if 2 in lost else {ORDER: "2"}, created=age)
    for rows in ((old, new), (new, old)):
        where = site(*lineage.in_order(rows))
        assert where.versions == (old, new)
        assert lineage.heir(where, old) == new
        assert [lineage.number(where, one) for one in where.versions] == [1, 2]


def test_one_that_lost_its_number_goes_between_those_that_have_theirs() -> None:
    first, back = version("1.0.0", 1, deleting=5, created=1), version("1.0.0", 3, "1.1.0", created=9, uid="u")
    lost = version("1.1.0", 0, "1.0.0", notes={}, created=5)
    assert lineage.in_order((back, lost, first)) == (first, lost, back)


@st.composite
def _fleets(draw: st.DrawFn) -> tuple[Custom, ...]:
    numbers = ("1.0.0", "1.1.0", "1.2.0", "1.3.0")
    found: list[Custom] = []
    for order in range(draw(st.integers(1, 5))):
        name = draw(st.sampled_from(numbers))
        replaces = draw(st.sampled_from(("", *numbers)))
        deleting = draw(st.sampled_from((0, 0, 5)))
        found.append(version(name, order, replaces, deleting=deleting, uid=f"{name}-{order}"))
    return tuple(found)


@given(_fleets())
def test_nobody_is_the_heir_of_its_own_heir(versions: tuple[Custom, ...]) -> None:
    where = site(*versions)
    for one in versions:
        following = lineage.heir(where, one)
        if following is not None:
            assert not following.deleting
            again = lineage.heir(where, following)
            assert again is None or again.uid != one.uid
