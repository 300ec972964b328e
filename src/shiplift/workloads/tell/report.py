"""What is told about a migration: the status of the WorkloadMigration and of the WorkloadOrders.

It is made from the decision alone, so that what people read and what is done never differ. What changes with
every look (an estimate, a message's count) alone is no reason to write it again at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import msgspec

from shiplift.api.values import Condition as ConditionSpec
from shiplift.api.values import ConditionStatus, Estimate, Progress, duration
from shiplift.api.workloads import (
    MigrationState,
    Mode,
    NodesOfVersion,
    Wave,
    WorkloadKind,
    WorkloadMigrationStatus,
    WorkloadState,
    WorkloadStatus,
)
from shiplift.engine import conditions
from shiplift.engine.conditions import KSTATUS, Condition, Statement, Status
from shiplift.engine.graph import Edge as GraphEdge
from shiplift.workloads.decide.cleaning import inert
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.model import Evicted, Line, Migrating, Reason, Tally, View
from shiplift.workloads.names import SKIP

MOST_LISTED = 2000
_MOST_NOTES = 64
_MOST_WAVES = 256
_LONGEST = 1000
_MOST_INERT = 500
_LINE_BYTES = 300
_MOST_BYTES = 400_000
"""An object may have about 1.5 MB, and the uids of those that have arrived need up to half of it."""
NONE_EVICTED = Evicted()
_PROGRESS = ("message", "progress", "pods", "moves", "eta", "waves", "workloads")
_NEEDS_SOMEBODY = (WorkloadState.BLOCKED, WorkloadState.MOVING, WorkloadState.RELEASED, WorkloadState.HELD)


def status_of(decision: Migrating, evicted: Evicted = NONE_EVICTED) -> WorkloadMigrationStatus:
    """The whole status; these were evicted since it was last written."""
    view, now = decision.view, decision.now.replace(microsecond=0)
    before = view.status
    common = WorkloadMigrationStatus(
        observed_generation=view.migration.metadata.generation if view.migration else 0,
        conditions=_conditions(decision, before, now),
        message=_short(decision.message),
        versions=tuple(
            NodesOfVersion(version=name[:256], nodes=many) for name, many in view.fleet.versions.items()
        ),
        notes=tuple(_short(note) for note in decision.notes[:_MOST_NOTES]),
        inert_tolerations=tuple(str(id_)[:256] for id_ in sorted(inert(view))[:_MOST_INERT]),
    )
    if not decision.moving:
        return common
    return _under_way(decision, common, evicted, now)


def _under_way(
    decision: Migrating, common: WorkloadMigrationStatus, evicted: Evicted, now: datetime
) -> WorkloadMigrationStatus:
    view, before = decision.view, decision.view.status
    same = before.state is MigrationState.UPGRADE and before.target == view.target.version
    started = before.started_at if same else now
    done = set(decision.met)
    counted = [tally for tally in view.tallies.values() if not tally.skipped]
    there = sum(len(tally.pods) - len(tally.away) - len(tally.pending) for tally in counted)
    pods = Progress.of(there, sum(len(tally.pods) + len(tally.evicting) for tally in counted))
    arrived = sum(tally.row.uid in done for tally in counted)
    return msgspec.structs.replace(
        common,
        state=MigrationState.UPGRADE,
        target=view.target.version,
        mode=view.target.mode,
        started_at=started,
        progress=Progress.of(arrived, len(counted)),
        pods=pods,
        moves=evicted.total + (before.moves if same else 0),
        eta=_eta(started, pods, now),
        waves=_waves(view, done),
        workloads=_workloads(decision, before.workloads if same else (), done, evicted, now),
        met=decision.met,
        cycles=view.order.cycles,
        missing=view.order.missing,
        exceptions=decision.exceptions,
        emptying=decision.emptying,
    )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _eta(started: datetime | None, pods: Progress, now: datetime) -> Estimate | None:
    """From the pace so far; none before there is one."""
    if started is None or not pods.done or pods.done >= pods.total:
        return None
    took = now - started
    left = took * (pods.total - pods.done) / pods.done
    likely = (now + left).replace(microsecond=0)
    return Estimate(
        likely=likely,
        earliest=(now + left / 2).replace(microsecond=0),
        latest=(now + 2 * left).replace(microsecond=0),
    )


def _waves(view: View, done: set[str]) -> tuple[Wave, ...]:
    total: Counter[int] = Counter()
    arrived: Counter[int] = Counter()
    for id_, tally in view.tallies.items():
        if not tally.skipped and id_ in view.order.depth:
            total[view.order.depth[id_]] += 1
            arrived[view.order.depth[id_]] += tally.row.uid in done
    return tuple(
        Wave(number=number, workloads=Progress.of(arrived[number], total[number]))
        for number in sorted(total)[:_MOST_WAVES]
    )


def _workloads(
    decision: Migrating, before: Iterable[WorkloadStatus], done: set[str], evicted: Evicted, now: datetime
) -> tuple[WorkloadStatus, ...]:
    """Those that have not arrived, those that need somebody first."""
    view = decision.view
    earlier = {WorkloadId(one.kind.value, one.namespace, one.name): one for one in before}
    waiting = [tally for tally in view.tallies.values() if not tally.skipped and tally.row.uid not in done]
    lines = [(tally, line_of(decision, tally)) for tally in waiting]
    lines.sort(key=lambda pair: (_NEEDS_SOMEBODY.index(pair[1].state), pair[0].id))
    listed: list[WorkloadStatus] = []
    size = 0
    for tally, line in lines[:MOST_LISTED]:
        known = earlier.get(tally.id)
        known = known if known is not None and known.uid == tally.row.uid else None
        one = _with_evictions(view, tally, _one(view, tally, line, known, now), known, evicted)
        size += _LINE_BYTES + len(one.message) + len(one.name) + len(one.namespace)
        if size > _MOST_BYTES:
            break
        listed.append(one)
    return tuple(listed)


def _one(
    view: View, tally: Tally, line: Line, earlier: WorkloadStatus | None, now: datetime
) -> WorkloadStatus:
    pods = Progress.of(len(tally.pods) - len(tally.away) - len(tally.pending), tally.row.replicas)
    same = earlier is not None and _no_progress(earlier, line, pods)
    since = earlier.since if same and earlier is not None and earlier.since else now
    return WorkloadStatus(
        kind=WorkloadKind(tally.id.kind),
        namespace=tally.id.namespace,
        name=tally.id.name,
        state=line.state,
        uid=tally.row.uid,
        reason=line.reason.value,
        message=_short(line.message + _overdue(view, line, since, now)),
        since=since,
        wave=view.order.depth.get(tally.id, 0),
        pods=pods,
    )


def _with_evictions(
    view: View, tally: Tally, one: WorkloadStatus, earlier: WorkloadStatus | None, evicted: Evicted
) -> WorkloadStatus:
    """Counted on from what was told; a pause begins anew."""
    evictions = evicted.moved.get(tally.id, 0) + (earlier.evictions if earlier else 0)
    if not evictions or view.spec.paused:
        return one
    most = max(tally.row.replicas, earlier.most_replicas if earlier else 0)
    return msgspec.structs.replace(one, evictions=evictions, most_replicas=most)


def _no_progress(earlier: WorkloadStatus, line: Line, pods: Progress) -> bool:
    return earlier.state is line.state and earlier.reason == line.reason.value and earlier.pods == pods


def _overdue(view: View, line: Line, since: datetime, now: datetime) -> str:
    """Who is on the way and has not moved for longer than the deadline is stuck."""
    limit = duration(view.spec.progress_deadline)
    if line.state is WorkloadState.HELD or now - since < limit:
        return ""
    minutes = (now - since) // timedelta(minutes=1)
    return f" (no progress for {minutes} min; repair it, or leave it out with {SKIP}: true)"


def line_of(decision: Migrating, tally: Tally) -> Line:
    """Where a workload is; for those that are held, what they wait for."""
    known = decision.lines.get(tally.id)
    if known is not None:
        return known
    order = decision.view.order
    waits = order.progress.waits_for(tally.id) if tally.id in order.graph.number else ()
    if tally.id in order.ready or not waits:
        return _at_its_turn(decision.view, tally)
    return _held(decision.view, tally.id, waits)


def _at_its_turn(view: View, tally: Tally) -> Line:
    """It waits for nobody, and nothing was decided about it yet."""
    if tally.complete:
        return Line(WorkloadState.MOVING, Reason.SOAKING, "all pods are there")
    if not view.fleet.targets:
        return Line(WorkloadState.HELD, Reason.WAITING_FOR_NODES, f"no node runs {view.target.version} yet")
    if view.spec.paused:
        return Line(WorkloadState.HELD, Reason.PAUSED, "paused; `shiplift resume` goes on")
    return Line(WorkloadState.RELEASED, Reason.NOT_IN_FORCE, "its turn has come")


def _held(view: View, id_: WorkloadId, waits: Sequence[GraphEdge[WorkloadId]]) -> Line:
    graph = view.order.graph
    group = graph.group(id_)
    if group in graph.stopped:
        inside = [edge for edge in graph.dependencies(id_) if graph.group(edge.dependency) == group]
        edge = (inside or list(waits))[0]
        text = f"is in a cycle with {edge.dependency} (said by {edge.origin})"
        hint = "remove a dependency, or set spec.onCycle of WorkloadMigration cluster to Collapse"
        return Line(WorkloadState.BLOCKED, Reason.IN_CYCLE, f"{text}; {hint}")
    first, said = waits[0].dependency, f" (said by {waits[0].origin})"
    more = f" and {len(waits) - 1} more" if len(waits) > 1 else ""
    if first not in view.tallies:
        hint = "correct it, or set spec.onMissing of WorkloadMigration cluster to Ignore"
        text = f"waits for {first}, which does not exist{said}{more}; {hint}"
        return Line(WorkloadState.BLOCKED, Reason.MISSING_DEPENDENCY, text)
    if not _is_kept_off(view, id_):
        text = f"waits for {first}; the API server is being told to keep its new pods off the target nodes"
        return Line(WorkloadState.HELD, Reason.PREPARING, text)
    tally = view.tallies[first]
    there = len(tally.pods) - len(tally.away) - len(tally.pending)
    text = f"waits for {first}, {there} of {tally.row.replicas} pods moved{said}{more}"
    return Line(WorkloadState.HELD, Reason.WAITS_FOR_DEPENDENCY, text)


def _is_kept_off(view: View, id_: WorkloadId) -> bool:
    placement = view.placements.get(id_.namespace)
    return view.target.mode is not Mode.INJECT or (placement is not None and id_ in placement.listed)


def _conditions(
    decision: Migrating, before: WorkloadMigrationStatus, now: datetime
) -> tuple[ConditionSpec, ...]:
    generation = decision.view.migration.metadata.generation if decision.view.migration else 0
    merged = conditions.merge(
        [from_spec(one) for one in before.conditions],
        _statements(decision),
        owned=KSTATUS,
        generation=generation,
        now=now,
    )
    return tuple(to_spec(one) for one in merged)


def _statements(decision: Migrating) -> Iterable[Statement]:
    if decision.stalled:
        return conditions.stalled(decision.reason, decision.message)
    if decision.reason in (Reason.NO_UPGRADE, Reason.ABORTED) and not decision.steps:
        return conditions.ready(decision.reason, decision.message)
    return conditions.reconciling(decision.reason, decision.message)


def from_spec(one: ConditionSpec) -> Condition:
    """A stored condition as the engine has it."""
    return Condition(
        one.type,
        Status(one.status.value),
        one.reason,
        one.last_transition_time,
        one.message,
        one.observed_generation,
    )


def to_spec(one: Condition) -> ConditionSpec:
    """A condition as it is stored."""
    return ConditionSpec(
        type=one.type,
        status=ConditionStatus(one.status.value),
        reason=one.reason,
        last_transition_time=one.last_transition_time,
        message=one.message,
        observed_generation=one.observed_generation,
    )


def pressing(before: WorkloadMigrationStatus, after: WorkloadMigrationStatus) -> bool:
    """Whether something changed that decisions, or people who wait, depend on."""
    return _essence(before) != _essence(after)


def only_progress(before: WorkloadMigrationStatus, after: WorkloadMigrationStatus) -> bool:
    """Whether they differ in nothing but how far things are."""
    same = {name: getattr(before, name) for name in _PROGRESS}
    return msgspec.structs.replace(after, **same) == before


def _essence(status: WorkloadMigrationStatus) -> tuple[object, ...]:
    said = tuple((one.type, one.status, one.reason, one.observed_generation) for one in status.conditions)
    return (
        status.state,
        status.target,
        status.mode,
        status.met,
        status.exceptions,
        status.emptying,
        status.observed_generation,
        said,
    )
