"""Sums over the cluster, kept current event by event: one pod's event costs one workload's recount.

What is kept true: after `refresh` the tallies, roles and occupancy are those of the snapshot that was given,
but that pods which are being evicted are tallied as leaving before the snapshot shows it. Events only say
what to look at again; what counts is what the snapshot has. A new target or scope recounts all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import ClassVar, Protocol, TypeVar

import msgspec

from shiplift.api.marks import CORDONED_BY, OFF_TARGET_LABEL, QUARANTINED_BY, label_value
from shiplift.api.workloads import Mode, WorkloadKind
from shiplift.facts import kinds
from shiplift.facts.cluster import Namespace
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.facts.nodes import Node, Taint
from shiplift.facts.pods import Pod, tolerated
from shiplift.facts.storage import PersistentVolume, PersistentVolumeClaim
from shiplift.facts.workloads import (
    Deployment,
    HorizontalPodAutoscaler,
    PodDisruptionBudget,
    ReplicaSet,
    StatefulSet,
)
from shiplift.room.occupancy import Occupancy, Room, Targets
from shiplift.workloads.identity import WorkloadId, workload_id
from shiplift.workloads.marks import upgrade_taint
from shiplift.workloads.model import Fleet, Joined, Role, Scope, Tally
from shiplift.workloads.observe.covers import Covers
from shiplift.workloads.observe.tally import tally, with_evicting
from shiplift.workloads.steps import MarkNode
from shiplift.workloads.target import marks, role

R = TypeVar("R", bound=Row)
_OF_ROLLOUTS = frozenset((CORDONED_BY, QUARANTINED_BY))
"""What says that a cordon is no stranger's."""

WORKLOAD_TYPES: Mapping[Kind, type[Deployment] | type[StatefulSet]] = {
    kinds.DEPLOYMENT: Deployment,
    kinds.STATEFUL_SET: StatefulSet,
}


_OF_NODES = ("DaemonSet", "Node")


class Snapshot(Protocol):
    """What is read of the store's snapshot."""

    def all(self, rows: type[R]) -> Iterable[R]: ...
    def by_uids(self, rows: type[R]) -> Mapping[str, R]: ...
    def by_uid(self, rows: type[R], uid: str) -> R | None: ...
    def find(self, rows: type[R], name: str, namespace: str = "") -> R | None: ...
    def pods_of(self, owner_uid: str) -> Iterator[Pod]: ...
    def pods_on(self, node: str) -> Iterator[Pod]: ...


class Census:
    """The sums, for one thread."""

    def __init__(self) -> None:
        self._scope = Scope()
        self._counted = False
        """Whether the sums are those of the scope; if not, all has to be counted."""
        self.declarations = 0
        """Counts up whenever the dependency graph may have become another."""
        self.seen_ready: dict[str, int] = {}
        """When we saw pods, by uid, become Ready, by our own clock: the kubelet's may be ahead or behind. Of
        pods that were Ready when the counting began the kubelet's word counts, but no time to come."""
        self._now = 0
        self._forget()

    def _forget(self) -> None:
        self.fresh: list[tuple[WorkloadId, Pod]] = []
        """Pods that the last refresh saw for the first time, with their workloads."""
        self.tallies: dict[WorkloadId, Tally] = {}
        self.unscheduled: dict[WorkloadId, None] = {}
        """Workloads with pods that the scheduler found no node for."""
        self.away: set[WorkloadId] = set()
        """Workloads with pods on old nodes."""
        self.recounted: Collection[WorkloadId] = ()
        """Workloads that the last refresh counted."""
        self.covers = Covers()
        self._ending: set[str] = set()
        """Namespaces that are being deleted: what is in them moves nowhere."""
        self._ids: dict[str, WorkloadId] = {}
        self.left_alone: dict[str, WorkloadId] = {}
        """Workloads of excluded namespaces, by uid: they are there, and nobody waits for them."""
        self._in_namespace: dict[str, set[WorkloadId]] = {}
        self._sets: dict[str, dict[str, None]] = {}
        self._deployment_of: dict[str, str] = {}
        self._autoscalers: dict[WorkloadId, HorizontalPodAutoscaler] = {}
        self._roles: dict[str, Role] = {}
        self._rows: dict[str, Node] = {}
        self._architectures: set[str] = set()
        self.ran: set[tuple[str, str]] = set()
        """Images that were seen to run, each after the architecture; only where nodes of two are there."""
        self._labels: dict[str, MarkNode] = {}
        self._taints: dict[str, MarkNode] = {}
        self._unmarked: set[str] = set()
        self._fleet: Fleet | None = None
        self._targets: dict[Role, Targets] = {}
        """Like the fleet, made again when a node has changed."""
        self._pods: dict[str, Pod] = {}
        self._evicting: frozenset[str] = frozenset()
        self._occupancy = Occupancy()
        self._not_moved: dict[str, Pod] = {}
        """Mode Template: pods of which no workload was known that is moved, by uid."""
        self._others: tuple[Pod, ...] | None = None
        """Those of them that count, until something may have changed that."""

    def refresh(
        self,
        snapshot: Snapshot,
        scope: Scope,
        news: Iterable[tuple[Kind, Row]],
        evicting: frozenset[str] = frozenset(),
        now: int = 0,
    ) -> None:
        """Bring the sums up to the snapshot; `news` is what was heard before it was taken, `evicting` the
        pods, by uid, that are being evicted by us."""
        self.fresh, self._now = [], now
        if self._counted and scope == self._scope:
            dirty = self._dirty(snapshot, news)
            dirty |= self._owners(evicting ^ self._evicting)
            self._evicting = evicting
            self._recount(snapshot, dirty)
        if not self._counted or scope != self._scope:
            before = self._pods if self._counted else None
            self._forget()
            self._scope, self._evicting = scope, evicting
            self._count_all(snapshot, before)
            self._counted = True

    def count_nodes(self, snapshot: Snapshot, scope: Scope) -> None:
        """While nothing is moved only marks of ours on nodes matter."""
        self._forget()
        self._scope, self._counted = scope, False
        for node in snapshot.all(Node):
            self._put_node(node)

    def fleet(self, versions: Mapping[str, int]) -> Fleet:
        """The nodes as they stand."""
        if self._fleet is None or self._fleet.versions is not versions:
            off = [name for name, own in self._roles.items() if own is Role.OFF]
            cordoned = frozenset(name for name in off if self._rows[name].unschedulable)
            self._fleet = Fleet(
                roles=self._roles,
                versions=versions,
                labels=self._labels,
                taints=self._taints,
                unmarked=frozenset(self._unmarked),
                cordoned=cordoned,
                drained_by_others=frozenset(
                    name for name in cordoned if _OF_ROLLOUTS.isdisjoint(self._rows[name].annotations)
                ),
                targets=sum(own is Role.TARGET for own in self._roles.values()),
                off=len(off),
                strange=self._strange(off) if off and self._is_mixed else frozenset(),
            )
        return self._fleet

    @property
    def _is_mixed(self) -> bool:
        return len(self._architectures) > 1

    def _strange(self, off: Iterable[str]) -> frozenset[str]:
        """Architectures of target nodes that no old node has; one that a node does not tell is none."""
        there = {self._rows[name].architecture for name, own in self._roles.items() if own is Role.TARGET}
        return frozenset(there - {self._rows[name].architecture for name in off} - {""})

    def autoscaler(self, id_: WorkloadId) -> HorizontalPodAutoscaler | None:
        """What scales a workload, whether or not the workload is there."""
        return self._autoscalers.get(id_)

    def joined(self) -> Iterator[Joined]:
        """The target nodes: when each was made, and whether it is Ready."""
        for name, own in self._roles.items():
            if own is Role.TARGET:
                node = self._rows[name]
                yield Joined(node.created, node.ready)

    def room(self, own: Role, but: str = "") -> Room:
        """What fits on the nodes of a role but that one; a node that is being emptied takes nothing."""
        if but:
            return Room(self._occupancy, self._nodes_of(own, but))
        targets = self._targets.get(own)
        if targets is None or targets.many:
            targets = self._targets[own] = self._nodes_of(own)
        return Room(self._occupancy, targets)

    def others(self) -> tuple[Pod, ...]:
        """Mode Template: pods that are not moved and do not tolerate target nodes, on old nodes or none."""
        if not self._tainting:
            return ()
        if self._others is None:
            taint = upgrade_taint(self._scope.target.version)
            self._not_moved = {uid: pod for uid, pod in self._not_moved.items() if self._is_not_moved(pod)}
            self._others = tuple(pod for pod in self._not_moved.values() if self._is_kept_off(pod, taint))
        return self._others

    @property
    def _tainting(self) -> bool:
        return self._counted and self._scope.target.mode is Mode.TEMPLATE

    def _is_kept_off(self, pod: Pod, taint: Taint) -> bool:
        here = not pod.node or self._roles.get(pod.node) is Role.OFF
        return here and not tolerated(pod.spec.tolerations, taint)

    def _is_not_moved(self, pod: Pod) -> bool:
        """Pods of DaemonSets and of nodes themselves belong to their node."""
        if pod.finished or pod.deleting or pod.namespace in self._ending:
            return False
        if pod.controller is not None and pod.controller.kind in _OF_NODES:
            return False
        owner = self._owner(pod)
        return owner is None or (owner in self.tallies and self.tallies[owner].skipped)

    def _note_other(self, uid: str, pod: Pod | None) -> None:
        if pod is not None and self._is_not_moved(pod):
            self._not_moved[uid] = pod
            self._others = None
        elif self._not_moved.pop(uid, None) is not None:
            self._others = None

    def _reconsider(self, snapshot: Snapshot, *owners: str) -> None:
        """Whether pods of these owners are moved may be another matter now."""
        if self._tainting:
            self._others = None
            self._not_moved |= {pod.uid: pod for uid in owners for pod in snapshot.pods_of(uid)}

    def _nodes_of(self, own: Role, but: str = "") -> Targets:
        closed = (self._scope.emptying, but)
        return self._occupancy.targets(
            lambda node: self._roles.get(node.name) is own and node.name not in closed
        )

    # --- everything ---

    def _count_all(self, snapshot: Snapshot, before: Mapping[str, Pod] | None) -> None:
        self._survey(snapshot)
        self._pods = dict(snapshot.by_uids(Pod))
        self._note_all_ready(before)
        self._occupancy.put_first_pods(self._pods.values())
        if self._is_mixed:
            for pod in self._pods.values():
                self._note_run(pod)
        for one in snapshot.all(ReplicaSet):
            self._put_set(one)
        for one in sorted(snapshot.all(HorizontalPodAutoscaler), key=_by_name):
            self._autoscalers[_scaled(one)] = one
        for one in snapshot.all(PodDisruptionBudget):
            self.covers.put(one)
        for kind, type_ in WORKLOAD_TYPES.items():
            for row in snapshot.all(type_):
                self._know(kind, row)
        self.declarations += 1
        self._recount(snapshot, set(self._ids.values()))
        if self._scope.target.mode is Mode.TEMPLATE:
            for pod in self._pods.values():
                self._note_other(pod.uid, pod)

    def _survey(self, snapshot: Snapshot) -> None:
        """What pods are put on, and what ties them to a place."""
        for node in snapshot.all(Node):
            self._put_node(node)
        for namespace in snapshot.all(Namespace):
            self._occupancy.put_namespace(None, namespace)
            if namespace.deleting:
                self._ending.add(namespace.name)
        for volume in snapshot.all(PersistentVolume):
            self._occupancy.put_volume(None, volume)
        for claim in snapshot.all(PersistentVolumeClaim):
            self._occupancy.put_claim(None, claim)

    # --- one change at a time ---

    def _dirty(self, snapshot: Snapshot, news: Iterable[tuple[Kind, Row]]) -> set[WorkloadId]:
        """Take in what was heard; the workloads to count again."""
        dirty: set[WorkloadId] = set()
        seen: set[str] = set()
        for kind, row in news:
            if row.uid not in seen:
                seen.add(row.uid)
                dirty.update(self._took_in(snapshot, kind, row))
        return dirty

    def _took_in(self, snapshot: Snapshot, kind: Kind, heard: Row) -> Iterable[WorkloadId]:
        changed = self._CHANGES.get(kind)
        if changed is not None:
            return changed(self, snapshot, heard)
        if kind in WORKLOAD_TYPES:
            return self._workload_changed(snapshot, kind, heard)
        if kind == kinds.WORKLOAD_ORDER:
            self.declarations += 1
        else:
            self._surroundings_changed(snapshot, heard)
        return ()

    def _surroundings_changed(self, snapshot: Snapshot, heard: Row) -> None:
        """What only decides which nodes can take a pod."""
        if isinstance(heard, PersistentVolume):
            self._occupancy.put_volume(heard, snapshot.by_uid(PersistentVolume, heard.uid))
        elif isinstance(heard, PersistentVolumeClaim):
            self._occupancy.put_claim(heard, snapshot.by_uid(PersistentVolumeClaim, heard.uid))
        elif isinstance(heard, Namespace):
            now = snapshot.by_uid(Namespace, heard.uid)
            self._others = None
            self._occupancy.put_namespace(heard, now)
            if now is None or now.deleting:
                self._namespace_ends(heard.name)
            elif heard.name in self._ending:
                # made again under the same name, and what is in it may have been heard of before it
                self._counted = False

    def _namespace_ends(self, name: str) -> None:
        self._ending.add(name)
        for uid, id_ in [*self._ids.items(), *self.left_alone.items()]:
            if id_.namespace == name:
                self._unknow(uid)

    def _pod_changed(self, snapshot: Snapshot, heard: Row) -> Iterable[WorkloadId]:
        known, now = self._pods.get(heard.uid), snapshot.by_uid(Pod, heard.uid)
        if now is None:
            self._pods.pop(heard.uid, None)
            self.seen_ready.pop(heard.uid, None)
        else:
            self._pods[heard.uid] = now
            if _became_ready(known, now):
                self.seen_ready[heard.uid] = self._now
            if known is None and (owner := self._owner(now)) is not None:
                self.fresh.append((owner, now))
            if self._is_mixed:
                self._note_run(now)
        self._occupancy.put_pod(known, now)
        if self._tainting:
            self._note_other(heard.uid, now)
        return [owner for pod in (known, now) if pod is not None and (owner := self._owner(pod)) is not None]

    def _note_all_ready(self, before: Mapping[str, Pod] | None) -> None:
        """Before all is counted anew; `before` are the pods as they were seen last, if they were."""
        pods = self._pods
        self.seen_ready = {uid: at for uid, at in self.seen_ready.items() if uid in pods}
        for uid, pod in pods.items():
            if pod.ready_since > self._now or (before is not None and _became_ready(before.get(uid), pod)):
                self.seen_ready[uid] = self._now

    def _note_run(self, pod: Pod) -> None:
        """What ran once on an architecture is known to run there."""
        node = self._rows.get(pod.node) if pod.ready else None
        if node is not None:
            self.ran.update((node.architecture, one.image) for one in pod.spec.containers)

    def _owner(self, pod: Pod) -> WorkloadId | None:
        controller = pod.controller
        if controller is None:
            return None
        return self._ids.get(self._deployment_of.get(controller.uid, controller.uid))

    def _owners(self, uids: Iterable[str]) -> set[WorkloadId]:
        """The workloads of these pods; of pods that are gone, the end was heard."""
        pods = (pod for uid in uids if (pod := self._pods.get(uid)) is not None)
        return {owner for pod in pods if (owner := self._owner(pod)) is not None}

    def _node_changed(self, snapshot: Snapshot, heard: Row) -> Iterable[WorkloadId]:
        now, before = snapshot.by_uid(Node, heard.uid), self._roles.get(heard.name)
        if now is not None:
            self._put_node(now)
        elif heard.name in self._rows and self._rows[heard.name].uid == heard.uid:
            self._drop_node(heard.name)
        if self._roles.get(heard.name) is before:
            return ()
        return [owner for pod in snapshot.pods_on(heard.name) if (owner := self._owner(pod)) is not None]

    def _put_node(self, node: Node) -> None:
        target = self._scope.target
        own = role(node, self._scope.selector, target.version)
        self._rows[node.name], self._roles[node.name] = node, own
        if node.architecture not in self._architectures:
            self._architectures.add(node.architecture)
            self._counted = self._counted and not self._is_mixed  # what ran is counted from now on
        self._nodes_are_others()
        self._occupancy.put_node(node)
        empties = node.name == self._scope.emptying
        _note(self._labels, node.name, marks(node, own, target, emptying=empties, tainted=False))
        _note(self._taints, node.name, marks(node, own, target, emptying=empties, tainted=True))
        if own is Role.OFF and node.labels.get(OFF_TARGET_LABEL) != label_value(target.version):
            self._unmarked.add(node.name)
        else:
            self._unmarked.discard(node.name)

    def _nodes_are_others(self) -> None:
        self._fleet = self._others = None
        if self._targets:
            self._targets = {}

    def _drop_node(self, name: str) -> None:
        del self._rows[name], self._roles[name]
        self._nodes_are_others()
        self._labels.pop(name, None)
        self._taints.pop(name, None)
        self._unmarked.discard(name)
        self._occupancy.drop_node(name)

    def _workload_changed(self, snapshot: Snapshot, kind: Kind, heard: Row) -> Iterable[WorkloadId]:
        now = snapshot.by_uid(WORKLOAD_TYPES[kind], heard.uid)
        known = self._ids.get(heard.uid)
        self._reconsider(snapshot, heard.uid, *self._sets.get(heard.uid, ()))
        if now is None or now.deleting:
            return self._unknow(heard.uid)
        if heard.uid in self.left_alone:
            return ()
        if known is None:
            self._know(kind, now)
            self.declarations += 1
        elif known in self.tallies:
            before = self.tallies[known].row
            if before.annotations != now.annotations or before.labels != now.labels:
                self.declarations += 1
        return [self._ids[heard.uid]] if heard.uid in self._ids else ()

    def _know(self, kind: Kind, row: Deployment | StatefulSet) -> None:
        if row.deleting or row.namespace in self._ending:
            return
        id_ = workload_id(kind.kind, row.namespace, row.name)
        if row.namespace in self._scope.excluded:
            self.left_alone[row.uid] = id_
            return
        self._ids[row.uid] = id_
        self._in_namespace.setdefault(row.namespace, set()).add(id_)

    def _unknow(self, uid: str) -> Iterable[WorkloadId]:
        if self.left_alone.pop(uid, None) is not None:
            self.declarations += 1
        id_ = self._ids.pop(uid, None)
        if id_ is None or id_ in self._ids.values():
            return () if id_ is None else (id_,)
        gone = self.tallies.pop(id_, None)
        self.unscheduled.pop(id_, None)
        self.away.discard(id_)
        self.covers.note(gone, None)
        self._in_namespace[id_.namespace].discard(id_)
        self.declarations += 1
        return ()

    def _set_changed(self, snapshot: Snapshot, heard: Row) -> Iterable[WorkloadId]:
        now, before = snapshot.by_uid(ReplicaSet, heard.uid), self._deployment_of.get(heard.uid)
        self._reconsider(snapshot, heard.uid)
        if now is not None:
            self._put_set(now)
        else:
            self._drop_set(heard.uid)
        owners = {before, self._deployment_of.get(heard.uid)}
        return [self._ids[uid] for uid in owners if uid and uid in self._ids]

    def _put_set(self, row: ReplicaSet) -> None:
        """Its Deployment lets go of one whose labels it selects no more; another may take it."""
        controller = row.controller
        owner = controller.uid if controller and controller.kind == WorkloadKind.DEPLOYMENT else None
        if owner != self._deployment_of.get(row.uid):
            self._drop_set(row.uid)
        if owner is not None:
            self._deployment_of[row.uid] = owner
            self._sets.setdefault(owner, {})[row.uid] = None

    def _drop_set(self, uid: str) -> None:
        owner = self._deployment_of.pop(uid, None)
        if owner is not None:
            self._sets.get(owner, {}).pop(uid, None)

    def _budget_changed(self, snapshot: Snapshot, heard: Row) -> Iterable[WorkloadId]:
        if not self.covers.take(heard.uid, snapshot.by_uid(PodDisruptionBudget, heard.uid)):
            return ()
        return set(self._in_namespace.get(heard.namespace, ()))

    def _autoscaler_changed(self, snapshot: Snapshot, heard: Row) -> Iterable[WorkloadId]:
        """They are few and change what they scale now and then: all of them are looked at again."""
        before = self._autoscalers
        self._autoscalers = {
            _scaled(one): one for one in sorted(snapshot.all(HorizontalPodAutoscaler), key=_by_name)
        }
        either = before.keys() | self._autoscalers.keys()
        return [id_ for id_ in either if before.get(id_) is not self._autoscalers.get(id_)]

    _CHANGES: ClassVar[Mapping[Kind, Callable[..., Iterable[WorkloadId]]]] = {
        kinds.POD: _pod_changed,
        kinds.NODE: _node_changed,
        kinds.REPLICA_SET: _set_changed,
        kinds.POD_DISRUPTION_BUDGET: _budget_changed,
        kinds.HORIZONTAL_POD_AUTOSCALER: _autoscaler_changed,
    }
    """Of the class: bound methods would tie a census to itself, and its sums would wait to be collected."""

    def _recount(self, snapshot: Snapshot, dirty: Iterable[WorkloadId]) -> None:
        fresh = {id_: counted for id_ in dirty if (counted := self._count(snapshot, id_)) is not None}
        for id_, counted in fresh.items():
            self.covers.note(self.tallies.get(id_), counted)
            if counted.pending and any(pod.unschedulable for pod in counted.pending):
                self.unscheduled[id_] = None
            elif self.unscheduled:
                self.unscheduled.pop(id_, None)
            if counted.away:
                self.away.add(id_)
            else:
                self.away.discard(id_)
        self.recounted = fresh.keys()
        self.tallies.update(fresh)

    def _count(self, snapshot: Snapshot, id_: WorkloadId) -> Tally | None:
        row = self._row(snapshot, id_)
        if row is None or row.uid not in self._ids:
            return None
        sets: list[ReplicaSet] = []
        owners: Iterable[str] = (row.uid,)
        if isinstance(row, Deployment):
            owners = self._sets.get(row.uid, ())
            sets = [one for uid in owners if (one := snapshot.by_uid(ReplicaSet, uid)) is not None]
        pods = list(chain.from_iterable(map(snapshot.pods_of, owners)))
        cover = self.covers.of(row, pods)
        evicting = [pod for pod in pods if self._looks_as_if_it_stayed(pod)] if self._evicting else []
        if evicting:
            pods = [pod for pod in pods if not self._looks_as_if_it_stayed(pod)]
        counted = tally(
            id_, row, sets, pods, self._roles, cover, self._autoscalers.get(id_), seen_ready=self.seen_ready
        )
        if id_.namespace in self._scope.opted_out:
            counted = msgspec.structs.replace(counted, skipped=True)
        return with_evicting(counted, evicting) if evicting else counted

    def _looks_as_if_it_stayed(self, pod: Pod) -> bool:
        """Whether it is being evicted and nothing shows it yet."""
        return pod.uid in self._evicting and not pod.deleting and not pod.finished

    def _row(self, snapshot: Snapshot, id_: WorkloadId) -> Deployment | StatefulSet | None:
        known = self.tallies.get(id_)
        type_ = Deployment if id_.kind == WorkloadKind.DEPLOYMENT else StatefulSet
        if known is not None and (row := snapshot.by_uid(type_, known.row.uid)) is not None:
            return row
        return snapshot.find(type_, id_.name, id_.namespace)


def _became_ready(before: Pod | None, now: Pod) -> bool:
    return now.ready and (before is None or before.ready_since != now.ready_since)


def _by_name(row: Row) -> tuple[str, str]:
    return row.namespace, row.name


def _scaled(row: HorizontalPodAutoscaler) -> WorkloadId:
    return workload_id(row.target_kind, row.namespace, row.target_name)


def _note(known: dict[str, MarkNode], name: str, step: MarkNode | None) -> None:
    if step is None:
        known.pop(name, None)
    else:
        known[name] = step
