"""What the layer `workloads` is doing, as its objects tell: which pods are not to be evicted by anybody else.

While workloads are moved, pods of a workload that a WorkloadPlacement lists are held, or are being moved by
that layer, until they are on a target node. Of a namespace without a placement the status of the
WorkloadMigration tells: in mode Template there are none, and a pod that tolerates target nodes may go; in
mode Inject somebody may have deleted it. Nodes are counted again when a pod of theirs has changed.

A migration that was made and has not told yet whose turn it is may hold any workload: until it has, nobody
else evicts pods of what it could move.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol, cast

from shiplift.api.marks import TARGET_LABEL, UPGRADE_TAINT, label_value
from shiplift.api.placements import Turn, WorkloadPlacement
from shiplift.api.workloads import (
    MIGRATION_STARTS,
    MigrationState,
    Mode,
    WorkloadMigration,
    WorkloadState,
    WorkloadStatus,
)
from shiplift.drain.holds import owner_key
from shiplift.facts.custom import Custom
from shiplift.facts.nodes import Node, Taint
from shiplift.facts.pods import Pod, tolerated
from shiplift.nodes.model import Migration

NO_MIGRATION = Migration()


class Pods(Protocol):
    """What is asked of a snapshot."""

    def pods_on(self, node: str) -> Iterator[Pod]: ...


class Moving(NamedTuple):
    """A move of workloads that is under way."""

    target: str
    emptying: str
    template: bool
    turns: Mapping[str, Mapping[str, Turn]]
    """By namespace, then by owner."""
    starting: bool = False
    """Whether it has not told yet whose turn it is."""

    def turn(self, pod: Pod) -> Turn | None:
        """Whether a pod that is on an old node is held or moved; None where anybody may evict it."""
        if self.starting:
            return Turn.HELD if owner_key(pod) and not pod.finished else None
        turns = self.turns.get(pod.namespace)
        if not turns or pod.finished or (turn := turns.get(owner_key(pod))) is None:
            return None
        return None if self.template and tolerated(pod.spec.tolerations, self._taint) else turn

    def word(self, pod: Pod) -> str:
        """Why nobody else may evict a pod that is on an old node; empty where anybody may."""
        if (turn := self.turn(pod)) is None:
            return ""
        why = "is being moved" if turn is Turn.RELEASED else "waits for its turn to be moved"
        if self.starting:
            why = "waits until WorkloadMigration cluster has told whose turn it is"
        return f"pod {pod.namespace}/{pod.name} {why}"

    def is_target(self, node: Node) -> bool:
        """Whether the node is one that pods are moved to."""
        return node.labels.get(TARGET_LABEL) == label_value(self.target)

    @property
    def _taint(self) -> Taint:
        return Taint(UPGRADE_TAINT, label_value(self.target), "NoSchedule")


def moving(migration: WorkloadMigration | None, placements: Iterable[Custom]) -> Moving | None:
    """The move that is under way; None where none is."""
    if migration is None or migration.spec.abort:
        return None
    status = migration.status
    if _is_starting(migration):
        return Moving(status.target or "", "", False, {}, starting=True)
    if status.state is not MigrationState.UPGRADE or status.target is None:
        return None
    template = status.mode is Mode.TEMPLATE
    turns = _listed(status.workloads) | ({} if template else _placed(placements))
    return Moving(status.target, status.emptying, template, turns)


def _is_starting(migration: WorkloadMigration) -> bool:
    """Its first status says that it starts; the next comes after its placements."""
    about, status = migration.metadata, migration.status
    if about.deletion_timestamp:
        return False
    if status.state is not MigrationState.UPGRADE:
        return status.observed_generation < about.generation
    return any((one.type, one.reason) == ("Ready", MIGRATION_STARTS) for one in status.conditions)


def _placed(placements: Iterable[Custom]) -> dict[str, Mapping[str, Turn]]:
    return {row.namespace: cast("WorkloadPlacement", row.object).spec.turns for row in placements}


def _listed(workloads: Iterable[WorkloadStatus]) -> dict[str, Mapping[str, Turn]]:
    found: dict[str, dict[str, Turn]] = {}
    for one in workloads:
        moved = one.state in (WorkloadState.RELEASED, WorkloadState.MOVING)
        owner = f"{one.kind}.{one.name}"
        found.setdefault(one.namespace, {})[owner] = Turn.RELEASED if moved else Turn.HELD
    return {**found}


class Holding:
    """Which old nodes hold pods of workloads that are moved; each look costs as much as has changed."""

    def __init__(self) -> None:
        self._moving: Moving | None = None
        self._told = NO_MIGRATION

    def is_still(
        self, told: Migration, pods: Pods, nodes: Mapping[str, Node], changed: Iterable[str]
    ) -> bool:
        """Whether that is what there is to know, now that pods on these nodes have changed."""
        return self.look(pods, self._moving, nodes, changed) is told

    def look(
        self, pods: Pods, moving: Moving | None, nodes: Mapping[str, Node], changed: Iterable[str]
    ) -> Migration:
        """What there is to know; the same value as before where nothing is new. `changed` are the nodes that
        have changed, or of which pods have."""
        before, self._moving = self._moving, moving
        if moving is None:
            self._told = NO_MIGRATION
            return self._told
        anew = moving != before
        held = {} if anew else {name: word for name, word in self._told.holding.items() if name in nodes}
        for name in nodes if anew else changed:
            held.pop(name, None)
            node = nodes.get(name)
            if node is not None and (word := _held_on(pods, moving, node)):
                held[name] = word
        if anew or held != self._told.holding:
            self._told = Migration(moving.target, moving.emptying, held, moving.starting)
        return self._told


def _held_on(pods: Pods, moving: Moving, node: Node) -> str:
    """One of the pods that nobody else may evict, in words."""
    if moving.is_target(node):
        return ""
    words = (moving.word(pod) for pod in pods.pods_on(node.name) if not pod.deleting)
    return min(filter(None, words), default="")
