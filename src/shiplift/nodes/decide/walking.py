"""All nodes that a rollout has records of go their way. Those that end go first: the slots that they leave
are had by those that wait in line for one.

A worker is written down for a slot before that is free, while the one that has it is being given back: it is
cordoned as soon as the other takes pods again, and not after one more write. Until then nothing is done to
it, so that no more are away than may be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from shiplift.api.nodes import NodeState
from shiplift.nodes.decide import budget, passage
from shiplift.nodes.decide.case import Case, Passed
from shiplift.nodes.decide.course import Course
from shiplift.nodes.model import Records
from shiplift.nodes.steps import Release

_AT_THE_END = frozenset((NodeState.VERIFYING, NodeState.SOAKING))


class Walked(NamedTuple):
    """What follows for each node, by uid."""

    passed: Mapping[str, Passed]
    leaving: int
    """Workers that are being given back, and have their slots until that is seen."""


def walked(course: Course) -> Walked:
    cases = _cases(course)
    ended = {uid: passage.passed(case) for uid, case in cases.items() if case.record.state in _AT_THE_END}
    leaving = sum(_leaves(cases[uid], one) for uid, one in ended.items())
    left: Records = {
        uid: one for uid, one in course.records.items() if uid not in ended or ended[uid].record is not None
    }
    taken = budget.slots(course.spec, course.scope, left, course.busy, leaving)
    crowded = {True: _control_plane_down(course), False: _over_budget(taken)}
    in_line = _in_line(cases, taken)
    passed: dict[str, Passed] = {}
    for uid, case in cases.items():
        now = msgspec.structs.replace(
            case, crowded=crowded[case.member.control_plane], in_line=uid in in_line
        )
        passed[uid] = ended[uid] if uid in ended else passage.passed(now)
    return Walked(passed, leaving)


def _cases(course: Course) -> dict[str, Case]:
    """Records whose node is there."""
    found: dict[str, Case] = {}
    chosen = {one.uid for one in course.scope.members}
    for uid, record in course.records.items():
        member = course.view.members.get(record.name)
        if member is not None and member.uid == uid:
            found[uid] = Case(
                view=course.view,
                rollout=course.rollout,
                now=course.now,
                record=record,
                member=member,
                complete=uid in course.done,
                left=uid not in chosen,
            )
    return found


def _leaves(case: Case, passed: Passed) -> bool:
    """Whether a worker that is up is given back now."""
    free = any(isinstance(one, Release) and not one.mark and not one.left_by for one in passed.steps)
    return free and not case.member.control_plane and not case.member.down


def _over_budget(taken: budget.Slots) -> str:
    return "more workers are away than may be" if taken.over > taken.leaving else ""


def _in_line(cases: Mapping[str, Case], taken: budget.Slots) -> frozenset[str]:
    """The last of those to which nothing was done yet, as many as have no slot. One that is down needs a slot
    among those that are held, and takes nothing more away."""
    found = {uid: case for uid, case in cases.items() if case.untouched and not case.member.control_plane}
    up = [uid for uid, case in found.items() if not case.member.down]
    return frozenset((*_last(up, taken.over), *_last(list(found), taken.held - taken.limit)))


def _last(uids: list[str], count: int) -> list[str]:
    return uids[-count:] if count > 0 else []


def _control_plane_down(course: Course) -> str:
    down = [one.name for one in course.view.members.values() if one.control_plane and one.down]
    return f"control-plane node {down[0]} is down" if down else ""
