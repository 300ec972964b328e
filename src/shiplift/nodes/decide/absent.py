"""Records whose node is not there: it is gone, another has its name now, or it cannot be read.

Most end with their node. Kept are those of nodes that cannot be read, by which they are given back later, and
those that have failed: a machine that is replaced because it failed is a failure all the same. Who pauses the
rollout has looked at these.
"""

from __future__ import annotations

import msgspec

from shiplift.api.nodes import NodeState, NodeStatus
from shiplift.nodes.decide import failing
from shiplift.nodes.decide.case import ending, short
from shiplift.nodes.decide.course import Course
from shiplift.nodes.model import Reason

_GONE = "its node is gone since"


def kept(course: Course) -> dict[str, NodeStatus]:
    """By uid, as they should be stored."""
    found = (_kept(course, one) for uid, one in course.records.items() if not _is_there(course, uid, one))
    return {one.uid: one for one in found if one is not None}


def _is_there(course: Course, uid: str, record: NodeStatus) -> bool:
    member = course.view.members.get(record.name)
    return member is not None and member.uid == uid


def _kept(course: Course, record: NodeStatus) -> NodeStatus | None:
    if why := course.view.unreadable_node(record.name):
        return msgspec.structs.replace(record, reason=Reason.UNREADABLE, message=short(why))
    if not failing.counts(record) or course.spec.paused or ending(course.rollout):
        return None
    told = record.message if _GONE in record.message else f"{record.message}; {_GONE}"
    return msgspec.structs.replace(
        record, state=NodeState.FAILED, message=short(told), token=None, blockers=()
    )
