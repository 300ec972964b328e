"""Gathers what a decision is made from. Reads only; what it keeps is a cache of what the cluster says.

While nothing that matters has changed the view is the one from before: what was decided from it still holds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Protocol, cast

from shiplift.api.marks import CORDONED_BY
from shiplift.api.nodes import NodeRollout, NodeState, NodeStatus
from shiplift.api.workloads import WorkloadMigration
from shiplift.drain.filters import CORDON
from shiplift.drain.own import NOT_IN_A_POD, Own, could_take, own, that_count
from shiplift.drain.own import is_operator as is_operator_of
from shiplift.engine import clock, contested
from shiplift.engine.step import Outcomes
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import NO_LABELS, Row
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod
from shiplift.facts.selectors import Selector
from shiplift.kube.collection import paused_collection
from shiplift.kube.kept import Kept
from shiplift.kube.store import Snapshot
from shiplift.nodes.decide.case import cordoned_here
from shiplift.nodes.decide.hooks import jobs as hook_jobs
from shiplift.nodes.memory import Jobs, Leases, Memory, Noticing, Watched
from shiplift.nodes.model import Member, Unreadable, View
from shiplift.nodes.names import controllers_after
from shiplift.nodes.observe.api_servers import api_servers
from shiplift.nodes.observe.asking import Asking
from shiplift.nodes.observe.demands import SnapshotDemands
from shiplift.nodes.observe.drains import DRAINED, Asked, Drains, being_evicted
from shiplift.nodes.observe.holding import Holding, moving
from shiplift.nodes.observe.members import Members, has_ours
from shiplift.nodes.observe.news import Heard, News
from shiplift.nodes.observe.rollouts import (
    beats,
    in_flight,
    kept_for,
    rollouts_of,
    states,
    touches_control_plane,
)

READS = (
    kinds.NODE,
    kinds.POD,
    kinds.DAEMON_SET,
    kinds.STATEFUL_SET,
    kinds.POD_DISRUPTION_BUDGET,
    kinds.PERSISTENT_VOLUME,
    kinds.PERSISTENT_VOLUME_CLAIM,
    kinds.VOLUME_ATTACHMENT,
    kinds.NODE_ROLLOUT,
    kinds.MACHINE,
    kinds.WORKLOAD_MIGRATION,
    kinds.WORKLOAD_PLACEMENT,
)


_EVERY = Selector(NO_LABELS)
_VERIFIED = frozenset((NodeState.VERIFYING, NodeState.SOAKING))


class Snapshots(Protocol):
    """What is asked of the store."""

    def snapshot(self, *of: Kind) -> Snapshot: ...
    def stale(self, *of: Kind) -> tuple[Kind, ...]: ...


class Observer:
    """Makes views. `heard` may be called from any thread, `observe` from one."""

    def __init__(
        self,
        store: Snapshots,
        asking: Asking,
        now: Callable[[], datetime] = clock.now,
        monotonic: Callable[[], float] = time.monotonic,
        namespace: str = "",
    ) -> None:
        """`namespace` is that of the operator."""
        self._namespace = namespace
        self._store, self._asking, self._now, self._monotonic = store, asking, now, monotonic
        self._heard = Heard()
        self._members, self._holding = Members(), Holding()
        self._view: View | None = None
        """What was seen last, and may still hold."""
        self._shown: Mapping[str, Member] = {}
        self._keep_until = float("-inf")
        self._version = Kept(asking.version, 30.0, monotonic)
        self._claims = Kept(lambda: (asking.claims(),), 2.0, monotonic)
        self._distrust = Kept(asking.distrust, 10.0, monotonic)
        self._watched, self._beats = Watched(monotonic), Watched(monotonic)
        self._noticing = Noticing(monotonic)
        self._first = True
        """Whether nothing was looked at yet: what an operator before this one has made is not known."""
        self._clean = False
        """Whether there is no rollout, and nothing of one on any node."""
        self.memory = Memory(Leases(), Jobs(monotonic), contested.Memory())

    def heard(self, kind: Kind, old: Row | None, new: Row | None) -> None:
        """Note what to look at again; without a row, that other objects than before cannot be read."""
        self._heard.note(kind, old, new)

    def claims_changed(self) -> None:
        self._claims.void()

    def desired(self, node: str) -> Iterable[str]:
        """The software that a node, as it was last seen, has a desired version of."""
        member = self._shown.get(node)
        return member.desired if member else ()

    def observe(self, outcomes: Outcomes) -> View:
        """The cluster at this moment; the view from before where nothing that matters is new."""
        news = self._heard.take()
        view = self._view
        if view is not None and not news.matters and self._holds(view, news, outcomes):
            return view
        self._view = None
        rollouts = rollouts_of(self._store.snapshot(kinds.NODE_ROLLOUT))
        self._heard.go_by(bool(rollouts), {record.name for _, record in in_flight(rollouts)})
        try:
            with paused_collection:
                view = self._look(self._store.snapshot(*READS), news, outcomes)
        except BaseException:
            # the news is taken and perhaps not counted: count all again
            self._holding = Holding()
            raise
        self._view, self._clean, self._shown = view, _is_clean(view), view.members
        self._keep_until = self._monotonic() + kept_for(view.rollouts)
        return view

    def _holds(self, view: View, news: News, outcomes: Outcomes) -> bool:
        """Whether the view is still what there is to see."""
        if self._clean:
            return True
        if (
            self._monotonic() >= self._keep_until
            or self._watched.is_past(self._now())
            or not _same(view.outcomes, outcomes)
            or self.memory.jobs.due
            or view.claims is None
            or view.distrust
        ):
            return False
        if view.stale != self._store.stale(*READS):
            return False
        return not (view.migration.target and news.nodes) or self._holding.is_still(
            view.migration, self._store.snapshot(kinds.POD), _rows(view.members), news.nodes
        )

    def _look(self, snapshot: Snapshot, news: News, outcomes: Outcomes) -> View:
        rollouts = rollouts_of(snapshot)
        self._remember_hooks(rollouts)
        members = self._members.look(snapshot.all(Node), snapshot.customs(kinds.MACHINE))
        under_way = moving(_migration(snapshot), snapshot.customs(kinds.WORKLOAD_PLACEMENT))
        under_way = under_way if rollouts else None
        nodes = _rows(members) if under_way else {}
        ours = self._own(snapshot, rollouts, outcomes) if rollouts else NOT_IN_A_POD
        asked = _asked(rollouts, members, self.memory.changes.changes)
        asked.sort(key=lambda one: ours.of_node(one.node.name))
        is_operator = partial(is_operator_of, namespace=self._namespace)
        drains = Drains(snapshot, outcomes, under_way, self._now(), self._asking.is_gone, ours, is_operator)
        return View(
            rollouts=rollouts,
            members=members,
            api_servers=api_servers(members.values(), self._version.get) if rollouts else {},
            drains={one.node.uid: drains.of(one) for one in asked},
            demands=_demands(snapshot, drains, asked) if rollouts else None,
            own=ours,
            migration=self._holding.look(snapshot, under_way, nodes, news.nodes),
            leases=self.memory.leases.seen(_verified(rollouts, members.values())),
            watched=self._watched.look(states(rollouts, members), self._now()),
            heard=self._beats.look(beats(members.values()), self._now()),
            unnoticed=self._noticing.look(_cordoned(asked), self._now()),
            unheard=self._beats.unchanged,
            hooks=self.memory.jobs.look(self._asking.job),
            claims=self._claims.get()[0] if touches_control_plane(rollouts, members) else (),
            distrust=self._distrust.get() if rollouts else "",
            changes=dict(self.memory.changes.changes),
            stale=snapshot.stale(*READS),
            unreadable=_unreadable(snapshot),
            outcomes=outcomes,
        )

    def _remember_hooks(self, rollouts: Iterable[NodeRollout]) -> None:
        """Jobs around nodes that another operator has begun: they are removed when these are through."""
        if self._first:
            for rollout, record in in_flight(rollouts):
                for job in hook_jobs(rollout, record):
                    self.memory.jobs.note(job)
        self._first = False

    def _own(self, snapshot: Snapshot, rollouts: Sequence[NodeRollout], outcomes: Outcomes) -> Own:
        """The operator's own pods: who stays where no rollout takes pods off its node could lead instead."""
        uid = self._asking.own_pod()
        pod = snapshot.by_uid(Pod, uid) if uid else None
        if pod is None:
            return NOT_IN_A_POD
        mates = that_count(snapshot.pods_matching(pod.namespace, _EVERY), int(self._now().timestamp()))
        may, pending = self._asking.may_hand_over(), self._asking.hands_over()
        taken = {record.name for _, record in in_flight(rollouts)}
        return own(
            pod,
            mates,
            partial(_stays, snapshot, taken),
            may_hand_over=may,
            pending=pending,
            evicting=being_evicted(outcomes),
            has_a_place=lambda one: any(could_take(one, node) for node in snapshot.all(Node)),
        )


def _stays(snapshot: Snapshot, taken: Container[str], pod: Pod) -> bool:
    """Also where somebody has cordoned the node by hand: whoever drains it, too, goes by the budget."""
    node = snapshot.find(Node, pod.node)
    ours = pod.node in taken or (node is not None and CORDONED_BY in node.annotations)
    return node is not None and node.ready and not ours


def _asked(
    rollouts: Iterable[NodeRollout], members: Mapping[str, Member], changes: contested.Changes
) -> list[Asked]:
    """Nodes that are there and recorded, in the order in which rollouts and records are: in that order they
    get what budgets give."""
    return [
        Asked(member.row, record, rollout.spec, cordoned_here(changes, record))
        for rollout, record in in_flight(rollouts)
        if (member := members.get(record.name)) is not None and member.uid == record.uid
    ]


def _cordoned(asked: Iterable[Asked]) -> dict[str, bool]:
    """Nodes that a rollout has cordoned, by uid: whether their taint says that this was noticed."""
    nodes = (one.node for one in asked if one.node.unschedulable and CORDONED_BY in one.node.annotations)
    return {node.uid: any(taint.key == CORDON.key for taint in node.taints) for node in nodes}


def _demands(snapshot: Snapshot, drains: Drains, asked: Iterable[Asked]) -> SnapshotDemands:
    drained = [one.node.name for one in asked if _takes(one.record)]
    return SnapshotDemands(snapshot, drains, drained)


def _takes(record: NodeStatus) -> bool:
    """Whether a node is drained, or is to be next."""
    return record.state in DRAINED or (record.state is NodeState.WAITING and record.token is not None)


def _migration(snapshot: Snapshot) -> WorkloadMigration | None:
    rows = snapshot.customs(kinds.WORKLOAD_MIGRATION)
    return next((cast("WorkloadMigration", row.object) for row in rows), None)


def _rows(members: Mapping[str, Member]) -> dict[str, Node]:
    return {name: one.row for name, one in members.items()}


def _is_clean(view: View) -> bool:
    """Whether nothing but a rollout, or something of one on a node, could give us anything to do."""
    return (
        not view.rollouts and not view.stale and not any(has_ours(one.row) for one in view.members.values())
    )


def _verified(rollouts: Iterable[NodeRollout], members: Iterable[Member]) -> set[str]:
    """Nodes, by uid, whose Leases, and that of the controllers after them, tell something: their agents are
    through, or were when last seen."""
    recorded = {one.uid for rollout in rollouts for one in rollout.status.nodes if one.state in _VERIFIED}
    nodes = recorded | {one.uid for one in members if _is_through(one)}
    return nodes | {controllers_after(uid) for uid in nodes}


def _is_through(member: Member) -> bool:
    """Whether its agent says that it is through with the order that is there."""
    order, readiness = member.order, member.readiness
    if order is None or readiness is None:
        return False
    return readiness.ready and readiness.token == str(order.token)


def _same(one: Outcomes, other: Outcomes) -> bool:
    return one.last is other.last and (one.running, one.unsettled) == (other.running, other.unsettled)


def _unreadable(snapshot: Snapshot) -> tuple[Unreadable, ...]:
    return tuple(
        Unreadable(kind, name, why) for kind in READS for name, why in snapshot.undecodable(kind).items()
    )
