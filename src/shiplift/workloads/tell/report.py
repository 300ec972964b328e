"""What is told about a migration: the status of the WorkloadMigration and of the WorkloadOrders.

It is made from the decision alone, so that what people read and what is done never differ. What changes with
every look (an estimate, a message's count) alone is no reason to write it again at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from shiplift.api.conditions import stated
from shiplift.api.values import Condition as ConditionSpec
from shiplift.api.values import Progress, duration
from shiplift.api.workloads import (
    MigrationState,
    NodesOfVersion,
    PutBack,
    WorkloadKind,
    WorkloadMigrationStatus,
    WorkloadState,
    WorkloadStatus,
)
from shiplift.engine import conditions, progress
from shiplift.engine.conditions import Statement
from shiplift.engine.progress import Weight
from shiplift.workloads.decide.brake import is_counted, told
from shiplift.workloads.decide.cleaning import inert
from shiplift.workloads.decide.waiting import line_of
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.identity import named as named_workload
from shiplift.workloads.model import IN_LINES, Effort, Evicted, Line, Migrating, Reason, Role, Tally, View
from shiplift.workloads.names import SKIP
from shiplift.workloads.tell.counts import Counts
from shiplift.workloads.tell.last_move import last_move
from shiplift.workloads.tell.outlook import outlook

MOST_LISTED = 2000
_MOST_NOTES = 64
_MOST_VERSIONS = 64
_LONGEST = 1000
_MOST_INERT = 500
_MOST_RELIED_ON = 1000
_MOST_PUT_BACK = 500
_LINE_BYTES = 300
_MOST_BYTES = 400_000
"""An object may have about 1.5 MB, and the uids of those that have arrived need up to half of it."""
NONE_EVICTED = Evicted()
_PROGRESS = ("message", "progress", "pods", "moves", "eta", "pace", "waves", "workloads")
_NOTHING_TOLD = WorkloadMigrationStatus()
_AT_REST = (Reason.NO_UPGRADE, Reason.ABORTED, Reason.DELETED)
_NEEDS_SOMEBODY = (WorkloadState.BLOCKED, WorkloadState.MOVING, WorkloadState.RELEASED, WorkloadState.HELD)


def status_of(decision: Migrating, evicted: Evicted = NONE_EVICTED) -> WorkloadMigrationStatus:
    """The whole status; these were evicted since it was last written."""
    view, now = decision.view, decision.now.replace(microsecond=0)
    before = view.status
    common = WorkloadMigrationStatus(
        observed_generation=view.migration.metadata.generation if view.migration else 0,
        conditions=_conditions(decision, before, now),
        message=_short(decision.message),
        versions=tuple(_versions(view.fleet.versions)),
        notes=tuple(_short(note) for note in decision.notes[:_MOST_NOTES]),
        inert_tolerations=tuple(str(id_)[:256] for id_ in sorted(inert(view))[:_MOST_INERT]),
        last=last_move(decision, evicted, now),
    )
    if not decision.moving:
        return common
    return _under_way(decision, common, evicted, now)


def _under_way(
    decision: Migrating, common: WorkloadMigrationStatus, evicted: Evicted, now: datetime
) -> WorkloadMigrationStatus:
    view = decision.view
    same = view.status.state is MigrationState.UPGRADE and view.status.target == view.target.version
    before = view.status if same else _NOTHING_TOLD
    met = set(decision.met)
    done = met - {view.tallies[id_].row.uid for id_ in view.returned}
    counts = Counts(view, done)
    waiting = [(tally, line_of(decision, tally)) for tally in counts.taking_part if tally.row.uid not in done]
    blocked = sum(line.state is WorkloadState.BLOCKED for _, line in waiting)
    listed = _workloads(
        _Told(view, counts, evicted, now, duration(view.spec.progress_deadline)), before.workloads, waiting
    )
    pods = counts.pods()
    needs, pace, eta = outlook(decision, before, listed, blocked, pods)
    return msgspec.structs.replace(
        common,
        state=MigrationState.UPGRADE,
        target=view.target.version,
        mode=view.target.mode,
        started_at=progress.since(before.started_at, now, same=same),
        progress=counts.workloads(),
        pods=pods,
        moves=evicted.total + before.moves,
        eta=eta,
        pace=pace,
        needs=_short(needs),
        blocked=blocked,
        waves=counts.waves(),
        workloads=listed,
        met=decision.met,
        relied_on=_relied_on(view, met),
        put_back=_put_back(view, before, evicted),
        cycles=view.order.cycles,
        missing=view.order.missing,
        exceptions=decision.exceptions,
        emptying=decision.emptying,
        draining=decision.draining,
        forewarnings=before.forewarnings if same else tuple(map(_short, decision.forewarnings)),
    )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _versions(seen: Mapping[str, int]) -> Iterable[NodesOfVersion]:
    """How many nodes run each; where there are too many versions, those that most nodes run."""
    kept = seen.keys()
    if len(seen) > _MOST_VERSIONS:
        kept = set(sorted(seen, key=lambda version: -seen[version])[:_MOST_VERSIONS])
    return (NodesOfVersion(version=name[:256], nodes=many) for name, many in seen.items() if name in kept)


class _Told(NamedTuple):
    """What is known of all when one of them is told."""

    view: View
    counts: Counts
    evicted: Evicted
    now: datetime
    deadline: timedelta


def _relied_on(view: View, done: set[str]) -> tuple[str, ...]:
    """Who has arrived and is needed by who has not; those that were deleted meanwhile included."""
    order, tallies = view.order, view.tallies
    waiting = {id_ for id_, one in tallies.items() if one.row.uid not in done and id_ in order.graph.number}
    named = {
        edge.dependency
        for id_ in waiting
        for edge in order.graph.dependencies(id_)
        if not edge.soft and edge.dependency in tallies and tallies[edge.dependency].row.uid in done
    }
    for id_ in order.gone:
        if any(edge.dependent in waiting for edge in order.graph.unknown.get(id_, ())):
            named.add(id_)
    return tuple(sorted(str(id_)[:256] for id_ in named)[:_MOST_RELIED_ON])


def _put_back(view: View, before: WorkloadMigrationStatus, evicted: Evicted) -> tuple[PutBack, ...]:
    """Counted on from what was told, of workloads that are there still; a pause begins anew."""
    if view.spec.paused or not (before.put_back or evicted.given_again):
        return ()
    earlier = {one.uid: one.times for one in before.put_back}
    named = {str(id_): id_ for id_ in evicted.given_again} | {
        one.workload: named_workload(one.workload) for one in before.put_back
    }
    found = (
        PutBack(workload=text, uid=tally.row.uid, times=times)
        for text, id_ in sorted(named.items())
        if (tally := view.tallies.get(id_)) is not None
        and (times := earlier.get(tally.row.uid, 0) + evicted.given_again.get(id_, 0))
    )
    return tuple(sorted(found, key=lambda one: -one.times)[:_MOST_PUT_BACK])


def _workloads(
    told: _Told, before: Iterable[WorkloadStatus], waiting: Iterable[tuple[Tally, Line]]
) -> tuple[WorkloadStatus, ...]:
    """Workloads that have not arrived, first those that need somebody. Where not all fit, those stay that the
    brake counts: what is not listed is counted from nought again."""
    earlier = {WorkloadId(one.kind.value, one.namespace, one.name): one for one in before}
    lines = sorted(waiting, key=lambda pair: (_NEEDS_SOMEBODY.index(pair[1].state), pair[0].id))
    listed: dict[int, WorkloadStatus] = {}
    size = 0
    for place, tally, line in _most_important(lines, _counted(earlier, told.evicted))[:MOST_LISTED]:
        known = earlier.get(tally.id)
        known = known if known is not None and known.uid == tally.row.uid else None
        one = _with_evictions(told.view, tally, _one(told, tally, line, known), known, told.evicted)
        size += _LINE_BYTES + len(one.message) + len(one.name) + len(one.namespace)
        if size > _MOST_BYTES:
            break
        listed[place] = one
    return tuple(one for _, one in sorted(listed.items()))


def _counted(earlier: Mapping[WorkloadId, WorkloadStatus], evicted: Evicted) -> set[WorkloadId]:
    """Workloads to which something was done that the brake counts."""
    found = {id_ for id_, one in earlier.items() if is_counted(one)}
    return found.union(*(evicted.of(effort) for effort in IN_LINES))


def _most_important(
    lines: Sequence[tuple[Tally, Line]], counted: Collection[WorkloadId]
) -> list[tuple[int, Tally, Line]]:
    """The lines, each after its place: the first of all, those that are counted, then the others. Of those
    that are counted, the ones that have all their pods need it least."""
    placed = [(place, tally, line) for place, (tally, line) in enumerate(lines)]
    if counted:
        placed.sort(key=lambda one: (one[0] > 0 and one[1].id not in counted, one[0] > 0 and one[1].complete))
    return placed


def _one(told: _Told, tally: Tally, line: Line, earlier: WorkloadStatus | None) -> WorkloadStatus:
    pods = told.counts.pods_of(tally)
    same = earlier is not None and _no_progress(earlier, line, pods)
    since = progress.since(earlier.since if earlier is not None else None, told.now, same=same)
    return WorkloadStatus(
        kind=WorkloadKind(tally.id.kind),
        namespace=tally.id.namespace,
        name=tally.id.name,
        state=line.state,
        uid=tally.row.uid,
        reason=line.reason.value,
        message=_short(line.message + _overdue(line, since, told)),
        since=since,
        wave=told.view.order.depth.get(tally.id, 0),
        pods=pods,
    )


def _with_evictions(
    view: View, tally: Tally, one: WorkloadStatus, earlier: WorkloadStatus | None, evicted: Evicted
) -> WorkloadStatus:
    """Counted on from what was told; a pause begins anew."""
    counts = {
        effort.value: times
        for effort in IN_LINES
        if (times := evicted.of(effort).get(tally.id, 0) + _told(view, earlier, effort))
    }
    if not counts or view.spec.paused:
        return one
    most = max(tally.row.replicas, earlier.most_replicas if earlier else 0)
    return msgspec.structs.replace(one, **counts, most_replicas=most)


def _told(view: View, earlier: WorkloadStatus | None, effort: Effort) -> int:
    """What still counts of what was told: who made room on a node that is no old one any more is done."""
    if earlier is None or (effort is Effort.MADE_ROOM and _is_changed(view, view.status.emptying)):
        return 0
    return told(earlier, effort)


def _is_changed(view: View, node: str) -> bool:
    return bool(node) and view.fleet.roles.get(node) is not Role.OFF


def _no_progress(earlier: WorkloadStatus, line: Line, pods: Progress) -> bool:
    """Replicas that somebody adds or takes away move nothing: only pods that have moved count."""
    same = earlier.state is line.state and earlier.reason == line.reason.value
    return same and earlier.pods.done == pods.done


def _overdue(line: Line, since: datetime, told: _Told) -> str:
    """A workload that is on the way and has not moved for longer than the deadline is stuck."""
    late = progress.overdue(since, told.now, told.deadline)
    if line.state is WorkloadState.HELD or line.reason is Reason.SOAKING or late is None:
        return ""
    minutes = late // timedelta(minutes=1)
    return f" (no progress for {minutes} min; repair it, or leave it out with {SKIP}: true)"


def _conditions(
    decision: Migrating, before: WorkloadMigrationStatus, now: datetime
) -> tuple[ConditionSpec, ...]:
    generation = decision.view.migration.metadata.generation if decision.view.migration else 0
    return stated(before.conditions, _statements(decision), generation=generation, now=now)


def _statements(decision: Migrating) -> Iterable[Statement]:
    if decision.stalled:
        return conditions.stalled(decision.reason, decision.message)
    if decision.reason in _AT_REST and not decision.steps:
        return conditions.ready(decision.reason, decision.message)
    return conditions.reconciling(decision.reason, decision.message)


def _essence(status: WorkloadMigrationStatus) -> tuple[object, ...]:
    """What decisions, or people who wait, depend on."""
    said = tuple((one.type, one.status, one.reason, one.observed_generation) for one in status.conditions)
    return (
        status.state,
        status.target,
        status.mode,
        status.met,
        status.exceptions,
        status.emptying,
        status.draining,
        status.observed_generation,
        said,
    )


WEIGHT = Weight(_essence, _PROGRESS)
"""What of the status is told at once, and what whenever it costs little."""
