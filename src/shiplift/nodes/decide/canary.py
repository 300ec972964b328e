"""Canary nodes go before the other workers and are watched; the others follow if all of them stay well."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from shiplift.api.nodes import Canary, RolloutPass
from shiplift.api.values import duration, selector_of
from shiplift.nodes.decide import failing
from shiplift.nodes.decide.course import Course, Line
from shiplift.nodes.decide.scope import in_flight
from shiplift.nodes.model import Member, Reason


def canaries(course: Course) -> tuple[Member, ...]:
    """The first of those that may be chosen, by name."""
    canary = course.spec.canary
    if canary is None:
        return ()
    matches = selector_of(canary.node_selector).matches
    return tuple(one for one in course.scope.workers if matches(one.row.labels))[: canary.nodes]


def soaked(course: Course) -> bool:
    """Whether the other workers may follow; once they do, the canary nodes are workers like any other."""
    canary, since = course.spec.canary, course.status.canary_start_time
    if canary is None:
        return True
    if since is None or course.now < since + duration(canary.soak):
        return False
    return _followed(course) or are_well(course)


def _followed(course: Course) -> bool:
    """Whether another worker was begun already; one that had the version before says nothing."""
    first = {one.uid for one in canaries(course)}
    others = (one for one in course.scope.workers if one.uid not in first)
    through = len(course.status.durations) > len(first)
    return through or any(one.uid in course.records for one in others)


def soaking(course: Course) -> Line | None:
    """What the other workers wait for once the canary nodes are changed; None where these come next."""
    canary = course.spec.canary
    if canary is None or course.leg is None or course.leg.pass_ is not RolloutPass.WORKERS or soaked(course):
        return None
    chosen = canaries(course)
    if not chosen:
        text = (
            f"spec.canary of NodeRollout {course.rollout.metadata.name}: its nodeSelector matches no worker"
        )
        return Line(Reason.NO_NODES, text, stalled=True)
    if failed := [one.name for one in chosen if _failed(course, one)]:
        text = f"canary node {failed[0]} has failed: {_why(course, failed[0])}; {course.try_again}"
        return Line(Reason.STOPPED, text, stalled=True)
    if not are_well(course):
        return None
    return _watched(course, canary, chosen)


def are_well(course: Course) -> bool:
    """Whether all canary nodes are changed and up."""
    return all(_well(course, one) for one in canaries(course))


def _watched(course: Course, canary: Canary, chosen: Iterable[Member]) -> Line:
    since: datetime = course.status.canary_start_time or course.now.replace(microsecond=0)
    until = since + duration(canary.soak)
    names = ", ".join(one.name for one in chosen)
    text = f"canary {names}: watched until {until:%Y-%m-%d %H:%M:%S} UTC before the others follow"
    return Line(Reason.SOAKING, text, due=until, soaking_since=since)


def _well(course: Course, member: Member) -> bool:
    record = course.records.get(member.uid)
    return member.uid in course.done and not member.down and (record is None or not in_flight(record))


def _failed(course: Course, member: Member) -> bool:
    record = course.records.get(member.uid)
    return record is not None and record.state in failing.FAILED


def _why(course: Course, name: str) -> str:
    return next(one.message for one in course.records.values() if one.name == name)
