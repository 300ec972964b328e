"""A small cluster in memory: rows in the store's own tables, and everything that users and clouds do to it.

What its controllers, its scheduler and its kubelets do is in `nature`, what its API server does with the
steps of the layer in `server`. All of it is told by rows alone, so that an observer can look at it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, cast

import msgspec

from benchmarks.decide import make
from shiplift.api.base import ObjectMeta
from shiplift.api.workloads import (
    MigrationState,
    Mode,
    OrderedWorkload,
    WorkloadKind,
    WorkloadMigration,
    WorkloadMigrationSpec,
    WorkloadMigrationStatus,
    WorkloadOrder,
    WorkloadOrderSpec,
    WorkloadPlacement,
    WorkloadPlacementSpec,
    WorkloadRef,
)
from shiplift.facts import kinds
from shiplift.facts.cluster import Namespace
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Labels, Row
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Container, Pod, PodSpec
from shiplift.facts.quantities import Resources
from shiplift.facts.selectors import Selector
from shiplift.facts.workloads import (
    Deployment,
    HorizontalPodAutoscaler,
    PodDisruptionBudget,
    StatefulSet,
)
from shiplift.kube.rows import KIND_OF
from shiplift.kube.store import Snapshot
from shiplift.kube.tables import Frozen, Lookup, PodLookup, Table
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.model import Target
from shiplift.workloads.names import MIGRATION, PLACEMENT
from shiplift.workloads.observe.observer import READS
from shiplift.workloads.target import marks, role, selector_of

OLD, NEW = "v1.35.4", "v1.36.3"
SPACE = "shop"
Json = dict[str, Any]
Heard = Callable[[Kind, Row | None, Row | None], None]
R = TypeVar("R", bound=Row)


class Pace(msgspec.Struct, frozen=True):
    """What takes until the next tick instead of happening at once."""

    ready: bool = False
    """A pod becomes Ready."""
    leave: bool = False
    """A pod that was ended is gone."""
    params: bool = False
    """The API server goes by a changed placement."""


class World:
    """The cluster; `snapshot` is what an observer asks of a store."""

    def __init__(self, pace: Pace | None = None) -> None:
        self.pace = pace or Pace()
        self.now = datetime(2026, 11, 1, tzinfo=UTC)
        self.inject = True
        self.listeners: list[Heard] = []
        self.documents: dict[str, Json] = {}
        """The PodDisruptionBudgets by uid, as users and we write them."""
        self.noted: dict[tuple[str, str], int] = {}
        """When the eviction of a pod was noted in a budget, by the budget's uid and the pod's name."""
        self.roles: set[tuple[str, str]] = set()
        """The workloads, by namespace and name, whose pods get a role at run time."""
        self.params: dict[str, Custom] = {}
        """The placements that the API server goes by, by namespace."""
        self.steers = self.answers = True
        """Whether new pods get our rule, and whether the API server tells which placement it goes by."""
        self.changes = 0
        self._numbers = 0
        self._tables = {
            kind: Table(
                PodLookup() if kind == kinds.POD else Lookup(), functools.partial(self._changed, kind)
            )
            for kind in READS
        }
        for table in self._tables.values():
            table.replace({}, 1)
        self.put(make(Namespace, SPACE, phase="Active"))

    # --- rows ---

    def snapshot(self, *of: Kind) -> Snapshot:
        return Snapshot({kind: self.frozen(kind) for kind in of or self._tables})

    def frozen(self, kind: Kind) -> Frozen:
        """One kind as it is now."""
        return self._tables[kind].freeze()

    def all(self, rows: type[R]) -> list[R]:
        return cast("list[R]", list(self._tables[KIND_OF[rows]].rows.values()))

    def get(self, rows: type[R], uid: str) -> R | None:
        return cast("R | None", self._tables[KIND_OF[rows]].rows.get(uid))

    def named(self, rows: type[R], name: str, namespace: str = SPACE) -> R | None:
        found = (one for one in self.all(rows) if one.name == name and one.namespace == namespace)
        return next(found, None)

    def customs(self, kind: Kind) -> list[Custom]:
        return cast("list[Custom]", list(self._tables[kind].rows.values()))

    def put(self, row: R, kind: Kind | None = None) -> R:
        """Write a row; one that says what is there already changes nothing."""
        table = self._tables[kind or KIND_OF[type(row)]]
        known = table.rows.get(row.uid)
        if known is not None and known.same_as(row):
            return cast("R", known)
        stamped = msgspec.structs.replace(row, resource_version=self.number())
        table.put(stamped)
        return stamped

    def remove(self, row: Row, kind: Kind | None = None) -> None:
        self._tables[kind or KIND_OF[type(row)]].remove(row.uid, self.number())

    def number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _changed(self, kind: Kind, old: Row | None, new: Row | None) -> None:
        self.changes += 1
        for heard in self.listeners:
            heard(kind, old, new)

    # --- what users and clouds make ---

    def node(self, name: str, version: str = OLD, room: int = 110, **given: Any) -> Node:
        """A node; while a migration runs it has its marks from birth, as the policy on nodes gives them."""
        amount = Resources(cpu=1 << 20, memory=1 << 50, storage=1 << 50, pods=room)
        labels = Labels({"kubernetes.io/hostname": name} | given.pop("labels", {}))
        bare = make(
            Node,
            name,
            uid=f"node-{name}-{self.number()}",
            kubelet_version=version,
            ready=True,
            allocatable=amount,
            capacity=amount,
            labels=labels,
            **given,
        )
        return self.put(self.marked(bare))

    def marked(self, node: Node) -> Node:
        """With the marks of its role in the migration that runs."""
        migration = self.migration
        if migration is None or migration.status.state is not MigrationState.UPGRADE:
            return node
        target = Target(migration.status.target or "", migration.status.mode)
        own = role(node, selector_of(migration.spec.node_selector), target.version)
        step = marks(node, own, target, emptying=False, tainted=True)
        if step is None:
            return node
        return msgspec.structs.replace(
            node, labels=Labels({**node.labels, **step.labels}), taints=step.taints
        )

    def workload(
        self, kind: WorkloadKind, name: str, replicas: int = 1, namespace: str = SPACE, **given: Any
    ) -> WorkloadId:
        """A Deployment or StatefulSet; its pods come with the next tick. `tier` is a label more."""
        if self.named(Namespace, namespace, "") is None:
            self.put(make(Namespace, namespace, phase="Active"))
        labels = Labels({"app": name} | ({"tier": given.pop("tier")} if given.get("tier") else {}))
        given.pop("tier", None)
        type_ = Deployment if kind is WorkloadKind.DEPLOYMENT else StatefulSet
        self.put(
            make(
                type_,
                name,
                uid=f"{name}-{self.number()}",
                namespace=namespace,
                selector=Selector(Labels(app=name)),
                template=PodSpec(containers=(Container("main", f"example.com/{name}:1"),)),
                template_labels=labels,
                replicas=replicas,
                strategy="RollingUpdate",
                **given,
            )
        )
        return WorkloadId(kind.value, namespace, name)

    def row_of(self, id_: WorkloadId) -> Deployment | StatefulSet | None:
        type_ = Deployment if id_.kind == WorkloadKind.DEPLOYMENT else StatefulSet
        return self.named(type_, id_.name, id_.namespace)

    def budget(self, name: str, labels: Json, spec: Json, namespace: str = SPACE) -> str:
        """A user's PodDisruptionBudget; its uid."""
        uid = f"budget-{name}-{self.number()}"
        self.write_budget(
            {
                "kind": "PodDisruptionBudget",
                "metadata": {"name": name, "namespace": namespace, "uid": uid, "generation": 1},
                "spec": {**spec, "selector": {"matchLabels": labels}},
            }
        )
        return uid

    def write_budget(self, document: Json) -> None:
        """Keep the document, and its row with the status that it had."""
        meta, spec = document["metadata"], document["spec"]
        before = self.documents.get(meta["uid"])
        if before is not None and before["spec"] != spec:
            meta["generation"] += 1
        self.documents[meta["uid"]] = document
        known = self.get(PodDisruptionBudget, meta["uid"]) or make(PodDisruptionBudget, meta["name"])
        self.put(
            msgspec.structs.replace(
                known,
                namespace=meta["namespace"],
                uid=meta["uid"],
                generation=meta["generation"],
                labels=Labels(meta.get("labels", {})),
                annotations=Labels(meta.get("annotations", {})),
                selector=Selector(Labels(spec["selector"].get("matchLabels", {}))),
                min_available=spec.get("minAvailable"),
                max_unavailable=spec.get("maxUnavailable"),
                unhealthy_policy=spec.get("unhealthyPodEvictionPolicy", ""),
            )
        )

    def autoscaler(self, id_: WorkloadId, floor: int, ceiling: int, **given: Any) -> None:
        self.put(
            make(
                HorizontalPodAutoscaler,
                f"{id_.name}-scaler",
                namespace=id_.namespace,
                target_kind=id_.kind,
                target_name=id_.name,
                min_replicas=floor,
                max_replicas=ceiling,
                **given,
            )
        )

    def order(
        self, name: str, needs: Iterable[tuple[WorkloadId, WorkloadId]], namespace: str = SPACE
    ) -> None:
        """A WorkloadOrder: the first of each pair waits for the second."""
        by_dependent: dict[WorkloadId, list[WorkloadRef]] = {}
        for dependent, dependency in needs:
            by_dependent.setdefault(dependent, []).append(_reference(dependency))
        workloads = tuple(
            OrderedWorkload(
                kind=WorkloadKind(id_.kind), name=id_.name, namespace=id_.namespace, depends_on=tuple(those)
            )
            for id_, those in by_dependent.items()
        )
        if workloads:
            object_ = WorkloadOrder(spec=WorkloadOrderSpec(workloads=workloads))
            self._put_custom(kinds.WORKLOAD_ORDER, name, namespace, object_)

    # --- our own objects ---

    @property
    def migration(self) -> WorkloadMigration | None:
        row = next(iter(self.customs(kinds.WORKLOAD_MIGRATION)), None)
        return None if row is None else cast("WorkloadMigration", row.object)

    def migrate(self, **spec: Any) -> None:
        """Make the WorkloadMigration, or change what it says."""
        known = self.migration or WorkloadMigration()
        wanted = msgspec.structs.replace(known.spec, **spec)
        self._write_migration(wanted, known.status, known.metadata.generation + 1)

    def publish(self, status: WorkloadMigrationStatus) -> None:
        known = self.migration
        if known is not None:
            self._write_migration(known.spec, status, known.metadata.generation)

    def _write_migration(
        self, spec: WorkloadMigrationSpec, status: WorkloadMigrationStatus, generation: int
    ) -> None:
        meta = ObjectMeta(name=MIGRATION, uid="the-migration", generation=generation)
        object_ = WorkloadMigration(metadata=meta, spec=spec, status=status)
        self._put_custom(kinds.WORKLOAD_MIGRATION, MIGRATION, "", object_, generation)

    def end_migration(self) -> None:
        """Somebody deletes it."""
        for row in self.customs(kinds.WORKLOAD_MIGRATION):
            self.remove(row, kinds.WORKLOAD_MIGRATION)

    def write_placement(self, namespace: str, spec: WorkloadPlacementSpec) -> None:
        known = self.placement(namespace)
        object_ = WorkloadPlacement(spec=spec)
        generation = known.generation + 1 if known else 1
        uid = known.uid if known else f"placement-{namespace}-{self.number()}"
        self._put_custom(kinds.WORKLOAD_PLACEMENT, PLACEMENT, namespace, object_, generation, uid)

    def placements(self) -> list[Custom]:
        return self.customs(kinds.WORKLOAD_PLACEMENT)

    def placement(self, namespace: str) -> Custom | None:
        found = (one for one in self.placements() if one.namespace == namespace)
        return next(found, None)

    def _put_custom(
        self, kind: Kind, name: str, namespace: str, object_: Any, generation: int = 1, uid: str = ""
    ) -> None:
        uid = uid or f"{kind.kind}/{namespace}/{name}"
        row = make(Custom, name, namespace=namespace, uid=uid, generation=generation, object=object_)
        self.put(row, kind)

    # --- asking ---

    def pods(self, id_: WorkloadId) -> list[Pod]:
        """Its pods that are not on their way out."""
        mine = [pod for pod in self.all(Pod) if pod.namespace == id_.namespace and not pod.deleting]
        return [pod for pod in mine if pod.labels.get("app") == id_.name]

    def versions(self, id_: WorkloadId) -> list[str]:
        """The versions of the nodes that its pods are on."""
        versions = {node.name: node.kubelet_version for node in self.all(Node)}
        return sorted(versions.get(pod.node, "nowhere") for pod in self.pods(id_))

    def selecting(self, pod: Pod) -> list[PodDisruptionBudget]:
        """The budgets that cover a pod."""
        return [
            one
            for one in self.all(PodDisruptionBudget)
            if one.namespace == pod.namespace and one.selector and one.selector.matches(pod.labels)
        ]

    def covered(self, budget: PodDisruptionBudget) -> list[Pod]:
        """The pods that a budget covers and that are not on their way out."""
        selector, here = budget.selector, budget.namespace
        if selector is None:
            return []
        pods = (pod for pod in self.all(Pod) if pod.namespace == here and not pod.deleting)
        return [pod for pod in pods if selector.matches(pod.labels)]

    def pass_time(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def _reference(id_: WorkloadId) -> WorkloadRef:
    return WorkloadRef(kind=WorkloadKind(id_.kind), name=id_.name, namespace=id_.namespace)


def a_world(mode: Mode = Mode.INJECT, pace: Pace | None = None, **spec: Any) -> World:
    """A cluster with two old nodes, and a migration that has nothing to do yet."""
    world = World(pace)
    world.node("old-1")
    world.node("old-2")
    world.migrate(mode=mode, **spec)
    return world
