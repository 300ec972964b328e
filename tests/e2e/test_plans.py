"""The table of plans is one that can be played: what is in it, without machines."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.e2e import faults
from tests.e2e.faults import Fault
from tests.e2e.plans import PLANS, End, wrong_packages
from tests.e2e.scene import Step


def test_no_plan_is_there_twice() -> None:
    names = [(one.name, repr(sorted(one.spec.items()))) for one in PLANS]
    assert len(set(names)) == len(names)


def test_what_is_to_be_named_can_be_looked_for() -> None:
    for one in PLANS:
        assert bool(one.says) is (one.end is End.NAMED)
        re.compile(one.says)


def test_every_step_is_struck() -> None:
    assert {one.step for one in PLANS} == set(Step)


def test_a_machine_that_may_carry_pods_is_never_taken_away() -> None:
    """Requests would fail, and nobody could help it."""
    for one in PLANS:
        if takes_the_machine(one.fault):
            assert one.step in {Step.CLAIMED, Step.INSTALLING, Step.APPLYING}


def test_what_was_before_is_put_back_within_a_minor_and_the_node_given_back() -> None:
    """Across minors it would be quarantined."""
    plans = [one for one in PLANS if one.put_back]
    assert plans
    for one in plans:
        assert (one.end, one.stays_cordoned) == (End.NAMED, False)
        asked = {"kubelet": one.spec["version"].removeprefix("v")}
        asked |= {each["name"]: each["version"] for each in one.spec["software"]}
        for name, version in asked.items():
            assert minor(one.put_back[name]) == minor(version)
            assert not one.put_back[name].startswith(version)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"kubelet": "1.36.3-1.1", "torn": "1.0.0"}, ""),
        ({"kubelet": "1.36.4-1.1", "torn": "1.0.0"}, "not put back: kubelet 1.36.4-1.1"),
        ({"kubelet": "1.36.3-1.1"}, "not put back: torn not whole"),
    ],
)
def test_versions_of_a_node_that_was_put_back_are_compared(found: dict[str, str], said: str) -> None:
    assert wrong_packages({"kubelet": "1.36.3-1.1", "torn": "1.0.0"}, found) == said


def test_what_is_made_on_a_machine_is_a_script_that_a_shell_can_read() -> None:
    for script in (faults.OFFER, faults.WITHDRAW):
        assert subprocess.run(["sh", "-n", "-c", script], check=False).returncode == 0


def minor(version: str) -> list[str]:
    return version.split(".")[:2]


def takes_the_machine(fault: Fault) -> bool:
    return fault.name.startswith(("the machine", "the network"))
