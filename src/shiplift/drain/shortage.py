"""Whom a budget waits for: the pods that it covers and that are not Ready, and why they are not.

Only who looks at all pods of a budget can tell; what a plan says without it is true as well, and shorter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from shiplift.drain.model import Wait, Why
from shiplift.drain.plan import Plan
from shiplift.facts.pods import Pod

STARTING = "it is starting"


class Sibling(NamedTuple):
    """A pod that a budget covers, wherever it runs."""

    name: str
    ready: bool
    leaving: bool = False
    """It ends or has ended."""
    unschedulable: str = ""
    """The scheduler's words, where it found no node."""
    waiting: str = ""
    """Why a container does not run."""
    uid: str = ""


def sibling(pod: Pod) -> Sibling:
    leaving = bool(pod.deleting) or pod.finished
    return Sibling(pod.name, pod.ready, leaving, pod.unschedulable, pod.waiting)


def missing(siblings: Iterable[Sibling]) -> str:
    """Which pod a budget waits for, and how many more; empty where all that stay are Ready."""
    late = sorted((one for one in siblings if not one.ready and not one.leaving), key=_telling)
    if not late:
        return ""
    more = f", and {len(late) - 1} more" if len(late) > 1 else ""
    return f"pod {late[0].name} is not Ready: {_why(late[0])}{more}"


def _telling(one: Sibling) -> tuple[bool, str]:
    """Those with something to tell first."""
    return not (one.unschedulable or one.waiting), one.name


def _why(one: Sibling) -> str:
    return f"no node takes it: {one.unschedulable}" if one.unschedulable else one.waiting or STARTING


def told(plan: Plan, shortages: Mapping[str, str], migration_ends: str = "") -> Plan:
    """The plan with what each exhausted budget, by name, waits for, and when a migration that holds pods is
    expected to end."""
    waits = tuple(_told(one, shortages, migration_ends) for one in plan.waits)
    return msgspec.structs.replace(plan, waits=waits)


def _told(wait: Wait, shortages: Mapping[str, str], migration_ends: str) -> Wait:
    if wait.why is Why.HELD and migration_ends:
        return wait._replace(unblocks=f"{wait.unblocks}; it is expected to end {migration_ends}")
    found = shortages.get(wait.budgets[0], "") if wait.why is Why.BUDGET_EXHAUSTED else ""
    return wait._replace(unblocks=f"{wait.unblocks}: {found}") if found else wait
