"""The table of plans is one that can be played: what is in it, without machines."""

from __future__ import annotations

import re

from tests.e2e.faults import Fault
from tests.e2e.plans import PLANS, End
from tests.e2e.scene import Step


def test_no_plan_is_there_twice() -> None:
    names = [(one.name, tuple(sorted(one.spec.items()))) for one in PLANS]
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


def takes_the_machine(fault: Fault) -> bool:
    return fault.name.startswith(("the machine", "the network"))
