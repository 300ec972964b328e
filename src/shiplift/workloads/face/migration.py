"""What a person wants to know of a move of workloads at one moment, all of it from the one WorkloadMigration.

Every text that others wrote (messages, notes) is one line of printable characters here: whoever shows it need
not fear for the terminal. Times are seconds from now.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from shiplift.api.marks import OFF_TARGET_LABEL
from shiplift.api.values import ConditionStatus
from shiplift.api.workloads import (
    Edge,
    LastMove,
    MigrationState,
    OnCycle,
    OnMissing,
    WorkloadMigration,
    WorkloadState,
    WorkloadStatus,
)
from shiplift.engine import versions
from shiplift.view.section import Arrival
from shiplift.view.values import Eta, Heard, Problem, Share, ago, plain
from shiplift.workloads.face.arrival import arrival
from shiplift.workloads.face.words import HOW_TO_GO_ON, SHORT_KINDS

FOR_NODES = "WaitingForNodes"
"""The reason that the operator gives."""
_MOST_FIRST = 10
"""Of many that are blocked so many are told at the first look."""
_MOST_OPEN_WAVES = 6
_MOST_WAVES = 256
"""The object has room for so many; of those beyond nobody knows who is in them."""
_IN_A_ROW = (
    WorkloadState.BLOCKED,
    WorkloadState.MOVING,
    WorkloadState.RELEASED,
    WorkloadState.HELD,
)
"""Who needs somebody comes first, who has to wait longest comes last."""


class Phase(StrEnum):
    """What becomes of the migration, in one word; the first that holds."""

    LEAVING = "being deleted"
    ABORTING = "aborting"
    ABORTED = "aborted"
    UNSEEN = "not begun"
    PAUSED = "paused"
    MOVING = "moving"
    CLEANING = "cleaning up"
    REFUSED = "cannot begin"
    IDLE = "nothing to move"


_ON_THE_WAY = {
    Phase.ABORTING: "aborting the move to",
    Phase.ABORTED: "aborted the move to",
    Phase.UNSEEN: "not begun: the move to",
    Phase.PAUSED: "paused on the way to",
    Phase.MOVING: "moving to",
    Phase.REFUSED: "cannot begin the move to",
}
_UNDOING = ("CleaningUp", "Unreadable", "StaleView")
"""Reasons of a stall while things are undone."""


class ProblemKind(StrEnum):
    """What a person has to look at."""

    OPERATOR = "operator"
    STALLED = "stalled"
    CYCLE = "cycle"
    MISSING = "missing"
    OUT_OF_TURN = "out of turn"
    NOTE = "note"


class OnNodes(msgspec.Struct, frozen=True):
    """How many nodes run one version."""

    version: str
    nodes: int
    target: bool


class WavesView(msgspec.Struct, frozen=True):
    """The waves that are not done, the deepest left out where there are many."""

    done: int
    total: int
    open: tuple[tuple[int, Share], ...]
    outside: int = 0
    """Workloads that are in no wave: they wait for a cycle, or for what is missing."""

    @property
    def more(self) -> int:
        return self.total - self.done - len(self.open)


class WaitingView(msgspec.Struct, frozen=True):
    """One workload that has not been moved: what it waits for, since when, what would unblock it."""

    kind: str
    namespace: str
    name: str
    state: WorkloadState
    pods: Share
    seconds: int | None
    reason: str
    message: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.kind, self.namespace, self.name

    @property
    def command(self) -> str:
        """How it is named on the command line."""
        return f"{SHORT_KINDS[self.kind]}/{self.name} -n {self.namespace}"

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


class LastView(msgspec.Struct, frozen=True):
    """The move that ended last."""

    target: str
    outcome: str
    seconds: int | None
    """How long it took."""
    ago: int
    workloads: Share
    pods: Share
    moves: int


class MigrationView(msgspec.Struct, frozen=True):
    """The whole migration."""

    phase: Phase
    target: str
    mode: str
    seconds: int | None
    """For how long it has moved to this target."""
    message: str
    versions: tuple[OnNodes, ...]
    workloads: Share
    pods: Share
    moves: int
    eta: Eta | None
    """None while something has to happen first."""
    needs: str
    """What has to happen first; empty where nothing has to, or nobody knows."""
    stalled: str
    """The same, where somebody has to help."""
    blocked: int
    """Workloads that do not move before that."""
    last: LastView | None
    waves: WavesView
    waiting: tuple[WaitingView, ...]
    unlisted: int
    """Workloads that wait as well, and of which the object has no room to tell more."""
    problems: tuple[Problem, ...]
    hints: tuple[str, ...]
    arrival: Arrival
    """Whether whoever waits for its end may go on."""

    @property
    def title(self) -> str:
        """What is going on, and where to; who has arrived moves no more, also while old nodes are left."""
        if self.phase in (Phase.MOVING, Phase.PAUSED) and self._all_there:
            return f"all have moved to {self.target}"
        on_the_way = _ON_THE_WAY.get(self.phase) if self.target else None
        return f"{on_the_way} {self.target}" if on_the_way else str(self.phase)

    @property
    def _all_there(self) -> bool:
        return self.arrival is Arrival.MOVED and bool(self.workloads.total)


def migration_view(migration: WorkloadMigration, now: int, heard: Heard | None = None) -> MigrationView:
    """The migration as this object has it; `now` is since 1970, `heard` what is known of the operator."""
    status = migration.status
    moving = status.state is MigrationState.UPGRADE
    silent = heard is not None and heard.silent(now) is not None
    idle = plain(heard.not_acting) if heard and not silent else ""
    waiting = _waiting(status.workloads, now)
    left = status.progress.total - status.progress.done - len(waiting)
    stage = phase(migration)
    said = plain(status.message) if stage is not Phase.UNSEEN else ""
    return MigrationView(
        phase=stage,
        target=status.target or migration.spec.target or "",
        mode=status.mode or "",
        seconds=ago(status.started_at, now),
        message=f"the operator does nothing: {idle}" if idle else said,
        versions=tuple(
            OnNodes(plain(one.version), one.nodes, _same_version(one.version, status.target))
            for one in status.versions
        ),
        workloads=Share.of(status.progress),
        pods=Share.of(status.pods),
        moves=status.moves,
        eta=_eta(migration, now) if not idle and not silent else None,
        needs="" if idle or silent else plain(status.needs),
        stalled=_stalled(migration),
        blocked=max(status.blocked, sum(one.state is WorkloadState.BLOCKED for one in waiting)),
        last=_last(status.last, now) if status.last else None,
        waves=_waves(migration),
        waiting=waiting,
        unlisted=max(0, left) if moving else 0,
        problems=(*_idle_operator(idle), *_problems(migration)),
        hints=tuple(_hints(migration, waiting, acting=not idle, there=not silent)),
        arrival=arrival(migration),
    )


def _eta(migration: WorkloadMigration, now: int) -> Eta | None:
    """None where something has to happen first, also where an older operator has written one."""
    status = migration.status
    waits = migration.spec.paused or migration.spec.abort or status.needs or _holds(migration, "Stalled")
    if status.eta is None or waits or status.state is not MigrationState.UPGRADE:
        return None
    return Eta.of(status.eta, now)


def _stalled(migration: WorkloadMigration) -> str:
    """What it needs, unless that is nodes, which somebody else is making."""
    said = [one for one in migration.status.conditions if one.status is ConditionStatus.TRUE]
    for one in said:
        if one.type == "Stalled":
            return plain(one.message or one.reason)
    waits_for_nodes = any(one.type == "Reconciling" and one.reason == FOR_NODES for one in said)
    return "" if waits_for_nodes else plain(migration.status.needs)


def _last(move: LastMove, now: int) -> LastView:
    took = move.complete_time - move.start_time if move.start_time else None
    return LastView(
        target=move.target,
        outcome=str(move.outcome),
        seconds=max(0, int(took.total_seconds())) if took is not None else None,
        ago=max(0, now - int(move.complete_time.timestamp())),
        workloads=Share.of(move.workloads),
        pods=Share.of(move.pods),
        moves=move.moves,
    )


def phase(migration: WorkloadMigration) -> Phase:
    """What becomes of it; the first that holds."""
    spec, status = migration.spec, migration.status
    moving = status.state is MigrationState.UPGRADE
    busy = moving or _holds(migration, "Reconciling")
    if migration.metadata.deletion_timestamp:
        return Phase.LEAVING
    if spec.abort:
        return Phase.ABORTING if busy or not _is_seen(migration) else Phase.ABORTED
    if not status.observed_generation:
        return Phase.UNSEEN
    if spec.paused:
        return Phase.PAUSED
    if moving:
        return Phase.MOVING
    return Phase.CLEANING if busy else _at_rest(migration)


def _at_rest(migration: WorkloadMigration) -> Phase:
    if not _is_seen(migration):
        return Phase.UNSEEN
    if _refused(migration):
        return Phase.REFUSED
    return Phase.CLEANING if _holds(migration, "Stalled") else Phase.IDLE


def _refused(migration: WorkloadMigration) -> bool:
    """Whether something speaks against the start, and somebody has to act."""
    return any(
        one.type == "Stalled" and one.status is ConditionStatus.TRUE and one.reason not in _UNDOING
        for one in migration.status.conditions
    )


def changes(before: MigrationView | None, now: MigrationView) -> tuple[str, ...]:
    """What there is to tell of the way from one view to the next: a line each."""
    if before is None:
        return tuple(_first(now))
    said = [] if headline(before) == headline(now) else [headline(now)]
    then = {one.key: one for one in before.waiting}
    said += [
        f"{one}: {one.state}, {_why(one)}"
        for one in now.waiting
        if one.key not in then or then[one.key].state is not one.state
    ]
    if not now.unlisted:
        listed = {one.key for one in now.waiting}
        end = "has moved" if before.workloads.total == now.workloads.total else "waits no more"
        said += [f"{one}: {end}" for one in before.waiting if one.key not in listed]
    new = set(now.problems) - set(before.problems)
    return (*said, *(f"{one.kind}: {one.text}" for one in now.problems if one in new))


def _first(now: MigrationView) -> Iterable[str]:
    """What whoever comes later has to know: how far it is, who is blocked, and what it needs."""
    yield headline(now)
    blocked = [one for one in now.waiting if one.state is WorkloadState.BLOCKED]
    yield from (f"{one}: {one.state}, {_why(one)}" for one in blocked[:_MOST_FIRST])
    if len(blocked) > _MOST_FIRST:
        yield f"and {len(blocked) - _MOST_FIRST:,} more are blocked"
    if now.needs and not blocked and now.needs != now.message:
        yield f"needs: {now.needs}"


def _why(one: WaitingView) -> str:
    return one.message or "nothing is said why"


def headline(view: MigrationView) -> str:
    """The migration in a line."""
    counted = f"{view.workloads} workloads, {view.pods} pods" if view.workloads.total else ""
    return "; ".join(part for part in (view.title, counted, view.message) if part)


def waiting_view(one: WorkloadStatus, now: int) -> WaitingView:
    return WaitingView(
        kind=one.kind,
        namespace=one.namespace,
        name=one.name,
        state=one.state,
        pods=Share.of(one.pods),
        seconds=ago(one.since, now),
        reason=one.reason or "",
        message=plain(one.message),
    )


def _waiting(workloads: Iterable[WorkloadStatus], now: int) -> tuple[WaitingView, ...]:
    """In the order of the object, but by state: nothing that needs somebody hides behind what just waits."""
    views = [waiting_view(one, now) for one in workloads if one.state in _IN_A_ROW]
    return tuple(sorted(views, key=lambda one: _IN_A_ROW.index(one.state)))


def _holds(migration: WorkloadMigration, condition: str) -> bool:
    return any(
        one.type == condition and one.status is ConditionStatus.TRUE for one in migration.status.conditions
    )


def _is_seen(migration: WorkloadMigration) -> bool:
    return migration.status.observed_generation >= migration.metadata.generation


def _waves(migration: WorkloadMigration) -> WavesView:
    waves = sorted(migration.status.waves, key=lambda wave: wave.number)
    still = [wave for wave in waves if wave.workloads.done < wave.workloads.total]
    shown = tuple((wave.number, Share.of(wave.workloads)) for wave in still[:_MOST_OPEN_WAVES])
    counted = sum(wave.workloads.total for wave in waves)
    outside = migration.status.progress.total - counted if len(waves) < _MOST_WAVES else 0
    return WavesView(len(waves) - len(still), len(waves), shown, max(0, outside))


def _idle_operator(why: str) -> Iterable[Problem]:
    if why:
        yield Problem(ProblemKind.OPERATOR, f"leads and does not act: {why}")


def _problems(migration: WorkloadMigration) -> tuple[Problem, ...]:
    status = migration.status
    stalled = [
        one.message or one.reason
        for one in status.conditions
        if one.type == "Stalled" and one.status is ConditionStatus.TRUE
    ]
    early = [f"pod {one.pod} of {one.workload} moved early: {one.reason}" for one in status.exceptions]
    found: dict[ProblemKind, Iterable[str]] = {
        ProblemKind.STALLED: stalled,
        ProblemKind.CYCLE: map(_edge, status.cycles),
        ProblemKind.MISSING: map(_edge, status.missing),
        ProblemKind.OUT_OF_TURN: early,
        ProblemKind.NOTE: (*status.forewarnings, *status.notes),
    }
    return tuple(Problem(kind, plain(text)) for kind, texts in found.items() for text in texts)


def _edge(edge: Edge) -> str:
    return f"{edge.dependent} depends on {edge.dependency} (declared by {edge.source})"


def _hints(
    migration: WorkloadMigration, waiting: tuple[WaitingView, ...], *, acting: bool = True, there: bool = True
) -> Iterable[str]:
    """What could be done, the most pressing first."""
    spec, status = migration.spec, migration.status
    yield from _of_operator(migration, acting=acting, there=there)
    if over := _given_up(migration):
        yield over
    elif spec.paused:
        yield "`shiplift resume` goes on"
    if status.cycles and spec.on_cycle is OnCycle.STOP:
        yield (
            "take one dependency out of the cycle,"
            " or set spec.onCycle of WorkloadMigration cluster to Collapse to move it as one"
        )
    if status.missing and spec.on_missing is OnMissing.BLOCK:
        yield "create what is missing, or set spec.onMissing of WorkloadMigration cluster to Ignore"
    if waiting and waiting[0].state is WorkloadState.BLOCKED:
        yield f"`shiplift explain {waiting[0].command}` tells all about the first of them"
    if _only_old_nodes_are_left(migration):
        yield (
            f"remove the old nodes, or upgrade them: `kubectl get nodes -l {OFF_TARGET_LABEL}` lists them;"
            " when none is left, everything of ours goes"
        )
    if status.inert_tolerations:
        yield (
            f"{_count(len(status.inert_tolerations))} a toleration of ours until the template changes;"
            " spec.cleanup of WorkloadMigration cluster set to Immediate takes it off, by a rollout"
        )


def _given_up(migration: WorkloadMigration) -> str:
    """What could be done about a migration that is over; empty where it is not."""
    if migration.metadata.deletion_timestamp:
        return "it is gone when all is undone; without an operator, `shiplift undo` does that"
    return HOW_TO_GO_ON if migration.spec.abort else ""


def _only_old_nodes_are_left(migration: WorkloadMigration) -> bool:
    """Every workload has arrived, and nodes of another version are still there."""
    status = migration.status
    all_there = 0 < status.progress.total <= status.progress.done
    others = any(not _same_version(one.version, status.target) for one in status.versions)
    moving = status.state is MigrationState.UPGRADE and not migration.spec.abort
    return moving and all_there and others


def _of_operator(migration: WorkloadMigration, *, acting: bool, there: bool) -> Iterable[str]:
    if not there and phase(migration) is not Phase.ABORTED:
        yield "nothing moves until an operator runs again; `shiplift operator` runs one from here"
    elif there and not acting:
        yield "nothing happens until the operator acts"
    elif not migration.status.observed_generation:
        yield "no operator with the layer workloads has looked at it yet; `shiplift operator` runs one"
    elif not _is_seen(migration):
        yield "the operator has not seen the last change of the spec yet"


def _count(workloads: int) -> str:
    return "1 workload keeps" if workloads == 1 else f"{workloads:,} workloads keep"


def _same_version(version: str, target: str | None) -> bool:
    return target is not None and versions.reaches(version, target)
