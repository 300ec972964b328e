"""Somebody else changes control plane and nodes: a cloud, Cluster API, a person. The conductor says whose
turn it is, moves workloads as new nodes come, and takes an upgrade up where it is."""

from __future__ import annotations

from collections.abc import Sequence

from shiplift.api.values import ConditionStatus
from shiplift.engine import versions
from shiplift.upgrade.decide import migrating, silent
from shiplift.upgrade.decide.course import Course, runs
from shiplift.upgrade.decide.rolling import resting
from shiplift.upgrade.model import Line, Machine, Reason, Stage
from shiplift.upgrade.names import CONTROL_PLANE, WORKERS


def control_plane(course: Course) -> Line | None:
    """API servers, and control-plane nodes where there are any, are there; None where they are. A server that
    has not said yet what it runs is nobody's turn. Once that is over, a node that joins or is labelled so
    later, without an API server of its own, is one node more."""
    said = course.view.api_servers.values()
    behind = [one for one in said if one and not versions.reaches(one, course.target)]
    if past := [one for one in behind if versions.beyond(one, course.target)]:
        return _beyond(course, f"the control plane runs {past[0]}", Stage.CONTROL_PLANE)
    if behind:
        text = f"it is for somebody else to bring the control plane from {behind[0]} to {course.target}"
        if course.rests:
            return resting(course, text)._replace(at=Stage.CONTROL_PLANE)
        return Line(Reason.CONTROL_PLANE, text, at=Stage.CONTROL_PLANE)
    if not all(said):
        return silent.unknown(course, Stage.CONTROL_PLANE)
    left = _behind(course, CONTROL_PLANE)
    return _waits(course, left, Reason.CONTROL_PLANE, Stage.CONTROL_PLANE) if left else None


def nodes(course: Course) -> Line | None:
    """Workloads know where to go, and no node is of an older version; None where that is so."""
    left = _behind(course, WORKERS)
    if not left:
        return None
    return migrating.told_where(course) or _waits(course, left, Reason.NODES, Stage.NODES)


def _behind(course: Course, part: str) -> list[Machine]:
    """Control-plane nodes count as nodes like others once their turn is over."""
    over = course.was_over(Stage.CONTROL_PLANE)
    planes = [one for one in course.machines(CONTROL_PLANE) if not over]
    those = planes if part == CONTROL_PLANE else [one for one in course.takes_part if one not in planes]
    return [one for one in those if not runs(one, course.target)]


def _beyond(course: Course, runs: str, stage: Stage) -> Line:
    """Clouds build their own: of a whole version they bring another patch, or one with a suffix."""
    minor = ".".join(course.target.split(".")[:2])
    text = (
        f"{runs}, which no upgrade makes {course.target}; abort, and ask for {minor}, of which every version"
        " will do"
    )
    return Line(Reason.STEP_STALLED, text, stalled=True, at=stage)


def _waits(course: Course, left: Sequence[Machine], reason: Reason, stage: Stage) -> Line:
    if past := [one for one in left if versions.beyond(one.kubelet, course.target)]:
        return _beyond(course, f"node {past[0].name} runs {past[0].kubelet}", stage)
    pools = pools_of(left)
    named = f" of pool {left[0].pool}" if left[0].pool else ""
    more = f", {len(left)} are left" if len(left) > 1 else ""
    more += f" in pools {', '.join(pools[:3])}" if len(pools) > 1 else ""
    text = f"it is for somebody else to bring node {left[0].name}{named} to {course.target}{more}"
    stuck = _stuck(course)
    if course.rests:
        return resting(course, text + stuck)._replace(at=stage)
    return Line(Reason.STEP_STALLED if stuck else reason, text + stuck, stalled=bool(stuck), at=stage)


def _stuck(course: Course) -> str:
    """Nodes go when workloads have left them: what keeps these is what keeps all."""
    migration = course.view.migration
    if migration is None or migrating.target_of(migration) != course.target:
        return ""
    said = migration.status.conditions
    stalled = any(one.type == "Stalled" and one.status is ConditionStatus.TRUE for one in said)
    return f"; WorkloadMigration cluster: {migration.status.message}" if stalled else ""


def pools_of(machines: Sequence[Machine]) -> tuple[str, ...]:
    """Their pools, by name."""
    return tuple(sorted({one.pool for one in machines if one.pool}))


def waits_for(course: Course) -> tuple[str, ...]:
    """The pools whose turn it is."""
    return pools_of(_behind(course, WORKERS))


def missed(course: Course) -> str:
    """What somebody else began without us, in words: workloads on such nodes were moved in no order of ours.
    Empty where nothing was."""
    workers = course.machines(WORKERS)
    there = len(workers) - len(_behind(course, WORKERS))
    if not course.external or not there:
        return ""
    return f"; {there} of {len(workers)} nodes run it already, and what is on them went there in no order"
