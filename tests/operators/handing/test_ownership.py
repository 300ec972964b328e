"""An object always has an owner, and never two that control it, wherever a hand-over is interrupted."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.facts.kinds import CONFIG_MAP
from shiplift.operators.handing.ownership import Owner, Write, next_write, owned_meta, patch, reference
from shiplift.operators.handing.steps import step
from tests.merging import merged

Json = dict[str, Any]
OLD, NEW = Owner("ops", "app.v1.0.0", "old-uid"), Owner("ops", "app.v1.1.0", "new-uid")
OTHER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "other-uid", "controller": False}


def inside(*references: Json) -> Json:
    return owned_meta({"name": "a", "uid": "1", "namespace": "ops"}, OLD) | {
        "ownerReferences": list(references)
    }


def outside(namespace: str = "") -> Json:
    meta = {"name": "a", "uid": "1", **({"namespace": namespace} if namespace else {})}
    return owned_meta(meta, OLD)


def walk(meta: Json) -> list[Json]:
    """Every state on the way, the first included."""
    states = [meta]
    while write := patch(states[-1], OLD, NEW):
        states.append(merged({"metadata": states[-1]}, write)["metadata"])
        assert len(states) < 4, "it does not end"
    return states


def owners(meta: Json) -> dict[str, bool]:
    return {one["uid"]: bool(one.get("controller")) for one in meta.get("ownerReferences", [])}


def test_an_object_is_adopted_and_let_go_in_two_writes() -> None:
    states = walk(owned_meta({"name": "a", "namespace": "ops"}, OLD))
    assert [owners(state) for state in states] == [
        {"old-uid": True},
        {"old-uid": False, "new-uid": True},
        {"new-uid": True},
    ]
    assert states[0]["labels"] == states[1]["labels"] == {"operators.shiplift.dev/owner": "ops.app.v1.0.0"}
    assert states[2]["labels"] == {"operators.shiplift.dev/owner": "ops.app.v1.1.0"}
    assert states[2]["annotations"] == {"operators.shiplift.dev/owner-uid": "new-uid"}


@pytest.mark.parametrize("namespace", ["", "elsewhere"])
def test_what_no_reference_can_own_changes_hands_in_one_write(namespace: str) -> None:
    before, after = walk(outside(namespace))
    assert "ownerReferences" not in after
    assert next_write(before, OLD, NEW) is Write.RELABEL
    assert after["annotations"] == {"operators.shiplift.dev/owner-uid": "new-uid"}


def test_whoever_else_controls_an_object_goes_on_doing_so() -> None:
    states = walk(inside(OTHER | {"controller": True}, reference(OLD, controller=False)))
    assert [owners(state) for state in states[1:]] == [
        {"other-uid": True, "old-uid": False, "new-uid": False},
        {"other-uid": True, "new-uid": False},
    ]


def test_what_lost_its_reference_is_adopted_all_the_same() -> None:
    states = walk(inside())
    assert owners(states[-1]) == {"new-uid": True}


def test_who_is_left_by_the_collector_controls_the_object() -> None:
    """An owner that is deleted loses its reference to the collector, and the flag with it."""
    states = walk(inside(reference(NEW, controller=False)))
    assert owners(states[-1]) == {"new-uid": True}


def test_what_belongs_to_neither_is_left_alone() -> None:
    for meta in ({"name": "a", "namespace": "ops"}, {"name": "a"}, inside(OTHER) | {"labels": {}}):
        assert next_write(meta, OLD, NEW) is None
        assert patch(meta, OLD, NEW) == {}


def test_an_owner_of_the_same_name_that_came_later_owns_nothing() -> None:
    later = Owner(OLD.namespace, OLD.name, "later-uid")
    assert next_write(outside(), later, NEW) is None


REFERENCES = st.lists(
    st.sampled_from(
        [
            OTHER,
            reference(OLD, controller=True),
            reference(OLD, controller=False),
            reference(NEW, controller=False),
            OTHER | {"uid": "third-uid", "controller": True},
        ]
    ),
    max_size=3,
    unique_by=lambda one: one["uid"],
).filter(lambda listed: sum(one["controller"] for one in listed) < 2)


@given(REFERENCES)
def test_no_state_on_the_way_has_two_that_control_or_none_that_owns(references: list[Json]) -> None:
    before = copy.deepcopy(references)
    states = walk(inside(*references))
    assert references == before
    for state in states:
        assert sum(owners(state).values()) <= 1
    owned = [owners(state) for state in states]
    if references:
        assert all(owned)
    assert OLD.uid not in owned[-1]
    assert NEW.uid in owned[-1]
    assert sum(owned[-1].values()) == 1, "somebody controls it in the end"
    assert {"other-uid", "third-uid"} & owned[0].keys() == {"other-uid", "third-uid"} & owned[-1].keys()


@given(st.text("abc-.", max_size=80), st.text("abc-.", max_size=80))
def test_labels_fit_and_two_owners_have_two(first: str, second: str) -> None:
    one, other = (Owner("ops", f"a{name}z", "uid") for name in (first, second))
    assert len(one.label) <= 63
    assert (one.label == other.label) is (first == second)


def test_steps_say_themselves() -> None:
    meta = owned_meta({"name": "a", "namespace": "ops", "uid": "1"}, OLD)
    adopt = step(CONFIG_MAP, {"metadata": meta}, OLD, NEW)
    assert adopt
    assert adopt.describe() == "ConfigMap ops/a: app.v1.1.0 takes control beside app.v1.0.0"
    let_go = step(CONFIG_MAP, {"metadata": walk(meta)[1]}, OLD, NEW)
    assert let_go
    assert let_go.describe() == "ConfigMap ops/a: app.v1.0.0 lets go, app.v1.1.0 keeps it"
    relabel = step(CONFIG_MAP, {"metadata": outside("shop")}, OLD, NEW)
    assert relabel
    assert relabel.describe() == "ConfigMap shop/a: from app.v1.0.0 to app.v1.1.0"
    assert step(CONFIG_MAP, {"metadata": walk(meta)[2]}, OLD, NEW) is None
