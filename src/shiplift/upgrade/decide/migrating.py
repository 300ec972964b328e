"""Workloads are moved by the one WorkloadMigration of the cluster: it gets our target before nodes are begun.

One that a user made keeps everything but its target, which is recorded on it and put back in the end; where
there is none, one is made with the strategy of the UpgradeConfig, and taken away in the end.
"""

from __future__ import annotations

from typing import Any

import msgspec

from shiplift.api.marks import UPGRADE_LEDGER
from shiplift.api.values import ConditionStatus
from shiplift.api.workloads import (
    MIGRATION_STARTS,
    MigrationState,
    WorkloadMigration,
    WorkloadMigrationSpec,
)
from shiplift.engine import ledger, versions
from shiplift.engine.step import Step
from shiplift.upgrade.decide import leaving
from shiplift.upgrade.decide.course import LAYERS_LOOK, Course, is_made, runs
from shiplift.upgrade.decide.preflight import is_given_up
from shiplift.upgrade.decide.rolling import may_begin, resting
from shiplift.upgrade.model import Line, Reason, Stage, View
from shiplift.upgrade.names import MIGRATION
from shiplift.upgrade.steps import DeleteMigration, MakeMigration, PutBackTarget, SetTarget

_NAME = f"WorkloadMigration {MIGRATION}"
_TARGET = "/spec/target"


def told_where(course: Course) -> Line | None:
    """The migration knows the target, and has told whose turn it is; None where it has."""
    migration = course.view.migration
    if migration is not None and is_given_up(migration):
        return _given_up(course, migration)
    if migration is None or target_of(migration) != course.target:
        return _given(course, migration)
    if not _has_told(migration):
        text = f"{_NAME} has not told yet whose turn it is: an operator with the layer workloads has to run"
        if course.nobody_looks_at(migration, migration.status.observed_generation) or _is_left(
            course, migration
        ):
            return Line(Reason.STEP_STALLED, text, stalled=True, at=Stage.NODES)
        return Line(Reason.WORKLOADS, text, at=Stage.NODES)
    return None


def _given_up(course: Course, migration: WorkloadMigration) -> Line:
    """Whoever aborts it leaves workloads where they are, which nobody may take for the end of their move."""
    if migration.metadata.deletion_timestamp is not None:
        text = f"{_NAME} was deleted by somebody; it is made again when it is gone"
        line = Line(Reason.WORKLOADS, text, at=Stage.NODES)
        return leaving.told(line, leaving.kept(course.now, (), migration))
    text = (
        f"{_NAME} was aborted by somebody; delete it, and it is made again"
        f" (`kubectl delete workloadmigration {MIGRATION}`), or abort the upgrade"
    )
    return Line(Reason.STEP_STALLED, text, stalled=True, at=Stage.NODES)


def _given(course: Course, migration: WorkloadMigration | None) -> Line:
    if (line := may_begin(course)) is not None:
        return line._replace(at=Stage.NODES)
    if migration is None:
        made = WorkloadMigrationSpec(
            target=course.target, **msgspec.structs.asdict(course.spec.strategy.workloads)
        )
        spec: dict[str, Any] = msgspec.to_builtins(made)
        step: Step = MakeMigration(course.uid, spec)
        return Line(Reason.WORKLOADS, f"{_NAME} is made", steps=(step,), at=Stage.NODES)
    if UPGRADE_LEDGER in migration.metadata.annotations or is_made(migration):
        text = (
            f"somebody changed the target of {_NAME} to {migration.spec.target or 'none'};"
            f" set it to {course.target}, or abort the upgrade"
        )
        return Line(Reason.STEP_STALLED, text, stalled=True, at=Stage.NODES)
    step = SetTarget(migration.metadata.uid, course.target)
    return Line(Reason.WORKLOADS, f"{_NAME} gets its target", steps=(step,), at=Stage.NODES)


def target_of(migration: WorkloadMigration) -> str:
    return versions.goal(migration.spec.target or "")


def is_touched(migration: WorkloadMigration) -> bool:
    """Whether something of ours is on it, or it is ours."""
    return is_made(migration) or UPGRADE_LEDGER in migration.metadata.annotations


def made(view: View) -> WorkloadMigration | None:
    """The migration where it was made for an upgrade."""
    return view.migration if view.migration is not None and is_made(view.migration) else None


def takes_part(course: Course, migration: WorkloadMigration) -> bool:
    """Whether it moves workloads for this upgrade, also where its user had named the target before us."""
    return is_touched(migration) or target_of(migration) == course.target


def _has_told(migration: WorkloadMigration) -> bool:
    status = migration.status
    if status.observed_generation < migration.metadata.generation:
        return False
    return not any((one.type, one.reason) == ("Ready", MIGRATION_STARTS) for one in status.conditions)


def _is_left(course: Course, migration: WorkloadMigration) -> bool:
    """Whether a migration that an operator looked at once got our target some time ago, and nobody has seen
    that. What its user changes of it meanwhile is seen in a moment, and no reason to alarm anybody."""
    seen = migration.status.observed_generation >= migration.metadata.generation
    if seen or versions.goal(migration.status.target or "") == course.target:
        return False
    given = course.view.changes.get(SetTarget(migration.metadata.uid, course.target).change)
    just = given is not None and course.now - given.at < LAYERS_LOOK
    return not just and course.waits_at(Stage.NODES) >= LAYERS_LOOK


def moved(course: Course) -> Line | None:
    """Every workload is where it should be; None where that is so, or nobody moves any. A migration that goes
    before they are there is made again."""
    migration = course.view.migration
    if migration is None and not (course.waited_for(Stage.NODES) or course.waited_for(Stage.WORKLOADS)):
        return None
    if (line := told_where(course)) is not None:
        return line._replace(at=Stage.WORKLOADS)
    if migration is None or _is_over(migration) or _waits_for_left_out(course, migration):
        return None
    status = migration.status
    said = f"{_NAME}: {status.message}"
    if course.rests:
        return resting(course, said)._replace(at=Stage.WORKLOADS)
    if migration.spec.paused:
        return Line(Reason.STEP_STALLED, f"{_NAME} was paused by somebody: {said}", at=Stage.WORKLOADS)
    stalled = _holds(migration, "Stalled")
    reason = Reason.STEP_STALLED if stalled else Reason.WORKLOADS
    return Line(reason, said, stalled=stalled, at=Stage.WORKLOADS)


def _is_over(migration: WorkloadMigration) -> bool:
    rests = not _holds(migration, "Reconciling") and not _holds(migration, "Stalled")
    return migration.status.state is MigrationState.NO_UPGRADE and rests


def _waits_for_left_out(course: Course, migration: WorkloadMigration) -> bool:
    """Whether all workloads have arrived, and every node that is left for them to wait for is left out of the
    upgrade: nobody changes such a node, and what its migration marks goes with the migration."""
    status = migration.status
    begun = status.state is MigrationState.UPGRADE and versions.goal(status.target or "") == course.target
    arrived = begun and status.progress.done >= status.progress.total and not _holds(migration, "Stalled")
    behind = [one for one in course.view.machines if not runs(one, course.target)]
    return arrived and bool(behind) and all(one.left_out for one in behind)


def _holds(migration: WorkloadMigration, condition: str) -> bool:
    said = migration.status.conditions
    return any(one.type == condition and one.status is ConditionStatus.TRUE for one in said)


def given_back(view: View, target: str, *, reached: bool) -> tuple[Step, ...]:
    """What makes the migration the user's own again; nothing where it is.

    A version that was asked for before is not put back once the cluster has left it behind: workloads would
    be held for nodes that there are none of any more.
    """
    migration = view.migration
    if migration is None or not is_touched(migration):
        return ()
    about = migration.metadata
    if is_made(migration):
        return () if about.deletion_timestamp else (DeleteMigration(about.uid, about.resource_version),)
    before = _target_before(migration)
    return (PutBackTarget(about.uid, keep=reached and bool(before) and versions.goal(before) != target),)


def _target_before(migration: WorkloadMigration) -> str:
    """The target that it had before ours; empty where it had none, or nobody can read the record."""
    about = migration.metadata
    document = {"metadata": {"name": about.name, "annotations": dict(about.annotations)}}
    try:
        entries = ledger.read(document, UPGRADE_LEDGER).entries
    except ledger.LedgerError:
        return ""
    found = next((one.before for one in entries if one.path == _TARGET), "")
    return found if isinstance(found, str) else ""
