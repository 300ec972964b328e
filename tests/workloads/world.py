"""The cluster in memory with a migration: our own objects, and what our policies do by them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import msgspec

from benchmarks.rows import make
from shiplift.api.base import ObjectMeta
from shiplift.api.marks import OFF_TARGET_LABEL, TARGET_LABEL
from shiplift.api.orders import OrderedWorkload, WorkloadOrder, WorkloadOrderSpec, WorkloadRef
from shiplift.api.placements import PLACEMENT, Turn, WorkloadPlacement, WorkloadPlacementSpec
from shiplift.api.values import selector_of
from shiplift.api.workloads import (
    MigrationState,
    Mode,
    WorkloadKind,
    WorkloadMigration,
    WorkloadMigrationSpec,
    WorkloadMigrationStatus,
)
from shiplift.facts import kinds
from shiplift.facts.custom import Custom
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.facts.pods import PodSpec
from shiplift.facts.selectors import NodeTerm, Requirement
from shiplift.facts.workloads import Deployment, ReplicaSet, StatefulSet
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.model import Target
from shiplift.workloads.names import MIGRATION
from shiplift.workloads.observe.observer import READS
from shiplift.workloads.target import marks, role
from tests.model import world as model
from tests.model.world import NEW, OLD, SPACE

__all__ = ["NEW", "OLD", "SPACE", "Pace", "World", "a_world"]


class Pace(model.Pace, frozen=True):
    """What takes until the next tick instead of happening at once."""

    params: bool = False
    """The API server goes by a changed placement."""


class World(model.World):
    """The cluster of a migration."""

    pace: Pace

    def __init__(self, pace: Pace | None = None) -> None:
        self.inject = True
        self.params: dict[str, Custom] = {}
        """The placements that the API server goes by, by namespace."""
        self.steers = self.answers = True
        """Whether new pods get our rule, and whether the API server tells which placement it goes by."""
        super().__init__(READS, pace or Pace())

    # --- what our policies do ---

    def admit_node(self, node: Node) -> Node:
        """While a migration runs a node has its marks from birth."""
        return self.marked(node)

    def admit_pod(self, owner: ReplicaSet | StatefulSet, spec: PodSpec) -> PodSpec:
        """Pods of held workloads stay off target nodes, those of released ones off all others."""
        placement = self.params.get(owner.namespace)
        if placement is None or not self.steers:
            return spec
        said = cast("WorkloadPlacement", placement.object).spec
        turn = said.turns.get(_owner_key(owner))
        if turn is None:
            return spec
        key = TARGET_LABEL if turn is Turn.HELD else OFF_TARGET_LABEL
        asked = Requirement(key, "NotIn", (said.target,))
        terms = spec.node_terms or (NodeTerm(),)
        both = tuple(NodeTerm((*term.labels, asked), term.fields) for term in terms)
        return msgspec.structs.replace(spec, node_terms=both)

    def learn(self) -> None:
        """The API server hears of placements."""
        self.params = {row.namespace: row for row in self.customs(kinds.WORKLOAD_PLACEMENT)}

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

    # --- what users make ---

    def workload(
        self, kind: WorkloadKind, name: str, replicas: int = 1, namespace: str = SPACE, **given: Any
    ) -> WorkloadId:
        type_ = Deployment if kind is WorkloadKind.DEPLOYMENT else StatefulSet
        self.owner(type_, name, replicas, namespace, **given)
        return WorkloadId(kind.value, namespace, name)

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
            self.put_custom(kinds.WORKLOAD_ORDER, name, namespace, object_)

    # --- our own objects ---

    @property
    def migration(self) -> WorkloadMigration | None:
        row = next(iter(self.customs(kinds.WORKLOAD_MIGRATION)), None)
        return None if row is None else cast("WorkloadMigration", row.object)

    def migrate(self, **spec: Any) -> None:
        """Make the WorkloadMigration, or change what it says."""
        known = self.migration or WorkloadMigration()
        wanted = msgspec.structs.replace(known.spec, **spec)
        about = msgspec.structs.replace(known.metadata, generation=known.metadata.generation + 1)
        self._write_migration(about, wanted, known.status)

    def publish(self, status: WorkloadMigrationStatus) -> None:
        known = self.migration
        if known is not None:
            self._write_migration(known.metadata, known.spec, status)

    def finalize(self, *finalizers: str) -> None:
        """These finalizers are on the WorkloadMigration; one that is being deleted goes with the last."""
        known = self.migration
        if known is None:
            return
        about = msgspec.structs.replace(known.metadata, finalizers=finalizers)
        self._write_migration(about, known.spec, known.status)
        if about.deletion_timestamp is not None and not finalizers:
            self._drop_migration()

    def _write_migration(
        self, about: ObjectMeta, spec: WorkloadMigrationSpec, status: WorkloadMigrationStatus
    ) -> None:
        meta = msgspec.structs.replace(about, name=MIGRATION, uid="the-migration")
        object_ = WorkloadMigration(metadata=meta, spec=spec, status=status)
        self.put_custom(kinds.WORKLOAD_MIGRATION, MIGRATION, "", object_, meta.generation)

    def end_migration(self) -> None:
        """Somebody deletes it: it goes at once, or with its last finalizer."""
        known = self.migration
        if known is None or not known.metadata.finalizers:
            self._drop_migration()
        else:
            about = msgspec.structs.replace(known.metadata, deletion_timestamp=self.now)
            self._write_migration(about, known.spec, known.status)

    def _drop_migration(self) -> None:
        for row in self.customs(kinds.WORKLOAD_MIGRATION):
            self.remove(row, kinds.WORKLOAD_MIGRATION)

    def write_placement(
        self, namespace: str, spec: WorkloadPlacementSpec, finalizers: tuple[str, ...] | None = None
    ) -> None:
        """With the finalizers that it has, unless others are given; deleted, it goes with the last."""
        known = self.placement(namespace) or make(
            Custom,
            PLACEMENT,
            namespace=namespace,
            uid=f"placement-{namespace}-{self.number()}",
            generation=0,
            object=None,
        )
        row = msgspec.structs.replace(
            known,
            generation=known.generation + 1,
            object=WorkloadPlacement(spec=spec),
            finalizers=known.finalizers if finalizers is None else finalizers,
        )
        if row.deleting and not row.finalizers:
            self.remove(known, kinds.WORKLOAD_PLACEMENT)
        else:
            self.put(row, kinds.WORKLOAD_PLACEMENT)

    def end_placement(self, namespace: str) -> None:
        """Somebody deletes it: it goes at once, or with its last finalizer."""
        known = self.placement(namespace)
        if known is None or not known.finalizers:
            for row in [known] if known else []:
                self.remove(row, kinds.WORKLOAD_PLACEMENT)
        elif not known.deleting:
            gone = msgspec.structs.replace(
                known, generation=known.generation + 1, deleting=int(self.now.timestamp())
            )
            self.put(gone, kinds.WORKLOAD_PLACEMENT)

    def placements(self) -> list[Custom]:
        return self.customs(kinds.WORKLOAD_PLACEMENT)

    def placement(self, namespace: str) -> Custom | None:
        found = (one for one in self.placements() if one.namespace == namespace)
        return next(found, None)


def _owner_key(owner: ReplicaSet | StatefulSet) -> str:
    if isinstance(owner, StatefulSet):
        return f"{WorkloadKind.STATEFUL_SET}.{owner.name}"
    return f"{WorkloadKind.DEPLOYMENT}.{owner.name.rpartition('-')[0]}"


def _reference(id_: WorkloadId) -> WorkloadRef:
    return WorkloadRef(kind=WorkloadKind(id_.kind), name=id_.name, namespace=id_.namespace)


def a_world(mode: Mode = Mode.INJECT, pace: Pace | None = None, **spec: Any) -> World:
    """A cluster with two old nodes, and a migration that has nothing to do yet."""
    world = World(pace)
    world.node("old-1")
    world.node("old-2")
    world.migrate(mode=mode, **spec)
    return world
