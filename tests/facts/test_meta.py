"""What all rows share: labels that cannot be changed, owners, conditions, and what counts as the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.facts.cluster import Namespace
from shiplift.facts.meta import NO_LABELS, Condition, Labels, Owner, Row, condition

pairs = st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=5)


def row(**changes: Any) -> Row:
    fields: dict[str, Any] = {
        "namespace": "shop",
        "name": "cart",
        "uid": "u1",
        "resource_version": 7,
        "generation": 2,
        "created": 100,
        "deleting": 0,
        "labels": Labels(app="cart"),
        "annotations": NO_LABELS,
        "owners": (),
        "finalizers": (),
    }
    return Row(**fields | changes)


@given(pairs)
def test_labels_are_equal_and_hash_alike_whatever_the_order(given: dict[str, str]) -> None:
    there, back = Labels(given), Labels(reversed(given.items()))
    assert there == back == given
    assert hash(there) == hash(back) == hash(there)
    assert {there: 1}[back] == 1


@given(pairs, pairs)
def test_other_labels_are_another_key(one: dict[str, str], other: dict[str, str]) -> None:
    assert (Labels(one) == Labels(other)) is (one == other)
    assert len({Labels(one), Labels(other)}) == (1 if one == other else 2)


def _replace(labels: Labels) -> None:
    labels |= {"b": "c"}


@pytest.mark.parametrize(
    "change",
    [
        lambda labels: labels.__setitem__("a", "c"),
        lambda labels: labels.__delitem__("a"),
        lambda labels: labels.pop("a"),
        lambda labels: labels.popitem(),
        lambda labels: labels.clear(),
        lambda labels: labels.update(a="c"),
        lambda labels: labels.update({"b": "c"}),
        lambda labels: labels.setdefault("b", "c"),
        _replace,
    ],
)
def test_labels_cannot_be_changed(change: Callable[[Any], object]) -> None:
    labels = Labels(a="b")
    before = hash(labels)
    with pytest.raises(TypeError, match="cannot be changed"):
        change(labels)
    assert labels == {"a": "b"}
    assert hash(labels) == before


def test_labels_joined_with_others_are_a_new_mapping() -> None:
    labels = Labels(a="b")
    joined = labels | {"c": "d"}
    joined["e"] = "f"
    assert labels == {"a": "b"}


def test_only_the_version_may_differ_between_rows_that_are_the_same() -> None:
    assert row().same_as(row())
    assert row().same_as(row(resource_version=8))


@pytest.mark.parametrize(
    "change",
    [
        {"namespace": "other"},
        {"name": "other"},
        {"uid": "u2"},
        {"generation": 3},
        {"created": 101},
        {"deleting": 5},
        {"labels": Labels(app="till")},
        {"annotations": Labels(a="b")},
        {"owners": (Owner("ReplicaSet", "r", "o1"),)},
        {"finalizers": ("keep",)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_any_other_difference_makes_it_another(change: dict[str, Any]) -> None:
    assert not row().same_as(row(**change))
    assert not row(**change).same_as(row())


def test_every_field_of_a_row_is_among_those_differences() -> None:
    parameters = test_any_other_difference_makes_it_another.pytestmark[0].args[1]
    tried = {name for change in parameters for name in change}
    assert tried == set(msgspec.structs.asdict(row())) - {"resource_version"}


def test_rows_of_different_kinds_are_never_the_same() -> None:
    namespace = Namespace(**msgspec.structs.asdict(row()), phase="Active")
    assert not row().same_as(namespace)
    assert not namespace.same_as(row())
    assert not namespace.same_as(msgspec.structs.replace(namespace, phase="Terminating"))


def test_a_row_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="immutable"):
        row().name = "other"  # type: ignore[misc]


def test_the_controller_is_the_owner_that_says_so() -> None:
    first, second = Owner("Custom", "c", "o1"), Owner("ReplicaSet", "r", "o2", controller=True)
    assert row(owners=(first, second)).controller is second
    assert row(owners=(first,)).controller is None
    assert row().controller is None


def test_a_condition_is_found_by_its_type() -> None:
    ready, pressure = Condition("Ready", "True"), Condition("DiskPressure", "False")
    assert condition((pressure, ready), "Ready") is ready
    assert condition((pressure, ready), "Gone") is None
    assert condition((), "Ready") is None
