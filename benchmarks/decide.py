"""How long one decision about workloads takes in a large cluster that is half-way through its migration.

The rows are in the store's own tables, as watches would have put them there: siblings share what they have in
common, names of nodes are one object. No API server is needed. Full: a new observer looks for the first time
and decides. Event: one pod has changed; its row is put into its table, the observer hears of it, looks and
decides. The yardstick is a fixed piece of work, timed in between: by how much it varies, the machine does.
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from sys import intern
from typing import TypeVar, cast

import msgspec

from benchmarks.migrate.plan import Kind as Owner
from benchmarks.migrate.plan import Size, Workload, plan
from benchmarks.recipe.base import Json
from benchmarks.rows import make
from shiplift.api.orders import OrderedWorkload, WorkloadOrder, WorkloadOrderSpec, WorkloadRef
from shiplift.api.placements import Turn, WorkloadPlacement, WorkloadPlacementSpec
from shiplift.api.workloads import (
    MigrationState,
    Mode,
    WorkloadKind,
    WorkloadMigration,
    WorkloadMigrationSpec,
    WorkloadMigrationStatus,
)
from shiplift.engine.step import Outcomes
from shiplift.facts import kinds
from shiplift.facts.cluster import Namespace
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Condition, Labels, Row
from shiplift.facts.meta import Owner as OwnerReference
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Container, Pod, PodSpec
from shiplift.facts.quantities import Resources
from shiplift.facts.selectors import Selector
from shiplift.facts.workloads import Deployment, PodDisruptionBudget, ReplicaSet, StatefulSet
from shiplift.kube.store import Snapshot, Store
from shiplift.kube.tables import Lookup, PodLookup, Table
from shiplift.workloads.decide.decision import decide
from shiplift.workloads.model import Migrating
from shiplift.workloads.observe.observer import READS, Observer
from shiplift.workloads.steps import Evict

DESCRIPTION = "one decision about 10,000 workloads with 100,000 pods, from nothing and after one event"
SIZE = Size(nodes=2_500, pods=100_000, workloads=10_000, depth=8)
SHORT = Size(nodes=100, pods=4_000, workloads=400, depth=8)
LIMITS = {"full_s": 1.0, "event_s": 0.05}
_OLD, _NEW = "v1.35.4", "v1.36.3"
_MOVED_LAYERS = 4
_NOW = datetime(2026, 11, 1, tzinfo=UTC)
_GIB = 1 << 30
_HASH = "7d4b9c"
R = TypeVar("R", bound=Row)


def run(size: Size, rounds: int) -> Json:
    tables = Tables(size)
    rows = [(_yardstick(), _full(tables)) for _ in range(rounds)]
    times = {"full_s": [full for _, full in rows], "event_s": _events(tables, rounds * 5)}
    times["yardstick_s"] = [yardstick for yardstick, _ in rows]
    found = {name: statistics.median(those) for name, those in times.items()}
    print(f"{'':18}{'median, s':>12}{'least':>10}{'most':>10}{'below':>8}")
    for name, those in times.items():
        judged = _judged(name, found[name]) if size == SIZE else ""
        print(f"{name:18}{found[name]:>12.4f}{min(those):>10.4f}{max(those):>10.4f}{judged}")
    found["full_vs_yardstick"] = found["full_s"] / found["yardstick_s"]
    print(f"{'full_vs_yardstick':18}{found['full_vs_yardstick']:>12.1f}")
    return found | {
        "limits": LIMITS,
        "size": size,
        "most": {name: max(those) for name, those in times.items()},
    }


def _judged(name: str, median: float) -> str:
    if name not in LIMITS:
        return ""
    return f"{LIMITS[name]:>8}   {'met' if median < LIMITS[name] else 'MISSED'}"


def _yardstick() -> float:
    """A fixed piece of work: how fast this machine is at this moment."""
    begin = time.perf_counter()
    squares: dict[int, int] = {}
    for number in range(1_000_000):
        squares[number & 0xFFFF] = number * number
    return time.perf_counter() - begin


class Tables:
    """The cluster half-way: the lower layers have moved, the one above them may go, the others are held."""

    def __init__(self, size: Size) -> None:
        self.workloads = plan(size)
        self._nodes = size.nodes
        rows: dict[Kind, dict[str, Row]] = {kind: {} for kind in READS}
        for kind, row in self._rows():
            rows[kind][row.uid] = row
        self.tables = {
            kind: Table(PodLookup() if kind == kinds.POD else Lookup(), _nobody_listens) for kind in READS
        }
        for kind, table in self.tables.items():
            table.replace(rows[kind], 1)

    def snapshot(self, *of: Kind) -> Snapshot:
        return Snapshot({kind: self.tables[kind].freeze() for kind in of or self.tables})

    def _rows(self) -> Iterator[tuple[Kind, Row]]:
        yield from ((kinds.NODE, _node("old", number, _OLD)) for number in range(self._nodes))
        yield from ((kinds.NODE, _node("new", number, _NEW)) for number in range(self._nodes))
        place = 0
        for one in self.workloads:
            yield from _owners(one)
            pool = "new" if one.layer < _MOVED_LAYERS else "old"
            pods = _Pods(one)
            for ordinal in range(one.replicas):
                place += 1
                yield kinds.POD, pods.make(ordinal, intern(f"{pool}-{place % self._nodes}"))
        yield from self._customs()

    def _customs(self) -> Iterator[tuple[Kind, Row]]:
        known = {one.name: one for one in self.workloads}
        by_space: dict[str, list[Workload]] = defaultdict(list)
        for one in self.workloads:
            by_space[one.namespace].append(one)
        for space, those in by_space.items():
            yield kinds.NAMESPACE, make(Namespace, space, phase="Active")
            for number, some in enumerate(_parts(those, 400)):
                order = WorkloadOrder(
                    spec=WorkloadOrderSpec(workloads=tuple(_order(one, known) for one in some))
                )
                yield kinds.WORKLOAD_ORDER, _custom(f"order-{number}", space, order)
            yield kinds.WORKLOAD_PLACEMENT, _custom("shiplift", space, _placement(those))
        met = tuple(f"{one.kind}/{one.name}" for one in self.workloads if one.layer < _MOVED_LAYERS)
        yield kinds.WORKLOAD_MIGRATION, _custom("cluster", "", _migration(met))


def _nobody_listens(_old: Row | None, _new: Row | None) -> None:
    """The observer is told of each event by the measurement itself."""


def _full(tables: Tables) -> float:
    begin = time.perf_counter()
    observer = _observer(tables)
    _decided(observer)
    took = time.perf_counter() - begin
    del observer  # an operator keeps it; to take it apart is no part of a decision
    return took


def _events(tables: Tables, rounds: int) -> list[float]:
    observer = _observer(tables)
    _decided(observer)
    pods = tables.tables[kinds.POD]
    chosen = [row for row in pods.rows.values() if cast("Pod", row).node.startswith("old-")][:rounds]
    return [_event(observer, pods, cast("Pod", row), number) for number, row in enumerate(chosen, 2)]


def _event(observer: Observer, pods: Table, pod: Pod, revision: int) -> float:
    """It has stopped being Ready."""
    changed = msgspec.structs.replace(pod, ready=False, resource_version=revision)
    begin = time.perf_counter()
    pods.put(changed)
    observer.heard(kinds.POD, pod, changed)
    _decided(observer)
    return time.perf_counter() - begin


def _observer(tables: Tables) -> Observer:
    observer = Observer(cast("Store", tables), lambda: True)
    for row in tables.tables[kinds.WORKLOAD_PLACEMENT].rows.values():
        observer.in_force.note(row.uid, row.generation, 0.0)
    return observer


def _decided(observer: Observer) -> Migrating:
    """A decision that moves something: all else would be too easy."""
    decision = decide(observer.observe(Outcomes()), _NOW)
    if not any(isinstance(step, Evict) for step in decision.steps):
        raise RuntimeError(f"nothing is moved: {decision.reason} {decision.message}")
    return decision


# --- rows ---


def _node(pool: str, number: int, version: str) -> Node:
    name, mark = f"{pool}-{number}", "target-version" if pool == "new" else "off-target"
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"zone-{number % 3}"}
    room = Resources(cpu=16_000, memory=64 * _GIB, storage=100 * _GIB, pods=110)
    return make(
        Node,
        name,
        kubelet_version=version,
        labels=Labels({**labels, f"shiplift.dev/{mark}": _NEW}),
        ready=True,
        conditions=(Condition("Ready", "True", since=1000),),
        allocatable=room,
        capacity=room,
    )


def _owners(one: Workload) -> Iterator[tuple[Kind, Row]]:
    about: Json = {
        "namespace": one.namespace,
        "selector": Selector(Labels(app=one.name)),
        "template": _spec(one.name),
        "template_labels": Labels(app=one.name),
        "observed_generation": 1,
        "replicas": one.replicas,
        "current_replicas": one.replicas,
        "ready_replicas": one.replicas,
        "available_replicas": one.replicas,
    }
    updated = {"updated_replicas": one.replicas, "strategy": "RollingUpdate"}
    if one.kind is Owner.STATEFUL_SET:
        revisions = {"current_revision": "1", "update_revision": "1"}
        yield kinds.STATEFUL_SET, make(StatefulSet, one.name, **about, **updated, **revisions)
    else:
        owner = OwnerReference("Deployment", one.name, f"Deployment/{one.name}", True)
        yield kinds.DEPLOYMENT, make(Deployment, one.name, **about, **updated)
        yield kinds.REPLICA_SET, make(ReplicaSet, f"{one.name}-{_HASH}", owners=(owner,), **about)
    if one.budget:
        yield kinds.POD_DISRUPTION_BUDGET, _budget(one)


def _budget(one: Workload) -> PodDisruptionBudget:
    return make(
        PodDisruptionBudget,
        one.name,
        namespace=one.namespace,
        selector=Selector(Labels(app=one.name)),
        max_unavailable=one.at_once,
        observed_generation=1,
        disruptions_allowed=one.at_once,
        current_healthy=one.replicas,
        desired_healthy=one.least_healthy,
        expected_pods=one.replicas,
    )


def _spec(name: str) -> PodSpec:
    return PodSpec(
        containers=(Container("main", f"example.com/{name}:1"),),
        requests=Resources(cpu=250, memory=_GIB // 4),
    )


class _Pods:
    """The pods of one workload. Those of a Deployment have all labels in common."""

    def __init__(self, one: Workload) -> None:
        self._namespace = one.namespace
        self._stateful = one.kind is Owner.STATEFUL_SET
        self._owner = one.name if self._stateful else f"{one.name}-{_HASH}"
        kind = "StatefulSet" if self._stateful else "ReplicaSet"
        self._owners = (OwnerReference(kind, self._owner, f"{kind}/{self._owner}", True),)
        self._labels = Labels({"app": one.name, "pod-template-hash": _HASH})
        self._spec = _spec(one.name)

    def make(self, ordinal: int, node: str) -> Pod:
        name = f"{self._owner}-{ordinal}"
        return make(
            Pod,
            name,
            namespace=self._namespace,
            labels=self._own_labels(name, ordinal) if self._stateful else self._labels,
            owners=self._owners,
            node=node,
            spec=self._spec,
            phase="Running",
            ready=True,
            ready_since=1000,
        )

    def _own_labels(self, name: str, ordinal: int) -> Labels:
        own = {"statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": str(ordinal)}
        return Labels({"app": self._labels["app"], "controller-revision-hash": _HASH, **own})


def _custom(name: str, namespace: str, object_: object) -> Custom:
    uid = f"{type(object_).__name__}/{namespace}/{name}"
    return make(Custom, name, namespace=namespace, uid=uid, object=object_)


def _order(one: Workload, known: dict[str, Workload]) -> OrderedWorkload:
    others = tuple(
        WorkloadRef(kind=WorkloadKind(known[name].kind), name=name, namespace=known[name].namespace)
        for name in one.depends_on
    )
    return OrderedWorkload(
        kind=WorkloadKind(one.kind), name=one.name, namespace=one.namespace, depends_on=others
    )


def _placement(those: Iterable[Workload]) -> WorkloadPlacement:
    turns = {
        f"{one.kind}.{one.name}": Turn.RELEASED if one.layer <= _MOVED_LAYERS else Turn.HELD for one in those
    }
    return WorkloadPlacement(spec=WorkloadPlacementSpec(target=_NEW, turns=turns))


def _migration(met: tuple[str, ...]) -> WorkloadMigration:
    status = WorkloadMigrationStatus(
        state=MigrationState.UPGRADE, target=_NEW, mode=Mode.INJECT, met=met, observed_generation=1
    )
    return WorkloadMigration(spec=WorkloadMigrationSpec(target=_NEW, mode=Mode.INJECT), status=status)


def _parts(those: list[Workload], most: int) -> Iterator[list[Workload]]:
    return (those[start : start + most] for start in range(0, len(those), most))
