"""Whoever changes control plane and nodes is told by a hook that it is their turn: once for each turn of an
upgrade, after that turn is stored, and not while it rests. It tells, and holds up nothing: what becomes of
its Job is seen there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from msgspec import structs

from shiplift.api.marks import TURN_TOLD
from shiplift.api.upgrade import TurnOf
from shiplift.upgrade.decide.course import Course
from shiplift.upgrade.steps import ForgetTurn, TellTurn

_LONGEST_NAME = 46


def told(course: Course) -> Iterator[TellTurn]:
    """What tells of the turn that is stored; nothing where it was told, or nobody is to be."""
    hook, turn = course.spec.turn_hook, course.status.turn
    if not course.external or hook is None or turn is None or turn.of is TurnOf.OURS or course.rests:
        return
    job = job_name(course, hook.name, turn.of)
    if course.upgrade.metadata.annotations.get(TURN_TOLD) != job:
        step = TellTurn(
            course.uid,
            course.generation,
            hook.namespace,
            job,
            turn.of.value,
            course.target,
            turn.pools,
        )
        yield structs.replace(step, told=step.change in course.view.changes)


def forgotten(course: Course) -> Iterator[ForgetTurn]:
    """The note goes with the upgrade."""
    if TURN_TOLD in course.upgrade.metadata.annotations:
        yield ForgetTurn(course.uid)


def job_name(course: Course, hook: str, of: TurnOf) -> str:
    """The same for the same turn of the same upgrade."""
    started = course.status.start_time.isoformat() if course.status.start_time else ""
    digest = hashlib.sha256("\0".join((course.uid, started, of.value)).encode()).hexdigest()[:16]
    return f"{hook[:_LONGEST_NAME].rstrip('-')}-{digest}"
