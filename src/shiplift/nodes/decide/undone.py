"""A node whose change somebody else undoes again and again is left to somebody: each round drains it.

How often it was changed, the number of its last answered order says. Each version of the path has one, and a
few more are for what happens once. Who pauses the rollout has looked: the node is then tried again, once.
"""

from __future__ import annotations

from shiplift.agent.protocol import Result
from shiplift.api.nodes import NodeState, NodeStatus
from shiplift.nodes.decide import wanted
from shiplift.nodes.decide.case import short
from shiplift.nodes.decide.course import Course
from shiplift.nodes.decide.path import Leg
from shiplift.nodes.decide.scope import token_of
from shiplift.nodes.model import Member, Reason

MOST_AGAIN = 5
"""So often a node that was as it should be is changed once more by itself."""


def times(course: Course, member: Member) -> int:
    """How often a node was brought to what it should be and did not stay; 0 while it is tried again."""
    answer = member.answer
    token = token_of(answer.token) if answer is not None and answer.result is Result.DONE else None
    ours = (course.rollout.metadata.uid, member.uid)
    if token is None or member.uid in course.records or (token.rollout, token.node) != ours:
        return 0
    most = max(len(course.status.path), 1) + MOST_AGAIN
    return token.attempt if token.operation.wants_cordon and token.attempt >= most else 0


def record(course: Course, leg: Leg, member: Member) -> NodeStatus:
    """What is written down of it: it is named, and nothing is done to it."""
    versions = wanted.desired(course.spec, leg, member)
    strange = [name for name, version in versions.items() if not wanted.has(member, {name: version})]
    has = f"kubelet {member.row.kubelet_version}"
    if strange:
        version = member.current.get(strange[0], "")
        has = f"{strange[0]} {version}" if version else f"no {strange[0]}"
    told = f"it was changed {times(course, member)} times and has {has} again: somebody else changes it back"
    return NodeStatus(
        name=member.name,
        uid=member.uid,
        state=NodeState.FAILED,
        reason=Reason.CONTESTED,
        message=short(told),
        last_transition_time=course.now.replace(microsecond=0),
        attempt=times(course, member),
    )
