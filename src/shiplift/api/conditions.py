"""A status's conditions from what a decision states: the engine's rules, in the form in which they are
stored."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from shiplift.api.values import Condition as Stored
from shiplift.api.values import ConditionStatus
from shiplift.engine import conditions
from shiplift.engine.conditions import KSTATUS, Condition, Statement, Status


def stated(
    before: Iterable[Stored],
    statements: Iterable[Statement],
    *,
    generation: int,
    now: datetime,
    more: Collection[str] = (),
) -> tuple[Stored, ...]:
    """The conditions that follow; those that kstatus knows are ours, and `more`; others stay as they are."""
    merged = conditions.merge(
        [from_stored(one) for one in before],
        statements,
        owned=(*KSTATUS, *more),
        generation=generation,
        now=now,
    )
    return tuple(to_stored(one) for one in merged)


def from_stored(one: Stored) -> Condition:
    """A stored condition as the engine has it."""
    return Condition(
        one.type,
        Status(one.status.value),
        one.reason,
        one.last_transition_time,
        one.message,
        one.observed_generation,
    )


def to_stored(one: Condition) -> Stored:
    """A condition as it is stored."""
    return Stored(
        type=one.type,
        status=ConditionStatus(one.status.value),
        reason=one.reason,
        last_transition_time=one.last_transition_time,
        message=one.message,
        observed_generation=one.observed_generation,
    )
