"""Which nodes are begun next, and what is written down of each before anything is done to it.

The order: nodes that are away already, then canary nodes, then the node that a migration empties, then those
whose pods budgets let go, by name; those that the operator itself runs on after others, one at a time, and
the one whose pod leads after these. Nodes that hold pods whose turn has not come are not begun.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import groupby

import msgspec

from shiplift.agent.protocol import Operation, Token
from shiplift.api.nodes import NodeBefore, NodeState, NodeStatus, RolloutPass
from shiplift.api.values import SoftwareState
from shiplift.nodes.decide import budget, canary, claiming, undone, wanted
from shiplift.nodes.decide.budget import Slots
from shiplift.nodes.decide.case import MOST_ATTEMPTS, last_attempt, unanswered
from shiplift.nodes.decide.course import Course, Line
from shiplift.nodes.decide.gentle import drainable, gentlest
from shiplift.nodes.decide.path import Leg
from shiplift.nodes.model import Member, Reason
from shiplift.nodes.names import KUBELET

MOST_RECORDS = 900
"""The status has room for 1,000 nodes; those that fail need some of it."""
_TELLS_WITHIN = timedelta(seconds=30)


class Choice(msgspec.Struct, frozen=True):
    """The nodes that are begun, or why none is."""

    begun: tuple[NodeStatus, ...] = ()
    line: Line | None = None


def choice(course: Course) -> Choice:
    """Which nodes of the running pass are begun now."""
    leg, line = course.leg, _other_pass(course)
    if leg is None or line is not None:
        return Choice(line=line)
    found = [one for one in course.unfit if may_begin(course, one)]
    if lost := [undone.record(course, leg, one) for one in found if undone.times(course, one)]:
        return Choice(
            tuple(lost[: _room(course)]), Line(Reason.ROLLING, f"node {lost[0].name}: {lost[0].message}")
        )
    begin = _workers if leg.pass_ is RolloutPass.WORKERS else _control_plane
    return begin(course, leg, found)


def may_begin(course: Course, member: Member) -> bool:
    """Whether a node could be begun if there were room for it."""
    record = course.records.get(member.uid)
    if record is not None and is_kept(record):
        return False
    if record is not None and (record.token is not None or record.state is not NodeState.WAITING):
        return False
    leaves = member.leaving or member.row.deleting
    free = answers(member) and not unanswered(member) and member.uid not in course.busy
    return free and not leaves and not member.problem


def is_kept(record: NodeStatus) -> bool:
    """Whether a node is not begun because of a pod that must not go."""
    return record.token is None and record.reason == Reason.DRAIN_BLOCKED


def kept(course: Course) -> Line | None:
    """The first node that is not begun because of a pod that must not go."""
    found = [one for one in course.records.values() if is_kept(one)]
    if not found:
        return None
    return Line(Reason.DRAIN_BLOCKED, f"node {found[0].name}: {found[0].message}", stalled=True)


def answers(member: Member) -> bool:
    """Whether an agent is there; one of another protocol is a problem of its node."""
    return member.agent is not None


def _other_pass(course: Course) -> Line | None:
    """Passes follow each other: what the one before has begun is finished first."""
    names = {one.uid for one in course.group}
    late = [course.records[uid].name for uid in course.flying if uid not in names]
    return (
        Line(Reason.ROLLING, f"node {late[0]}, which was begun before, is finished first") if late else None
    )


def _control_plane(course: Course, leg: Leg, found: list[Member]) -> Choice:
    """One at a time, and only while all others are up."""
    if course.flying:
        return Choice()
    if (line := _claimed(course)) is not None:
        return Choice(line=line)
    down = [one for one in course.view.members.values() if one.control_plane and one.down]
    first = min(found, key=lambda one: course.view.own.of_node(one.name), default=None)
    chosen = next((one for one in found if one.down), first)
    if chosen is None:
        return Choice()
    if others := [one.name for one in down if one.uid != chosen.uid]:
        text = f"control-plane node {others[0]} is down: no other is touched until it is Ready"
        return Choice(line=Line(Reason.NO_HEALTHY_CONTROL_PLANE, text, stalled=_again(course, text)))
    return Choice((_record(course, leg, chosen),))


def _claimed(course: Course) -> Line | None:
    """Why the control plane is not ours to change."""
    if course.view.claims is None:
        return _unclaimed(course)
    if (why := claiming.forgotten(course.view, course.now)) is not None:
        return Line(Reason.NOT_CLAIMED, why, stalled=True)
    why = claiming.others(course.view) or _others_flying(course)
    return Line(Reason.ROLLING, why) if why else None


def _unclaimed(course: Course) -> Line:
    """The claims cannot be read: no event tells when they can; where that stays so, somebody has to know."""
    why = claiming.others(course.view)
    return Line(Reason.NOT_CLAIMED, why, stalled=_again(course, why), due=course.now + claiming.READ_AGAIN)


def _again(course: Course, text: str) -> bool:
    """Whether that was told already: it does not pass by itself, as far as anybody can tell."""
    return course.status.message == text


def _others_flying(course: Course) -> str:
    """A control-plane node that another rollout is at."""
    for member in course.view.members.values():
        if member.control_plane and member.uid in course.busy:
            return f"control-plane node {member.name} is being changed"
    return ""


def _workers(course: Course, leg: Leg, found: list[Member]) -> Choice:
    leaving = 0 if course.spec.hooks.before else course.leaving  # a hook runs when there is a slot
    taken = budget.slots(course.spec, course.scope, course.records, course.busy, leaving)
    away = [one for one in found if budget.away(one)]
    free = [one for one in found if not budget.away(one) and not _holds(course, one)]
    if not canary.soaked(course):
        first = {one.uid for one in canary.canaries(course)}
        free = [one for one in free if one.uid in first]
    free.sort(key=lambda one: (course.view.own.of_node(one.name), one.name))
    down = away[: taken.for_down]
    up = _first(course, free, min(taken.for_up, taken.limit + leaving - taken.held - len(down)))
    slots = taken.free
    begun = tuple(_record(course, leg, one) for one in (*down, *up[:slots]))
    begun += tuple(_in_line(_record(course, leg, one)) for one in up[slots:])
    return Choice(begun[: _room(course)], None if begun else _none(course, found, free, taken))


def _in_line(record: NodeStatus) -> NodeStatus:
    told = "it is next, once a node is given back"
    return msgspec.structs.replace(record, state=NodeState.WAITING, reason=Reason.IN_LINE, message=told)


def _first(course: Course, free: list[Member], count: int) -> list[Member]:
    """Nodes of the operator when no other can be drained, however little budgets keep of them; before those
    with a pod that can never go, which may be waited for for ever."""
    emptying, demands = course.view.migration.emptying, course.view.demands
    if _own_is_away(course):
        free = [one for one in free if not course.view.own.of_node(one.name)]
    chosen = [one for one in free if one.name == emptying][: max(count, 0)]
    others = [one for one in free if one.name != emptying]
    stuck = list[Member]()
    for _, group in groupby(others, lambda one: course.view.own.of_node(one.name)):
        if (left := count - len(chosen)) <= 0:
            break
        found, late = drainable(list(group), left, demands, course.spec)
        chosen += gentlest(found, left, demands)
        stuck += late
    return _one_of_own(course, chosen + gentlest(stuck, count - len(chosen), demands))


def _own_is_away(course: Course) -> bool:
    """Whether a node of the operator is away: were all of them, its pods could find no place at all."""
    at_work = course.busy.union(course.flying)
    return any(
        one.uid in at_work and course.view.own.of_node(one.name) for one in course.view.members.values()
    )


def _one_of_own(course: Course, chosen: list[Member]) -> list[Member]:
    own = [one.uid for one in chosen if course.view.own.of_node(one.name)]
    return [one for one in chosen if one.uid not in own[1:]]


def _room(course: Course) -> int:
    return max(MOST_RECORDS - len(course.records), 0)


def _holds(course: Course, member: Member) -> bool:
    migration = course.view.migration
    return member.name in migration.holding and member.name != migration.emptying


def _none(course: Course, found: list[Member], free: list[Member], taken: Slots) -> Line | None:
    """Why nothing is begun; None where what is in flight says it."""
    if course.flying:
        return None
    held = [one for one in found if _holds(course, one)]
    if held and not free:
        return _needs_surge(course, held)
    if taken.names and found:
        text = (
            f"maxUnavailable is {taken.limit}, and {taken.unavailable} unavailable: {', '.join(taken.names)}"
        )
        text += "; repair them, or leave them out with node.shiplift.dev/skip-rollout"
        return Line(Reason.TOO_MANY_AWAY, text, stalled=_again(course, text))
    return kept(course)


def _needs_surge(course: Course, held: list[Member]) -> Line:
    name = held[0].name
    what = course.view.migration.holding[name]
    if course.view.migration.untold:
        return _untold(course, f"node {name}: {what}")
    text = (
        f"every node that is left holds pods whose turn has not come (node {name}: {what});"
        " add a node, or let the migration move on"
    )
    return Line(Reason.NEEDS_SURGE, text, stalled=not course.done)


def _untold(course: Course, what: str) -> Line:
    """A migration tells within seconds whose turn it is, where somebody runs it."""
    text = (
        "WorkloadMigration cluster has not told whose turn it is, so no pod that it may move is evicted"
        f" ({what}); does an operator with the layer workloads run? `shiplift abort` takes the migration back"
    )
    told = [one for one in course.status.conditions if one.reason == Reason.NEEDS_SURGE]
    since = min((one.last_transition_time for one in told), default=course.now)
    late = since + _TELLS_WITHIN
    return Line(
        Reason.NEEDS_SURGE, text, stalled=course.now >= late, due=None if course.now >= late else late
    )


def _record(course: Course, leg: Leg, member: Member) -> NodeStatus:
    """All that has to be known before a node is touched."""
    now, known = course.now.replace(microsecond=0), course.records.get(member.uid)
    operation = wanted.operation(course.view, leg)
    versions = wanted.desired(course.spec, leg, member)
    uid = course.rollout.metadata.uid
    attempt = min(max(known.attempt if known else 0, last_attempt(member, uid, operation)) + 1, MOST_ATTEMPTS)
    return NodeStatus(
        name=member.name,
        uid=member.uid,
        state=_first_state(course, operation),
        reason=Reason.CHOSEN,
        message=f"its turn has come ({operation.value})",
        last_transition_time=now,
        attempt=attempt,
        token=str(Token(uid, member.uid, operation, attempt)),
        before=_before(course, member, versions, known),
        software=tuple(
            SoftwareState(name=name, desired=version, current=member.current.get(name, "")[:256])
            for name, version in sorted(versions.items())
        ),
        start_time=now,
    )


def _first_state(course: Course, operation: Operation) -> NodeState:
    if not operation.wants_cordon:
        return NodeState.CHANGING
    return NodeState.WAITING if course.spec.hooks.before else NodeState.CORDONED


def _before(course: Course, member: Member, versions: dict[str, str], known: NodeStatus | None) -> NodeBefore:
    """As it is now; what our own cordon of an earlier attempt hides is taken from there."""
    row, marked = member.row, member.cordoned_by == course.rollout.metadata.name
    by = _quarantined_by(course, member, known)
    if marked and known is not None and known.before is not None:
        return msgspec.structs.replace(known.before, down=member.down, quarantined_by=by)
    current = {name: member.current[name] for name in versions if name in member.current}
    if KUBELET in versions:
        current.setdefault(KUBELET, wanted.package(row.kubelet_version))
    return NodeBefore(
        unschedulable=_was_cordoned(member, marked=marked) and not by,
        quarantined_by=by,
        down=member.down,
        boot_id=row.boot_id[:256],
        kubelet_version=row.kubelet_version[:256],
        software=wanted.as_stored(current),
    )


def _was_cordoned(member: Member, *, marked: bool) -> bool:
    """By somebody else; our own cordon of an earlier attempt may hide that, and then the node says it."""
    if marked:
        return bool(member.cordoned_before)
    return member.row.unschedulable


def _quarantined_by(course: Course, member: Member, known: NodeStatus | None) -> str:
    """Also where this rollout has quarantined it, and tries it again."""
    if known is not None and known.reason == Reason.QUARANTINED and member.row.unschedulable:
        return course.rollout.metadata.name
    return member.quarantined_by
