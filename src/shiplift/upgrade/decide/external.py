"""Somebody else changes control plane and nodes: a cloud, Cluster API, a person. The conductor says whose
turn it is, moves workloads as new nodes come, and takes an upgrade up where it is."""

from __future__ import annotations

from collections.abc import Sequence

from shiplift.api.values import ConditionStatus
from shiplift.engine import versions
from shiplift.upgrade.decide import migrating
from shiplift.upgrade.decide.course import Course, runs
from shiplift.upgrade.model import Line, Machine, Reason, Stage
from shiplift.upgrade.names import CONTROL_PLANE, WORKERS


def control_plane(course: Course) -> Line | None:
    """API servers, and control-plane nodes where there are any, are there; None where they are."""
    behind = [one for one in course.view.api_servers.values() if not versions.reaches(one, course.target)]
    if behind:
        runs_ = behind[0] or "an unknown version"
        text = f"it is for somebody else to bring the control plane from {runs_} to {course.target}"
        return Line(Reason.CONTROL_PLANE, text, at=Stage.CONTROL_PLANE)
    left = _behind(course, CONTROL_PLANE)
    return _waits(course, left, Reason.CONTROL_PLANE, Stage.CONTROL_PLANE) if left else None


def nodes(course: Course) -> Line | None:
    """Workloads know where to go, and no node is of an older version; None where that is so."""
    left = _behind(course, WORKERS)
    if not left:
        return None
    return migrating.told_where(course) or _waits(course, left, Reason.NODES, Stage.NODES)


def _behind(course: Course, part: str) -> list[Machine]:
    return [one for one in course.machines(part) if not runs(one, course.target)]


def _waits(course: Course, left: Sequence[Machine], reason: Reason, stage: Stage) -> Line:
    pools = pools_of(left)
    named = f" of pool {left[0].pool}" if left[0].pool else ""
    more = f", {len(left)} are left" if len(left) > 1 else ""
    more += f" in pools {', '.join(pools[:3])}" if len(pools) > 1 else ""
    text = f"it is for somebody else to bring node {left[0].name}{named} to {course.target}{more}"
    stuck = _stuck(course)
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
