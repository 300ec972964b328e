"""The names that the parts of the layer share."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift.api.marks import label_value
from shiplift.api.workloads import WorkloadKind
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.names import hold_name

PART = st.text("a0-", min_size=1, max_size=63).map(lambda text: f"a{text[1:]}".rstrip("-"))
NAME = st.lists(PART, min_size=1, max_size=9).map(".".join).map(lambda name: name[:253].rstrip("-."))
LONG = st.builds(lambda start, tail: "a" * (253 - len(tail)) + tail if start else tail, st.booleans(), PART)
KIND = st.sampled_from(WorkloadKind)
VALID_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
VALID_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
VERSION = st.from_regex(
    r"v?[1-9][0-9]{0,3}\.[0-9]{1,3}\.[0-9]{1,3}([-+][0-9A-Za-z.+-]{1,40})?", fullmatch=True
)


@pytest.mark.parametrize(
    ("version", "value"),
    [
        ("v1.36.3", "v1.36.3"),
        ("v1.36.3+k3s1", "v1.36.3_k3s1"),
        ("v1.36.3-gke.1200", "v1.36.3-gke.1200"),
        ("v1.36.3+a+b", "v1.36.3_a_b"),
        ("v1.36.3-eks.", "v1.36.3-eks"),
    ],
)
def test_a_version_becomes_the_value_of_a_label(version: str, value: str) -> None:
    assert label_value(version) == value


@given(VERSION)
def test_every_version_becomes_a_valid_value(version: str) -> None:
    assert VALID_LABEL_VALUE.fullmatch(label_value(version))


def test_a_workload_is_known_by_kind_and_name() -> None:
    assert WorkloadId(WorkloadKind.DEPLOYMENT, "shop", "web").owner_key == "Deployment.web"
    assert WorkloadId(WorkloadKind.STATEFUL_SET, "shop", "db.eu").owner_key == "StatefulSet.db.eu"


def test_a_hold_is_called_after_its_workload() -> None:
    assert hold_name(WorkloadKind.DEPLOYMENT, "web") == "shiplift-hold-deployment-web"
    assert hold_name(WorkloadKind.STATEFUL_SET, "db") == "shiplift-hold-statefulset-db"


@given(KIND, NAME | LONG)
def test_the_name_of_a_hold_is_valid_however_long_the_workloads_is(kind: WorkloadKind, name: str) -> None:
    held = hold_name(kind, name)
    assert len(held) <= 253
    assert VALID_NAME.fullmatch(held)


@given(st.lists(st.tuples(KIND, NAME | LONG), unique=True, max_size=6))
def test_no_two_workloads_share_a_hold(workloads: list[tuple[WorkloadKind, str]]) -> None:
    assert len({hold_name(*one) for one in workloads}) == len(workloads)


def test_long_names_that_differ_at_their_ends_have_different_holds() -> None:
    one, other = (hold_name(WorkloadKind.DEPLOYMENT, "w" * 252 + end) for end in "xy")
    assert one != other


@pytest.mark.parametrize("length", [1, 200, 227, 228, 229, 253])
def test_a_cut_never_leaves_a_part_that_ends_badly(length: int) -> None:
    name = ("a" * length + "." + "b" * 253)[:253].rstrip(".")
    assert VALID_NAME.fullmatch(hold_name(WorkloadKind.DEPLOYMENT, name))
