"""What is told about an upgrade: the status of the UpgradeConfig.

It is made from the decision alone, so that what people read and what is done never differ. Where an upgrade
goes and since when is told before anything is done; counts and estimates whenever it costs little.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import msgspec

from shiplift.api.conditions import stated
from shiplift.api.upgrade import (
    Finding,
    HistoryEntry,
    Plan,
    TurnOf,
    UpgradeConfigStatus,
    UpgradePhase,
    UpgradeTurn,
)
from shiplift.api.values import Condition, ConditionStatus, Estimate, Progress
from shiplift.engine import conditions
from shiplift.engine.conditions import Statement
from shiplift.engine.conditions import Status as Holds
from shiplift.engine.progress import Weight
from shiplift.upgrade.decide import approving, external, later, retrying
from shiplift.upgrade.decide.course import Course
from shiplift.upgrade.decide.migrating import target_of
from shiplift.upgrade.model import Line, Reason, Stage
from shiplift.upgrade.names import WORKERS

MOST_HISTORY = 32
_LONGEST = 1000
_STAGES = tuple(Stage)
_NAMES = frozenset(Stage)
_REASONS = frozenset(Reason)
_ENDS = {
    Reason.UPGRADED: UpgradePhase.UPGRADED,
    Reason.ABORTED: UpgradePhase.FAILED,
    Reason.DELETED: UpgradePhase.FAILED,
}
_MOST_POOLS = 64
_TURNS: dict[tuple[Stage | None, Reason], TurnOf] = {
    (Stage.CONTROL_PLANE, Reason.CONTROL_PLANE): TurnOf.CONTROL_PLANE,
    (Stage.NODES, Reason.NODES): TurnOf.NODES,
}
_UNSEEN = (Reason.UNKNOWN_VERSION, Reason.UNREADABLE)
_FAILED = (Reason.STEP_FAILED, Reason.TOO_LATE)


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a status is made of."""

    course: Course
    line: Line
    findings: tuple[Finding, ...] = ()
    sure: bool = True
    """Whether what was seen is fresh: where it is not, what was told stays told."""

    @property
    def now(self) -> datetime:
        return self.course.now.replace(microsecond=0)


def status_of(report: Report) -> UpgradeConfigStatus:
    """The whole status."""
    course, line = report.course, report.line
    common = msgspec.structs.replace(
        course.status,
        observed_generation=course.upgrade.metadata.generation,
        conditions=_conditions(report),
        message=_short(line.message),
    )
    if not report.sure:
        return common
    common = msgspec.structs.replace(common, phase=_phase(report), reason=line.reason.value)
    return _of_course(common, report)


def _of_course(common: UpgradeConfigStatus, report: Report) -> UpgradeConfigStatus:
    course, line = report.course, report.line
    running = line.starts or (course.begun and not line.over)
    return msgspec.structs.replace(
        common,
        current_version=course.current or common.current_version,
        target_version=course.target if running else None,
        start_time=_start_time(report),
        retried=_retried(report),
        plan=_plan(report),
        findings=report.findings,
        nodes=_nodes(course),
        workloads=_workloads(report),
        eta=_eta(course) if running else None,
        # whose turn it is is known once the start is stored, and the next round looks
        turn=_turn(report) if course.external and running and not line.starts else None,
        history=_history(report, common.conditions),
    )


def _start_time(report: Report) -> datetime | None:
    """It stays after the end, until another version is asked for."""
    course, last = report.course, report.course.last
    if report.line.starts:
        return report.now
    told = course.begun or (last is not None and last.version == course.target)
    return course.status.start_time if told else None


def _retried(report: Report) -> int:
    """A wish to try again is granted once nothing is left that has failed, or by a new start."""
    course, line = report.course, report.line
    granted = line.starts or line.over or (course.begun and retrying.let_go(course) is None)
    return course.spec.retry if granted and course.retries else course.status.retried


def _plan(report: Report) -> Plan | None:
    """With the time at which it came to be what it is."""
    planned, before = report.course.plan, report.course.status.plan
    if planned is None:
        same = before is not None and before.version == report.course.target
        return before if report.course.begun or (not report.course.preceding and same) else None
    made = before.creation_time if before is not None and before.digest == planned.digest else None
    return Plan(
        digest=planned.digest,
        version=planned.version,
        path=planned.path,
        creation_time=made or report.now,
        summary=_short(planned.summary),
    )


def _nodes(course: Course) -> Progress:
    """Of OpenShift its pools say it: nodes say which Kubernetes they run, not which release."""
    if course.openshift:
        if not course.begun:
            return course.status.nodes
        pools = course.view.config_pools
        return Progress.of(sum(one.updated for one in pools), sum(one.machines for one in pools))
    return Progress.of(len(course.takes_part) - len(course.behind), len(course.takes_part))


def _workloads(report: Report) -> Progress:
    """As the migration says while it has our target; after that as it was last told."""
    migration, before = report.course.view.migration, report.course.status.workloads
    if report.line.starts:
        return Progress()
    if migration is None or not report.course.begun or target_of(migration) != report.course.target:
        return before
    status = migration.status
    last = status.last
    if last is not None and last.target == report.course.target and not status.progress.total:
        return last.workloads
    return status.progress


def _turn(report: Report) -> UpgradeTurn:
    """Whose move it is, and since when; what is not known for a moment changes nobody's turn."""
    line, before = report.line, report.course.status.turn
    if line.reason in _UNSEEN and report.course.begun and before is not None:
        return before
    of = _TURNS.get((line.at, line.reason), TurnOf.OURS)
    pools = external.waits_for(report.course)[:_MOST_POOLS] if of is TurnOf.NODES else ()
    since = before.since if before is not None and before.of is of else report.now
    return UpgradeTurn(of=of, since=since, pools=pools)


def _eta(course: Course) -> Estimate | None:
    """As the NodeRollout says; where there is none, as the migration does while it has our target."""
    rollout, migration = course.rollout(WORKERS), course.view.migration
    if rollout is not None:
        return rollout.status.eta
    moves = migration is not None and target_of(migration) == course.target
    return migration.status.eta if migration is not None and moves else None


def _history(report: Report, said: tuple[Condition, ...]) -> tuple[HistoryEntry, ...]:
    course, line = report.course, report.line
    before = course.status.history
    if line.starts:
        began = HistoryEntry(
            version=course.target,
            phase=UpgradePhase.UPGRADING,
            preceding_version=course.preceding,
            start_time=report.now,
        )
        return (began, *before)[:MOST_HISTORY]
    if course.begun and before:
        return (_running(report, before[0], said), *before[1:])
    if line.over and line.reason is Reason.UPGRADED and not _is_reached(course):
        there = HistoryEntry(
            version=course.target, phase=UpgradePhase.UPGRADED, complete_time=report.now, conditions=said
        )
        return (there, *before)[:MOST_HISTORY]
    return before


def _is_reached(course: Course) -> bool:
    last = course.last
    return last is not None and last.phase is UpgradePhase.UPGRADED and last.version == course.target


def _running(report: Report, entry: HistoryEntry, said: tuple[Condition, ...]) -> HistoryEntry:
    rollout = report.course.rollout(WORKERS)
    if rollout is not None:
        entry = msgspec.structs.replace(
            entry,
            worker_start_time=rollout.status.start_time or entry.worker_start_time,
            worker_complete_time=rollout.status.complete_time,
        )
    phase = _ENDS.get(report.line.reason)
    if not report.line.over or phase is None:
        return entry
    return msgspec.structs.replace(entry, phase=phase, complete_time=report.now, conditions=said)


def _phase(report: Report) -> UpgradePhase:
    course, line = report.course, report.line
    if line.over:
        return _ENDS.get(line.reason, UpgradePhase.FAILED)
    if line.reason in _FAILED:
        return UpgradePhase.FAILED
    if course.begun or line.starts:
        return UpgradePhase.UPGRADING
    return UpgradePhase.NEW if line.at is Stage.VALID else UpgradePhase.PENDING


def _conditions(report: Report) -> tuple[Condition, ...]:
    course = report.course
    before = course.status.conditions
    if report.line.starts:
        # the steps of the upgrade before this one say nothing about this one
        before = tuple(one for one in before if one.type not in _NAMES)
    return stated(
        before,
        (*_kstatus(report.line), *_stages(report, before)),
        generation=course.upgrade.metadata.generation,
        now=course.now,
        more=_STAGES,
    )


def _kstatus(line: Line) -> tuple[Statement, ...]:
    message = _short(line.message)
    if line.stalled:
        return conditions.stalled(line.reason, message)
    if line.over:
        return conditions.ready(line.reason, message)
    if line.reason is Reason.STALE_VIEW:
        return conditions.unknown(line.reason, message)
    return conditions.reconciling(line.reason, message)


def _stages(report: Report, before: tuple[Condition, ...]) -> Iterator[Statement]:
    """Steps before the one that it is about are over, later ones have not been looked at."""
    line = report.line
    if line.at is None and not line.through and not (line.over and line.reason is Reason.UPGRADED):
        yield from _as_before(before)
        return
    at = len(_STAGES) if line.at is None else _STAGES.index(line.at)
    for stage in _STAGES[:at]:
        yield _approved(report, before) if stage is Stage.APPROVED else _over(report, stage, before)
    if line.at is not None:
        # so that since when nobody knows is on record, however long the step had been waited for before
        holds = Holds.UNKNOWN if line.reason is Reason.UNKNOWN_VERSION else Holds.FALSE
        yield Statement(line.at, holds, line.reason, _short(line.message), line.stalled)


def _approved(report: Report, before: tuple[Condition, ...]) -> Statement:
    """Half-way a plan may have to be approved anew: from when a step waits for that until somebody has."""
    found = next((one for one in before if one.type == Stage.APPROVED), None)
    waited = found is not None and found.status is ConditionStatus.FALSE
    missing = approving.missing(report.course) if report.course.begun else None
    if missing is None or not (waited or report.line.reason is Reason.NEEDS_APPROVAL):
        return _over(report, Stage.APPROVED, before)
    return Statement(Stage.APPROVED, Holds.FALSE, missing.reason, _short(missing.message))


def _over(report: Report, stage: Stage, before: tuple[Condition, ...]) -> Statement:
    """A step that is over; of one that was passed over, why. Once the upgrade is over that stays told; of the
    control plane from then on, since nobody sees afterwards what it was brought from."""
    found = next((one for one in before if one.type == stage), None)
    stays = not report.course.begun or stage is Stage.CONTROL_PLANE
    if stays and found is not None and found.status is ConditionStatus.TRUE:
        return Statement(stage, Holds.TRUE, _known(found.reason), found.message)
    why = later.passed_over(report.course, stage)
    return Statement(stage, Holds.TRUE, Reason.NOTHING_TO_DO if why else Reason.DONE, why)


def _as_before(before: tuple[Condition, ...]) -> Iterator[Statement]:
    for one in before:
        if one.type in _NAMES:
            yield Statement(one.type, Holds(one.status.value), _known(one.reason), one.message)


def _known(reason: str) -> Reason:
    """A reason that was stored; of one that a later release or somebody wrote only that it was said."""
    return Reason(reason) if reason in _REASONS else Reason.DONE


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _essence(status: UpgradeConfigStatus) -> tuple[object, ...]:
    """What decisions, or people who wait, depend on."""
    said = tuple((one.type, one.status, one.reason, one.observed_generation) for one in status.conditions)
    history = tuple((one.version, one.phase, one.start_time, one.complete_time) for one in status.history)
    return (
        status.phase,
        status.target_version,
        status.start_time,
        status.retried,
        status.turn,
        status.plan.digest if status.plan else "",
        status.observed_generation,
        tuple((one.code, one.severity) for one in status.findings),
        said,
        history,
    )


WEIGHT: Weight[UpgradeConfigStatus] = Weight(
    _essence, ("message", "nodes", "workloads", "eta", "findings", "history")
)
"""What of the status is told at once, and what whenever it costs little."""
