"""Which machine is whose, and which machines a pool has: the rules that laptop and cluster share."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiplift import api
from shiplift.api.machines import MachinePool
from shiplift.facts.kinds import MACHINE_POOL
from shiplift.machines.claims import double_claims, machine_name, number_of
from shiplift.machines.replicas import choose
from tests.machines.in_cluster.world import hosts, spec

NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,6}[a-z0-9])?", fullmatch=True)


def pool(name: str, wanted: dict[str, Any]) -> MachinePool:
    body = {"metadata": {"name": name}, "spec": wanted}
    return api.decode(MACHINE_POOL, msgspec.json.encode(body))  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("machine", "number"),
    [
        ("burst-0", 0),
        ("burst-12", 12),
        ("burst-01", None),
        ("burst-", None),
        ("burst", None),
        ("burst-x", None),
    ],
)
def test_a_machine_is_known_by_its_number(machine: str, number: int | None) -> None:
    assert number_of(machine, "burst") == number


@pytest.mark.parametrize("machine", ["burst-²", "burst--1", "burst-1-0", "other-1", "1"])
def test_what_is_no_plain_number_is_none(machine: str) -> None:
    assert number_of(machine, "burst") is None


@given(NAMES, st.integers(0, 4999), NAMES, st.integers(0, 4999))
def test_machines_of_two_pools_never_have_one_name(one: str, first: int, other: str, second: int) -> None:
    same = machine_name(one, first) == machine_name(other, second)
    assert same == ((one, first) == (other, second))
    assert number_of(machine_name(one, first), one) == first


def test_hosts_are_claimed_by_name_and_by_address() -> None:
    first, second = pool("a", hosts("x", "y")), pool("b", hosts("z", "x"))
    assert [str(one) for one in double_claims([first, second])] == [
        "MachinePools a and b both claim address 192.0.2.1 port 22",
        "MachinePools a and b both claim machine x",
        "MachinePools a and b both claim address 192.0.2.2 port 22",
    ]


def test_a_pool_that_makes_machines_claims_every_number_and_no_other_name() -> None:
    makes = pool("burst", spec(1))
    clash = [str(one) for one in double_claims([pool("racks", hosts("burst-99", "burst-x", "burst")), makes])]
    assert clash == ["MachinePools racks and burst both claim machine burst-99"]
    assert not list(double_claims([makes, pool("burst-1", spec(3)), pool("burst-1-1", spec(3))]))


@given(st.lists(NAMES, unique=True, max_size=6), st.lists(NAMES, unique=True, max_size=6), st.integers(0, 8))
def test_those_that_are_there_stay_and_no_more_come_than_asked_for(
    taken: list[str], free: list[str], replicas: int
) -> None:
    free = [one for one in free if one not in taken]
    choice = choose(taken, free, replicas)
    assert len(choice.machines) == min(replicas, len(taken) + len(free))
    assert choice.machines[: len(taken)] == tuple(taken[:replicas])
    assert [*choice.machines[: len(taken)], *choice.too_many] == taken or len(taken) <= replicas
    assert not set(choice.machines) & set(choice.too_many)
