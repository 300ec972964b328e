"""Why a rollout begins no node now: an ordered tuple of gates, the first that is closed is told.

What refuses the rollout as a whole comes first, then what somebody asked for, then what time will bring.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from shiplift.api.nodes import NodeState, NodeStatus, OnBlockedDrain
from shiplift.drain.own import ALONE
from shiplift.facts import kinds
from shiplift.nodes.decide import canary, choosing, failing, nobody, preparing, timing
from shiplift.nodes.decide.course import Course, Line
from shiplift.nodes.model import Member, Reason
from shiplift.nodes.names import FINALIZER
from shiplift.nodes.steps import SetFinalizer

Gate = Callable[[Course], Line | None]
_LOOK_AGAIN = timedelta(seconds=10)
"""No event tells when the policy that keeps nodes to their own is there again."""


def closed(course: Course) -> Line | None:
    """The first gate that keeps nodes from being begun; None where none does."""
    return next((line for gate in GATES if (line := gate(course)) is not None), None)


def _unreadable(course: Course) -> Line | None:
    blind = [one for one in course.view.unreadable if one.kind in {kinds.NODE, kinds.NODE_ROLLOUT}]
    return Line(Reason.UNREADABLE, f"nothing is begun: {blind[0]}", stalled=True) if blind else None


def _overlap(course: Course) -> Line | None:
    return Line(Reason.OVERLAP, course.overlap, stalled=True) if course.overlap else None


def _no_nodes(course: Course) -> Line | None:
    if len(course.scope):
        return None
    name = course.rollout.metadata.name
    if course.scope.opted_out:
        first = course.scope.opted_out[0].name
        text = f"selector and pools of NodeRollout {name} match no node but {first}, which has opted out"
    else:
        text = nobody.told(course.spec, name, course.scope.outside)
    return Line(Reason.NO_NODES, text, stalled=True)


def _refused(course: Course) -> Line | None:
    return Line(Reason.VERSION_REFUSED, course.refusal, stalled=True) if course.refusal else None


def _unknown_control_plane(course: Course) -> Line | None:
    """An API server whose version nobody knows is not planned for: a kubelet might come to be ahead of it."""
    if course.spec.version is None:
        return None
    unknown = _unknown_servers(course)
    if not unknown:
        return None
    text = f"the agent of control-plane node {unknown[0]} does not say which version its API server has"
    if unknown[0] not in course.view.members:
        text = "the API server does not say which version it has"
    return Line(Reason.WAITS_FOR_AGENT, text)


def _unknown_servers(course: Course) -> list[str]:
    """Where no control-plane node has an agent, and none takes part, the server that answers us speaks for
    all of them."""
    servers, members = course.view.api_servers, course.view.members
    silent = [name for name, version in servers.items() if not version]
    takes_part = {one.name for one in course.scope.control_planes}
    agents = any(version for name, version in servers.items() if name in members)
    return [name for name in silent if agents or name in takes_part or name not in members]


def _complete(course: Course) -> Line | None:
    if course.leg is not None:
        return None
    left = _failed(course)
    if course.flying and not left:
        name = course.records[course.flying[0]].name
        return Line(Reason.ROLLING, f"every node is changed; node {name} is being given back")
    if left:
        reason = Reason.STOPPED if course.flying else Reason.QUARANTINED
        return Line(reason, _told(course, left), stalled=True)
    return Line(Reason.COMPLETE, f"all {len(course.scope)} nodes run what they should", done=True)


def _distrusted(course: Course) -> Line | None:
    """A node that could give itself orders could say anything of itself."""
    if not (why := course.view.distrust):
        return None
    text = (
        f"nothing is begun: {why}, so a node could give itself orders; apply again what installed shiplift"
        " (docs/install.md)"
    )
    return Line(Reason.NODES_NOT_TRUSTED, text, stalled=True, due=course.now + _LOOK_AGAIN)


def _stopped(course: Course) -> Line | None:
    failed = _failed(course)
    members = {one.uid for one in course.scope.control_planes}
    if any(one.uid in members for one in failed) or any(_stops(course, one) for one in failed):
        return Line(Reason.STOPPED, _told(course, failed), stalled=True)
    if failed and course.failures >= course.spec.max_failures:
        return Line(Reason.STOPPED, _told(course, failed), stalled=True)
    return None


def _stops(course: Course, record: NodeStatus) -> bool:
    drain = record.state is NodeState.FAILED and record.reason == Reason.DRAIN_TIMED_OUT
    return drain and course.spec.on_blocked is OnBlockedDrain.STOP


def _failed(course: Course) -> list[NodeStatus]:
    return [one for one in course.records.values() if failing.counts(one)]


def _told(course: Course, failed: list[NodeStatus]) -> str:
    first = failed[0]
    most = course.spec.max_failures
    text = f"{len(failed)} node{'s' * (len(failed) != 1)} failed (it stops at {most})"
    left = " (quarantined)" if first.state is NodeState.QUARANTINED else ""
    return f"{text}; node {first.name}{left}: {first.message or first.reason}; {course.try_again}"


def _paused(course: Course) -> Line | None:
    if not course.spec.paused:
        return None
    flying = len(course.flying)
    ends = f"; {flying} in flight {'is' if flying == 1 else 'are'} finished" if flying else ""
    return Line(Reason.PAUSED, f"paused: no more nodes are begun{ends}")


def _starting(course: Course) -> Line | None:
    """The path and our finalizer are there before anything is done."""
    about, path = course.rollout.metadata, course.path.versions
    way = f"by {' then '.join(path)}" if path else "the control plane stays as it is"
    text = f"{len(course.scope)} nodes, {way}{_alone(course)}"
    if FINALIZER not in about.finalizers:
        return Line(Reason.STARTING, text, steps=(SetFinalizer(about.name, about.uid, True),))
    return Line(Reason.STARTING, text) if course.unbegun else None


def _alone(course: Course) -> str:
    """Said before a node is touched: what it means that the operator runs in one pod, which has to move."""
    ours = course.view.own
    left = (one for one in course.scope.members if one.uid not in course.done)
    moves = any(ours.of_node(one.name) for one in left)
    return f"; pod {ours.name} {ALONE}" if ours.alone and moves else ""


def _nothing_left(course: Course) -> Line | None:
    """All that could be changed is; what is left waits for somebody."""
    if course.flying or any(choosing.may_begin(course, one) for one in course.unfit):
        return None
    if failed := _failed(course):
        return Line(Reason.STOPPED, _told(course, failed), stalled=True)
    return choosing.kept(course) or _left(course)


def _left(course: Course) -> Line:
    """Why the first node that is left is not begun."""
    one = course.unfit[0]
    record = course.records.get(one.uid)
    if record is not None and record.state is NodeState.SKIPPED:
        return Line(Reason.DOWN_BEFORE, f"node {one.name}: {record.message}")
    if one.problem:
        return Line(Reason.UNREADABLE, f"node {one.name}: {one.problem}", stalled=True)
    return Line(*_not_to_be_had(course, one))


def _not_to_be_had(course: Course, member: Member) -> tuple[Reason, str]:
    """Why a node that is left cannot be begun for now."""
    if member.leaving or member.row.deleting:
        return Reason.ROLLING, f"node {member.name} is on its way out"
    if member.uid in course.busy:
        whose = f"NodeRollout {member.cordoned_by}" if member.cordoned_by else "another NodeRollout"
        return Reason.OVERLAP, f"node {member.name} is in the hands of {whose}; this one waits for it"
    if choosing.answers(member):
        return Reason.WAITS_FOR_AGENT, f"the agent of node {member.name} is at work on another order"
    return Reason.WAITS_FOR_AGENT, f"node {member.name} has no agent"


GATES: tuple[Gate, ...] = (
    _unreadable,
    _overlap,
    _no_nodes,
    _unknown_control_plane,
    _refused,
    _complete,
    _distrusted,
    timing.unusable,
    _paused,
    _stopped,
    _starting,
    preparing.prepared,
    timing.closed,
    preparing.copied,
    canary.soaking,
    _nothing_left,
)
