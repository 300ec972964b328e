"""Before the first node is changed, every node says that it can be; before the control plane is changed, etcd
is copied."""

from __future__ import annotations

from datetime import timedelta

from shiplift.agent.protocol import Operation
from shiplift.api.nodes import RolloutPass, Snapshot
from shiplift.api.values import duration
from shiplift.engine.step import Step
from shiplift.nodes.decide import errands, silence, wanted
from shiplift.nodes.decide.course import Course, Line
from shiplift.nodes.decide.errands import Errand, State
from shiplift.nodes.decide.path import Leg
from shiplift.nodes.model import Member, Reason

_LOOK_AGAIN = timedelta(seconds=10)
"""That an agent is heard of again need not be an event."""


def prepared(course: Course) -> Line | None:
    """What is left of preparing the nodes; None where all are, or where that is long over."""
    if course.status.running_pass not in {None, RolloutPass.PREPARE}:
        return None
    found = [
        errands.seen(course.rollout, Operation.PREPARE, one, _wanted(course, one))
        for one in _to_prepare(course)
    ]
    left = [one for one in found if one.state is not State.DONE]
    if not left:
        return None
    if failed := [one for one in left if one.state is State.FAILED]:
        first = failed[0]
        text = f"node {first.member.name} cannot be prepared: {first.message}; {course.try_again}"
        return Line(Reason.STOPPED, text, stalled=True)
    return _preparing(course, found, left)


def _to_prepare(course: Course) -> list[Member]:
    """Nodes that are to be changed and are up."""
    return [
        one
        for one in course.scope.members
        if one.uid not in course.done and not one.down and not one.problem and one.uid not in course.busy
    ]


def _preparing(course: Course, found: list[Errand], left: list[Errand]) -> Line:
    waiting = [one for one in left if one.state is not State.TO_ORDER]
    free = max(errands.SIDE_BY_SIDE - len(waiting), 0)
    steps: list[Step] = [_prepare(course, one.member) for one in left if one.state is State.TO_ORDER][:free]
    names = ", ".join(one.member.name for one in left[:3])
    text = f"{len(found) - len(left)} of {len(found)} nodes are prepared; next: {names}"
    if waiting and _is_late(course):
        name = waiting[0].member.name
        text += f"; does the agent of node {name} run? node.shiplift.dev/skip-rollout leaves it out"
        return Line(Reason.WAITS_FOR_AGENT, text, stalled=True, steps=tuple(steps))
    return _heard(course, waiting, Line(Reason.STARTING, text, steps=tuple(steps)))


def _heard(course: Course, waiting: list[Errand], line: Line) -> Line:
    """The same, with the nodes of whose agents nothing is heard. It is looked at again though nothing
    happens."""
    since = {
        one.member.name: at
        for one in waiting
        if (at := silence.silent_since(course.view, one.member.uid, course.now)) is not None
    }
    line = line._replace(due=course.now + _LOOK_AGAIN if waiting else None)
    if not since:
        return line
    first, more = next(iter(since.items())), len(since) - 1
    others = f" (and {more} more)" if more else ""
    text = (
        f"{line.message}; nothing was heard of the agent of node {first[0]}{others} since"
        f" {first[1]:%H:%M:%S} UTC: see whether it runs; node.shiplift.dev/skip-rollout leaves a node out"
    )
    return line._replace(reason=Reason.AGENT_UNHEARD, message=text)


def _prepare(course: Course, member: Member) -> Step:
    return errands.order(
        course.rollout, Operation.PREPARE, member, course.path.legs[-1].version, _wanted(course, member)
    )


def _wanted(course: Course, member: Member) -> dict[str, str]:
    """What the node should have in the end."""
    pass_ = RolloutPass.CONTROL_PLANE_KUBELETS if member.control_plane else RolloutPass.WORKERS
    return wanted.desired(course.spec, Leg(pass_, course.path.legs[-1].version), member)


def copied(course: Course) -> Line | None:
    """What is left of copying etcd before the first change of the control plane; None where that is done."""
    pass_ = course.leg.pass_ if course.leg is not None else None
    if pass_ is not RolloutPass.CONTROL_PLANE or course.status.snapshot is not None:
        return None
    if course.status.running_pass is RolloutPass.PREPARE:
        # the answer to this order takes the place of the one that says that the node is prepared
        return Line(Reason.ROLLING, "every node is prepared; etcd is copied next")
    found = [errands.seen(course.rollout, Operation.SNAPSHOT, one) for one in course.scope.control_planes]
    for one in found:
        if one.state is State.DONE:
            return _kept(course, one.member)
        if one.state is State.FAILED:
            return _not_copied(course, one.member, one.message)
    return _copying(course, found)


def _copying(course: Course, found: list[Errand]) -> Line:
    if ordered := [one for one in found if one.state is State.ORDERED]:
        return _being_copied(course, ordered)
    usable = [one.member for one in found if one.state is State.TO_ORDER and not one.member.down]
    if not usable:
        text = "no control-plane node is up and free to copy etcd"
        return Line(Reason.NO_HEALTHY_CONTROL_PLANE, text)
    step = errands.order(course.rollout, Operation.SNAPSHOT, usable[0], "", {})
    return Line(Reason.ROLLING, f"etcd is to be copied on node {usable[0].name}", steps=(step,))


def _being_copied(course: Course, ordered: list[Errand]) -> Line:
    name = ordered[0].member.name
    text = f"etcd is being copied on node {name}"
    if _is_late(course):
        told = f"{text}, and its agent has not been through for long; does it run?"
        return Line(Reason.WAITS_FOR_AGENT, told, stalled=True)
    return _heard(course, ordered, Line(Reason.ROLLING, text))


def _is_late(course: Course) -> bool:
    since = course.status.pass_start_time
    return since is not None and course.now - since >= duration(course.spec.node_timeout)


def _kept(course: Course, member: Member) -> Line:
    path = member.answer.path if member.answer is not None else ""
    if not path:
        return _not_copied(course, member, "its agent does not say where the copy is")
    taken = Snapshot(machine=member.name, path=path[:1024], creation_time=course.now.replace(microsecond=0))
    return Line(Reason.ROLLING, f"etcd was copied to {path} on node {member.name}", snapshot=taken)


def _not_copied(course: Course, member: Member, why: str) -> Line:
    text = f"etcd could not be copied on node {member.name}: {why}; {course.try_again}"
    return Line(Reason.STOPPED, text, stalled=True)
