"""Conditions as kstatus reads them, so that `kubectl wait`, Flux and Argo CD understand every object of ours.

What is kept true: `Ready` is always there; `Reconciling` and `Stalled` are there only when true, and never
both; each condition has a reason from a closed list and the generation it speaks of; `lastTransitionTime`
moves only when the status flips. A phase is derived from conditions and never stored apart from them.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime

import msgspec

REASON_SHAPE = re.compile(r"[A-Z][A-Za-z0-9]{0,127}", re.ASCII)
LONGEST_MESSAGE = 4096
NAMED_PARTS = 3

READY = "Ready"
RECONCILING = "Reconciling"
STALLED = "Stalled"
KSTATUS = (READY, RECONCILING, STALLED)


class Reason(enum.StrEnum):
    """Base of each layer's closed list; a reason that the API server would refuse cannot be defined."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for reason in cls:
            if not REASON_SHAPE.fullmatch(reason.value):
                raise ValueError(f"reason {reason.value!r} is not in CamelCase")


class Status(enum.StrEnum):
    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Condition(msgspec.Struct, frozen=True, rename="camel"):
    """One condition as it stands in an object's status."""

    type: str
    status: Status
    reason: str
    last_transition_time: datetime
    message: str = ""
    observed_generation: int = 0


class Statement(msgspec.Struct, frozen=True):
    """One condition as a decision states it: not yet dated, its reason from a closed list.

    `stalled` says that waiting will not help: a person has to act.
    """

    type: str
    status: Status
    reason: Reason
    message: str = ""
    stalled: bool = False


def ready(reason: Reason, message: str = "") -> tuple[Statement, ...]:
    """All is as it should be."""
    return (Statement(READY, Status.TRUE, reason, message),)


def reconciling(reason: Reason, message: str = "") -> tuple[Statement, ...]:
    """On the way; time or an event will move it."""
    return (
        Statement(READY, Status.FALSE, reason, message),
        Statement(RECONCILING, Status.TRUE, reason, message),
    )


def stalled(reason: Reason, message: str = "") -> tuple[Statement, ...]:
    """Stuck; a person has to act."""
    return (
        Statement(READY, Status.FALSE, reason, message, stalled=True),
        Statement(STALLED, Status.TRUE, reason, message, stalled=True),
    )


def unknown(reason: Reason, message: str = "") -> tuple[Statement, ...]:
    """Too little is known to say; the next look may."""
    return (
        Statement(READY, Status.UNKNOWN, reason, message),
        Statement(RECONCILING, Status.TRUE, reason, message),
    )


def summarise(parts: Sequence[Statement], healthy: Reason, message: str = "") -> tuple[Statement, ...]:
    """The kstatus set from its parts, whose `True` is good; the worst part gives the reason."""
    for build, wrong in (
        (stalled, [part for part in parts if part.stalled]),
        (reconciling, [part for part in parts if part.status is Status.FALSE]),
        (unknown, [part for part in parts if part.status is Status.UNKNOWN]),
    ):
        if wrong:
            return build(wrong[0].reason, _joined(wrong))
    return ready(healthy, message)


def _joined(parts: Sequence[Statement]) -> str:
    named = [f"{part.type}: {part.message or part.reason.value}" for part in parts[:NAMED_PARTS]]
    more = [f"and {len(parts) - NAMED_PARTS} more"] if len(parts) > NAMED_PARTS else []
    return "; ".join(named + more)


def merge(
    current: Sequence[Condition],
    statements: Iterable[Statement],
    *,
    owned: Collection[str],
    generation: int,
    now: datetime,
) -> tuple[Condition, ...]:
    """The list to publish: statements dated and put in, owned types that are no longer stated taken out.

    Conditions of other owners stay as they are, and so does the order, so no change gives an equal list.
    """
    wanted = _by_type(statements, owned)
    found = {condition.type: condition for condition in current}
    kept = [
        _dated(wanted[type_], condition, generation, now) if type_ in wanted else condition
        for type_, condition in found.items()
        if type_ in wanted or type_ not in owned
    ]
    fresh = [
        _dated(statement, None, generation, now) for type_, statement in wanted.items() if type_ not in found
    ]
    return tuple(kept + fresh)


def _by_type(statements: Iterable[Statement], owned: Collection[str]) -> dict[str, Statement]:
    wanted: dict[str, Statement] = {}
    for statement in statements:
        if statement.type not in owned:
            raise ValueError(f"condition {statement.type} is not one of ours: {', '.join(sorted(owned))}")
        if statement.type in wanted:
            raise ValueError(f"condition {statement.type} is stated twice")
        wanted[statement.type] = statement
    if RECONCILING in wanted and STALLED in wanted:
        raise ValueError("an object is either reconciling or stalled, not both")
    return wanted


def _dated(statement: Statement, before: Condition | None, generation: int, now: datetime) -> Condition:
    # the API server keeps whole seconds: anything finer would look like a change at every look
    since = now.astimezone(UTC).replace(microsecond=0)
    if before is not None and before.status is statement.status:
        since = before.last_transition_time
    return Condition(
        statement.type,
        statement.status,
        statement.reason.value,
        since,
        _shortened(statement.message),
        generation,
    )


def _shortened(message: str) -> str:
    return message if len(message) <= LONGEST_MESSAGE else message[: LONGEST_MESSAGE - 1] + "…"


class Phase(enum.StrEnum):
    """One word for people, always derived."""

    READY = "Ready"
    PROGRESSING = "Progressing"
    STALLED = "Stalled"
    TERMINATING = "Terminating"
    UNKNOWN = "Unknown"


def phase(conditions: Iterable[Condition], generation: int, *, deleting: bool = False) -> Phase:
    """What the conditions add up to; those of an older generation say nothing about this one."""
    if deleting:
        return Phase.TERMINATING
    found = {condition.type: condition for condition in conditions}
    main = found.get(READY)
    if main is None:
        return Phase.UNKNOWN
    if main.observed_generation < generation:
        return Phase.PROGRESSING
    if _holds(found, STALLED):
        return Phase.STALLED
    if main.status is Status.TRUE:
        return Phase.READY
    return Phase.UNKNOWN if main.status is Status.UNKNOWN else Phase.PROGRESSING


def _holds(found: dict[str, Condition], type_: str) -> bool:
    return type_ in found and found[type_].status is Status.TRUE
