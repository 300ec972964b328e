"""What comes after the workloads: quorum services, then operators. What they become is what their own
objects ask for; the conductor keeps them from beginning until their turn has come, and then waits until they
are Ready.

One that is under way is never held: half a swap is worse than a late one. One that its user has paused is
passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shiplift.engine.versions import reaches
from shiplift.facts.kinds import APP_TYPE, QUORUM_SERVICE
from shiplift.upgrade.decide.course import LAYERS_LOOK, Course
from shiplift.upgrade.decide.rolling import may_begin, resting
from shiplift.upgrade.model import Later, Line, Reason, Stage
from shiplift.upgrade.names import CONTROL_PLANE
from shiplift.upgrade.steps import HoldLater

_STAGES = tuple(Stage)
LATER = (Stage.SERVICES, Stage.OPERATORS)


def services(course: Course) -> Line | None:
    """Every quorum service is what its object asks for; None where that is so."""
    return _turn(course, Stage.SERVICES, Reason.SERVICES)


def operators(course: Course) -> Line | None:
    """Every operator is, likewise."""
    return _turn(course, Stage.OPERATORS, Reason.OPERATORS)


def _turn(course: Course, stage: Stage, reason: Reason) -> Line | None:
    kind = QUORUM_SERVICE if stage is Stage.SERVICES else APP_TYPE
    if blind := [one for one in course.view.unreadable if one.kind == kind]:
        text = f"{blind[0]}; mend it, or delete it"
        return Line(Reason.UNREADABLE, text, stalled=True, at=stage)
    those = of(course, stage)
    waits = [one for one in those if not one.paused and not one.ready]
    held = [one for one in those if one.held]
    if not waits and not held:
        return None
    said = _said(waits[0]) if waits else ""
    if course.rests:
        return resting(course, said)._replace(at=stage)
    if held and (line := may_begin(course)) is not None:
        return line._replace(at=stage)
    if held:
        steps = tuple(hold(one, "") for one in held)
        return Line(reason, f"it is the turn of {_named(held)}", steps=steps, at=stage)
    silent = not waits[0].message and course.waits_at(stage) >= LAYERS_LOOK
    stalled = waits[0].stalled or silent
    return Line(Reason.STEP_STALLED if stalled else reason, said, stalled=stalled, at=stage)


def of(course: Course, stage: Stage) -> tuple[Later, ...]:
    return course.view.services if stage is Stage.SERVICES else course.view.apps


def _said(one: Later) -> str:
    layer = "quorum" if one.kind == QUORUM_SERVICE else "operators"
    said = one.message or f"it has not said anything yet: an operator with the layer {layer} has to run"
    return f"{one.id}: {said}; it is waited for, or passed over once it is paused"


def _named(those: Sequence[Later]) -> str:
    more = f" and {len(those) - 1} more" if len(those) > 1 else ""
    return f"{those[0].id}{more}"


def hold(one: Later, why: str) -> HoldLater:
    return HoldLater(one.kind, one.namespace, one.name, one.uid, why)


def holds(course: Course, at: Stage | None) -> Iterator[HoldLater]:
    """Our mark is on what has to wait for its turn, or rests with the upgrade."""
    for stage in LATER if at is not None else ():
        why = _why(course, stage, at)
        for one in of(course, stage) if why else ():
            if one.held != why and not one.under_way:
                yield hold(one, why)


def _why(course: Course, stage: Stage, at: Stage | None) -> str:
    if at is None or _STAGES.index(stage) > _STAGES.index(at):
        return f"the upgrade to {course.target} comes first"
    return course.rests if stage is at else ""


def passed_over(course: Course, stage: Stage) -> str:
    """Why a step had nothing to do; empty where it had."""
    if stage is Stage.CONTROL_PLANE:
        there = reaches(course.preceding, course.target) and course.rollout(CONTROL_PLANE) is None
        return f"the control plane ran {course.preceding} already" if there and course.preceding else ""
    if stage not in LATER:
        return ""
    those = of(course, stage)
    if not those:
        return f"there is no {'quorum service' if stage is Stage.SERVICES else 'operator'} of ours"
    paused = [one for one in those if one.paused]
    return f"paused by its user: {_named(paused)}" if len(paused) == len(those) else ""
