"""Gathers what a decision is made from. Reads only; what it keeps is a cache of what the cluster says."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Protocol, cast

import msgspec

from shiplift.api.holding import as_held
from shiplift.api.placements import Turn, WorkloadPlacement
from shiplift.api.values import selector_of
from shiplift.api.workloads import MigrationState, Mode, WorkloadMigration
from shiplift.drain.own import NOT_IN_A_POD, Own, own, that_count
from shiplift.engine import clock, contested
from shiplift.engine.step import Outcomes
from shiplift.facts import kinds
from shiplift.facts.cluster import Namespace
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import NO_LABELS, Row
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod, tolerated
from shiplift.facts.selectors import Selector
from shiplift.facts.workloads import DaemonSet, PodDisruptionBudget
from shiplift.kube.collection import paused_collection
from shiplift.kube.store import Snapshot
from shiplift.kube.succession import NOBODY, Succession
from shiplift.pdb.holds import is_hold
from shiplift.workloads.identity import WorkloadId, owned_by
from shiplift.workloads.marks import upgrade_taint
from shiplift.workloads.memory import Evictions, InForce
from shiplift.workloads.model import (
    Fleet,
    Placement,
    Placements,
    Reason,
    Role,
    Scope,
    Target,
    Unreadable,
    View,
)
from shiplift.workloads.names import FINALIZER, MIGRATION
from shiplift.workloads.observe.census import Census
from shiplift.workloads.observe.doubts import Doubts, Stays
from shiplift.workloads.observe.order import Arrived, Ordering
from shiplift.workloads.observe.returned import Returned
from shiplift.workloads.observe.strays import Strays
from shiplift.workloads.observe.unmarked import Unmarked
from shiplift.workloads.record import RECORDS
from shiplift.workloads.steps import MarkNode, evicting
from shiplift.workloads.target import counted, is_begun, refused, target_of

READS = (
    kinds.NAMESPACE,
    kinds.NODE,
    kinds.POD,
    kinds.DEPLOYMENT,
    kinds.STATEFUL_SET,
    kinds.REPLICA_SET,
    kinds.DAEMON_SET,
    kinds.POD_DISRUPTION_BUDGET,
    kinds.HORIZONTAL_POD_AUTOSCALER,
    kinds.PERSISTENT_VOLUME,
    kinds.PERSISTENT_VOLUME_CLAIM,
    kinds.WORKLOAD_MIGRATION,
    kinds.WORKLOAD_ORDER,
    kinds.WORKLOAD_PLACEMENT,
)
_TARGETING = (kinds.NODE, kinds.WORKLOAD_MIGRATION)
_EVERY = Selector(NO_LABELS)
_IDLE = (*_TARGETING, kinds.WORKLOAD_PLACEMENT, kinds.POD_DISRUPTION_BUDGET)
"""What matters while nothing is moved."""

_NO_EVENT = (Reason.STARTING, Reason.INJECT_UNAVAILABLE, Reason.MISSING_RIGHT)
"""What no event will change: whether the policies are installed, and whether we may look, is looked at again
and again."""


class Snapshots(Protocol):
    """What is asked of the store: all of some kinds, at one moment."""

    def snapshot(self, *of: Kind) -> Snapshot: ...


def _nobody_knows(_: Pod) -> bool:
    return False


class Observer:
    """Makes views. `heard` may be called from any thread, `observe` from one."""

    def __init__(
        self,
        store: Snapshots,
        inject: Callable[[], bool | str | None],
        evictions: Evictions | None = None,
        missing_rights: Callable[[], tuple[str, ...]] = lambda: (),
        stays: Stays = _nobody_knows,
        now: Callable[[], datetime] = clock.now,
        succession: Succession = NOBODY,
    ) -> None:
        self._store, self._succession = store, succession
        self._inject = inject
        self._missing_rights = missing_rights
        self._census = Census()
        self._ordering = Ordering()
        self._returned = Returned()
        self._counting = False
        self._heard: deque[tuple[Kind, Row | None]] = deque()
        self._begun = False
        self._versions: tuple[Selector, dict[str, int]] | None = None
        self._idle: View | None = None
        self._placements: dict[str, Placement] = {}
        self._all_placements = Placements()
        self._target = ""
        self.in_force = InForce()
        self.changes = contested.Memory()
        self.evictions = evictions or Evictions()
        self._now = now
        self._doubts = Doubts(stays, self.in_force.now)
        self._strays = Strays(self.in_force.now, self.in_force.since)
        self._unmarked = Unmarked(self.in_force.now)

    def heard(self, kind: Kind, old: Row | None, new: Row | None) -> None:
        """Note what to look at again; without a row, that other objects than before cannot be read."""
        self._heard.append((kind, new if new is not None else old))

    def observe(self, outcomes: Outcomes) -> View:
        """The cluster at this moment."""
        heard = self._take_news()
        news = [(kind, row) for kind, row in heard if row is not None]
        if len(news) < len(heard):
            self._idle = None
        of = {kind for kind, _ in news} if self._begun else set(READS)
        self._begun = True
        if (idle := self._idle) is not None and not of.intersection(_matters(idle)):
            if not outcomes.last:
                return idle
            if _is_clean(idle):
                return msgspec.structs.replace(idle, outcomes=outcomes)
        counting = self._counting
        try:
            with paused_collection:
                view = self._look(self._store.snapshot(*READS), outcomes, of, news)
        except BaseException:
            # the news is taken and perhaps not counted: count all again
            self._start_over()
            raise
        if counting and not self._counting:
            self._start_over()
        self._strays.remember(view)
        self._idle = None if self._counting or view.stale or view.target.reason in _NO_EVENT else view
        return view

    def _start_over(self) -> None:
        self.changes.forget()
        self._census, self._ordering, self._returned = Census(), Ordering(), Returned()
        self._begun = False

    def _take_news(self) -> list[tuple[Kind, Row | None]]:
        """What was heard so far. Taken before the snapshot, which therefore has all of it: what comes later
        may not be in the snapshot, and is for the next look."""
        return [self._heard.popleft() for _ in range(len(self._heard))]

    def _look(
        self, snapshot: Snapshot, outcomes: Outcomes, of: set[Kind], news: list[tuple[Kind, Row]]
    ) -> View:
        migration = _migration(snapshot)
        selector = selector_of(migration.spec.node_selector) if migration else selector_of_all()
        versions = self._seen(snapshot, selector, of)
        undecided = migration is not None and migration.status.mode is None
        wanted = target_of(migration, versions, inject=self._inject() if undecided else None)
        if wanted.mode is Mode.TEMPLATE and not is_begun(migration, wanted):
            wanted = refused(wanted, migration, _intolerant(snapshot, wanted))
        placements = self._read_placements(snapshot)
        moving = migration if wanted.version else None
        excluded = _excluded(moving)
        recorded = frozenset(name for name in excluded if name in placements and placements[name].records)
        emptying = moving.status.emptying if moving else ""
        scope = Scope(wanted, selector, excluded - recorded, emptying, recorded)
        self._forget_marks_of_others(wanted.version)
        # to undo a record its workload must be known, whoever is excluded by now
        self._counting = bool(wanted.version) or any(one.spec.ledger for one in placements.values())
        if self._counting:
            leaving = self._leaving(snapshot, outcomes)
            self._census.refresh(snapshot, scope, news, leaving, int(self._now().timestamp()))
        else:
            self._census.count_nodes(snapshot, scope)
        return self._view(snapshot, migration, wanted, placements, outcomes)

    def _leaving(self, snapshot: Snapshot, outcomes: Outcomes) -> frozenset[str]:
        """The pods, by uid, that go and do not look like it."""
        under_way = evicting(outcomes.running)
        if not outcomes.unsettled:
            return under_way
        return under_way | self._doubts.leaving(outcomes.unsettled, snapshot)

    def _forget_marks_of_others(self, target: str) -> None:
        """What was done for one target says nothing about another: nobody has undone it."""
        if target != self._target:
            self._target = target
            self.changes.forget(MarkNode.PREFIX)

    def _view(
        self,
        snapshot: Snapshot,
        migration: WorkloadMigration | None,
        wanted: Target,
        placements: Mapping[str, Placement],
        outcomes: Outcomes,
    ) -> View:
        census = self._census
        versions = self._versions[1] if self._versions else {}
        status = migration.status if migration else WorkloadMigration().status
        begun = status.state is MigrationState.UPGRADE and status.target == wanted.version
        fleet = census.fleet(versions)
        spec = migration.spec if migration else WorkloadMigration().spec
        orders = tuple(snapshot.customs(kinds.WORKLOAD_ORDER))
        unreadable = _unreadable(snapshot)
        order = self._ordering.order(
            spec,
            census.tallies,
            orders,
            Arrived(status.met, status.relied_on) if begun else Arrived(),
            census.declarations,
            unreadable,
            census.left_alone.values(),
        )
        return View(
            migration=migration,
            target=wanted,
            fleet=fleet,
            tallies=census.tallies,
            order=order,
            orders=orders,
            placements=placements,
            all_placements=self._all_placements,
            budgets=census.covers.budgets,
            covers=census.covers.workloads,
            holds=tuple(census.covers.holds.values()) if self._counting else _holds(snapshot),
            room=census.room(Role.TARGET),
            old_room=partial(census.room, Role.OFF),
            in_force=self.in_force.generations(),
            changes=self.changes.changes,
            stale=snapshot.stale(*READS),
            outcomes=outcomes,
            unreadable=unreadable,
            strays=self._strays.look(census.fresh, placements) if wanted.mode is Mode.INJECT else (),
            unmarked=self._unmarked.look(fleet, wanted.version),
            unasked=self.in_force.unasked(),
            evicted=self.evictions.untold(),
            missing_rights=self._missing_rights() if wanted.mode is Mode.TEMPLATE else (),
            seen_ready=census.seen_ready,
            ran=census.ran,
            joined=census.joined,
            unscheduled=census.unscheduled,
            picked=partial(_picked, snapshot if self._counting else None),
            others=census.others(),
            autoscaler=census.autoscaler,
            own=self._own(snapshot, fleet) if self._counting else NOT_IN_A_POD,
            returned=self._returned.look(order, census, placements, status.workloads if begun else ()),
        )

    def _own(self, snapshot: Snapshot, fleet: Fleet) -> Own:
        """The operator's own pods: who is on a target node could lead instead of who is to move there."""
        uid = self._succession.pod()
        pod = snapshot.by_uid(Pod, uid) if uid else None
        mates = snapshot.pods_matching(pod.namespace, _EVERY) if pod else ()
        may, pending = self._succession.may_hand_over(), self._succession.pending

        def stays(one: Pod) -> bool:
            return fleet.roles.get(one.node) is Role.TARGET

        counted = that_count(mates, int(self._now().timestamp()))
        return own(pod, counted, stays, may_hand_over=may, pending=pending)

    def _read_placements(self, snapshot: Snapshot) -> dict[str, Placement]:
        """Each is read once for each version of it. One that is deleted counts while our finalizer keeps it:
        what it says is in force, and what it records is not undone yet."""
        found: dict[str, Placement] = {}
        changed = False
        for row in snapshot.customs(kinds.WORKLOAD_PLACEMENT):
            if not row.deleting or FINALIZER in row.finalizers:
                known = self._placements.get(row.namespace)
                if known is None or known.row is not row:
                    known, changed = _placement(row), True
                found[row.namespace] = known
        if changed or len(found) != len(self._placements):
            self._placements, self._all_placements = found, _placed(found)
            self.in_force.keep({one.row.uid for one in found.values()})
        return self._placements

    def _seen(self, snapshot: Snapshot, selector: Selector, of: set[Kind]) -> Mapping[str, int]:
        if self._versions is None or self._versions[0] != selector or of.intersection(_TARGETING):
            self._versions = (selector, counted(snapshot.all(Node), selector))
        return self._versions[1]


def _is_clean(idle: View) -> bool:
    """Whether nothing of ours is left: what was done before then changes nothing of what there is to do."""
    migration = idle.migration
    finalized = migration is not None and FINALIZER in migration.metadata.finalizers
    return not (idle.placements or idle.holds or idle.fleet.taints or finalized)


def _matters(idle: View) -> tuple[Kind, ...]:
    """What may end the rest: DaemonSets too where they are what speaks against a start."""
    return (*_IDLE, kinds.DAEMON_SET) if idle.target.reason is Reason.DAEMON_SETS else _IDLE


def selector_of_all() -> Selector:
    """Every node."""
    return selector_of(WorkloadMigration().spec.node_selector)


def _migration(snapshot: Snapshot) -> WorkloadMigration | None:
    """One that the conductor holds is paused."""
    row = snapshot.custom(kinds.WORKLOAD_MIGRATION, MIGRATION)
    return None if row is None else as_held(cast("WorkloadMigration", row.object))


def _excluded(migration: WorkloadMigration | None) -> frozenset[str]:
    return frozenset(migration.spec.exclude_namespaces) if migration else frozenset()


def _placement(row: Custom) -> Placement:
    spec = cast("WorkloadPlacement", row.object).spec
    records, broken = RECORDS.readable(f"WorkloadPlacement {row.namespace}/{row.name}", spec.ledger)
    ids = {owner: owned_by(row.namespace, owner) for owner in {*spec.turns, *records}}
    return Placement(
        row,
        spec,
        records,
        broken,
        listed=frozenset(ids[owner] for owner in spec.turns),
        released=frozenset(ids[owner] for owner, turn in spec.turns.items() if turn is Turn.RELEASED),
        tolerating={ids[owner]: one.toleration for owner, one in records.items() if one.toleration},
        surging=frozenset(ids[owner] for owner, one in records.items() if one.surge),
        binding=bool(broken) or any(one.binds for one in records.values()),
    )


def _placed(placements: Mapping[str, Placement]) -> Placements:
    """What they say together."""
    released: dict[str, set[WorkloadId]] = {}
    namespaces: dict[str, set[str]] = {}
    for namespace, one in placements.items():
        released.setdefault(one.spec.target, set()).update(one.released)
        namespaces.setdefault(one.spec.target, set()).add(namespace)
    return Placements(
        frozenset[WorkloadId]().union(*(one.listed for one in placements.values())),
        {target: frozenset(ids) for target, ids in released.items()},
        {target: frozenset(names) for target, names in namespaces.items()},
        frozenset[WorkloadId]().union(*(one.surging for one in placements.values())),
        frozenset(namespace for namespace, one in placements.items() if one.is_misguarded),
        frozenset(namespace for namespace, one in placements.items() if one.row.deleting),
    )


def _holds(snapshot: Snapshot) -> tuple[PodDisruptionBudget, ...]:
    return tuple(row for row in snapshot.all(PodDisruptionBudget) if is_hold(row))


def _picked(snapshot: Snapshot | None, budget: PodDisruptionBudget) -> Iterable[Pod]:
    """None without a snapshot: where nothing is counted the view is kept, and must not hold on to one."""
    return snapshot.pods_matching(budget.namespace, budget.selector) if snapshot else ()


def _intolerant(snapshot: Snapshot, wanted: Target) -> tuple[str, ...]:
    """DaemonSets that get no new pods on tainted nodes."""
    taint = upgrade_taint(wanted.version)
    ending = {namespace.name for namespace in snapshot.all(Namespace) if namespace.deleting}
    return tuple(
        f"{row.namespace}/{row.name}"
        for row in snapshot.all(DaemonSet)
        if not row.deleting and row.namespace not in ending and not tolerated(row.template.tolerations, taint)
    )


def _unreadable(snapshot: Snapshot) -> tuple[Unreadable, ...]:
    found = ((kind, name, why) for kind in READS for name, why in snapshot.undecodable(kind).items())
    return tuple(Unreadable(kind, *_split(name), why) for kind, name, why in found)


def _split(name: str) -> tuple[str, str]:
    """Namespace, empty where there is none, and name."""
    namespace, _, own = name.rpartition("/")
    return namespace, own
