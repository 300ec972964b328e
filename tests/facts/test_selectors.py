"""Selectors match as the API server, the controllers and the scheduler match."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.facts.meta import Labels
from shiplift.facts.selectors import NodeTerm, Requirement, Selector, any_term_matches

MOST = (1 << 63) - 1


@pytest.mark.parametrize(
    ("operator", "values", "value", "matches"),
    [
        ("In", ("a", "b"), "a", True),
        ("In", ("a", "b"), "c", False),
        ("In", ("a", "b"), None, False),
        ("In", ("",), "", True),
        ("In", ("",), None, False),
        ("NotIn", ("a",), "b", True),
        ("NotIn", ("a",), "a", False),
        ("NotIn", ("a",), None, True),
        ("NotIn", ("",), "", False),
        ("NotIn", ("",), None, True),
        ("Exists", (), "", True),
        ("Exists", (), None, False),
        ("DoesNotExist", (), None, True),
        ("DoesNotExist", (), "", False),
        ("Gt", ("5",), "6", True),
        ("Gt", ("5",), "5", False),
        ("Gt", ("5",), "40", True),
        ("Gt", ("5",), None, False),
        ("Lt", ("5",), "4", True),
        ("Lt", ("5",), "5", False),
        ("Lt", ("5",), "-6", True),
        ("Lt", ("+5",), "4", True),
        ("Lt", ("5",), None, False),
        ("Gt", ("5",), "six", False),
        ("Gt", ("5",), "6.5", False),
        ("Gt", ("5",), "6_0", False),
        ("Gt", ("5",), " 6", False),
        ("Gt", ("5",), "6\n", False),
        ("Gt", ("5",), "\u0666", False),
        ("Gt", ("five",), "6", False),
        ("Gt", (), "6", False),
        ("Gt", ("5", "6"), "7", False),
        ("Gt", ("5",), str(MOST), True),
        ("Gt", ("5",), str(MOST + 1), False),
        ("Lt", (str(MOST + 1),), "5", False),
        ("in", ("a",), "a", False),
        ("", (), "a", False),
    ],
)
def test_a_requirement(operator: str, values: tuple[str, ...], value: str | None, matches: bool) -> None:
    labels = {"other": "a"} if value is None else {"other": "a", "key": value}
    assert Requirement("key", operator, values).matches(labels) is matches


keys = st.sampled_from(["a", "b", "c"])
values = st.sampled_from(["", "1", "2", "x"])
label_sets = st.dictionaries(keys, values)
requirements = st.builds(
    Requirement,
    keys,
    st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]),
    st.lists(values, min_size=1).map(tuple),
)


@given(requirement=requirements, labels=label_sets)
def test_opposites_never_agree(requirement: Requirement, labels: dict[str, str]) -> None:
    opposite = {"In": "NotIn", "NotIn": "In", "Exists": "DoesNotExist", "DoesNotExist": "Exists"}
    other = Requirement(requirement.key, opposite[requirement.operator], requirement.values)
    assert requirement.matches(labels) is not other.matches(labels)


@given(left=st.integers(-MOST - 1, MOST), right=st.integers(-MOST - 1, MOST))
def test_numbers_are_compared_as_numbers(left: int, right: int) -> None:
    assert Requirement("n", "Gt", (str(right),)).matches({"n": str(left)}) is (left > right)
    assert Requirement("n", "Lt", (str(right),)).matches({"n": str(left)}) is (left < right)


@given(labels=label_sets)
def test_an_empty_selector_matches_everything(labels: dict[str, str]) -> None:
    assert Selector(Labels()).matches(labels)


@given(wanted=label_sets, expressions=st.lists(requirements, max_size=3), labels=label_sets)
def test_all_parts_of_a_selector_must_hold(
    wanted: dict[str, str], expressions: list[Requirement], labels: dict[str, str]
) -> None:
    expected = wanted.items() <= labels.items() and all(one.matches(labels) for one in expressions)
    assert Selector(Labels(wanted), tuple(expressions)).matches(labels) is expected


def test_a_label_that_must_be_empty_must_be_there() -> None:
    selector = Selector(Labels(a=""))
    assert selector.matches({"a": ""})
    assert not selector.matches({})


IN_ZONE = NodeTerm((Requirement("zone", "In", ("a",)),))
IS_N1 = NodeTerm(fields=(Requirement("metadata.name", "In", ("n1",)),))


@pytest.mark.parametrize(
    ("terms", "labels", "name", "matches"),
    [
        (None, {}, "n1", True),
        ((), {}, "n1", False),
        ((NodeTerm(),), {"zone": "a"}, "n1", False),
        ((IN_ZONE,), {"zone": "a"}, "n1", True),
        ((IN_ZONE,), {"zone": "b"}, "n1", False),
        ((IS_N1,), {}, "n1", True),
        ((IS_N1,), {}, "n2", False),
        ((IS_N1,), {"metadata.name": "n1"}, "n2", False),
        ((NodeTerm(IN_ZONE.labels, IS_N1.fields),), {"zone": "a"}, "n1", True),
        ((NodeTerm(IN_ZONE.labels, IS_N1.fields),), {"zone": "a"}, "n2", False),
        ((NodeTerm(IN_ZONE.labels, IS_N1.fields),), {"zone": "b"}, "n1", False),
        ((IN_ZONE, IS_N1), {"zone": "b"}, "n1", True),
        ((IN_ZONE, IS_N1), {"zone": "b"}, "n2", False),
        ((NodeTerm(), IN_ZONE), {"zone": "a"}, "n2", True),
        ((NodeTerm((Requirement("gpu", "NotIn", ("yes",)),)),), {}, "n1", True),
    ],
)
def test_a_node_selector(
    terms: tuple[NodeTerm, ...] | None, labels: dict[str, str], name: str, matches: bool
) -> None:
    assert any_term_matches(terms, labels, name) is matches
