"""A cluster in memory, and the journal that is kept of it: what is written is read by the next leader."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from benchmarks.rows import make
from shiplift.api.base import ObjectMeta
from shiplift.api.nodes import NodeRollout, NodeRolloutSpec, NodeRolloutStatus, NodeStatus
from shiplift.api.upgrade import (
    Desired,
    Granted,
    HistoryEntry,
    Request,
    UpgradeConfig,
    UpgradeConfigSpec,
    UpgradeConfigStatus,
    UpgradePhase,
)
from shiplift.api.workloads import MigrationState, WorkloadMigration, WorkloadMigrationStatus
from shiplift.engine.step import Outcomes
from shiplift.facts import kinds
from shiplift.facts.meta import Labels, Owner
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod
from shiplift.facts.workloads import Deployment
from shiplift.journal.decide import decide
from shiplift.journal.model import Chapter, Journal, Keeping, KeepJournal, View
from shiplift.journal.observe import Observer
from shiplift.journal.story import READS
from shiplift.journal.writing import read, written
from tests.model.world import NEW, OLD, SPACE, World

START = datetime(2026, 11, 1, 12, tzinfo=UTC)


class Shelf:
    """Where journals are kept, without a cluster: the text, and who has read it."""

    def __init__(self) -> None:
        self.text = ""
        self.writes = 0


class Reading:
    """What one leader makes of the shelf; as `Book`."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf, self._kept = shelf, read(shelf.text)
        self.kept_at: datetime | None = None

    def kept(self) -> Journal:
        return self._kept

    def keep(self, journal: Journal, now: datetime) -> None:
        self._shelf.text, self._kept, self.kept_at = written(journal), journal, now
        self._shelf.writes += 1


class Desk:
    """The cluster, the clock, and at most one leader who writes."""

    def __init__(self) -> None:
        self.world, self.shelf = World((*READS, kinds.NAMESPACE)), Shelf()
        self.now = START
        self._pods = 0
        self.world.listeners.append(self._heard)
        self.lead()

    def lead(self) -> None:
        """A new leader, who knows nothing but what was kept."""
        self.book = Reading(self.shelf)
        self.observer = Observer(self.world, self.book, lambda: self.now)  # pyright: ignore[reportArgumentType]

    def _heard(self, kind: Any, old: Any, new: Any) -> None:
        self.observer.heard(kind, old, new)

    def look(self) -> tuple[View, Keeping]:
        """One round."""
        view = self.observer.observe(Outcomes())
        decision = decide(view, self.now)
        for step in decision.steps:
            assert isinstance(step, KeepJournal)
            self.book.keep(step.journal, self.now)
        return view, decision

    def told(self) -> Chapter:
        """The newest chapter, as it is known now."""
        return self.look()[0].journal.chapters[0]

    def stored(self) -> Journal:
        return read(self.shelf.text)

    def later(self, seconds: float = 10) -> None:
        self.now += timedelta(seconds=seconds)

    # --- what there is ---

    def node(self, name: str, version: str = OLD, **given: Any) -> Node:
        known = self.world.named(Node, name, "")
        if known is None:
            return self.world.node(name, version, **given)
        usual = {"unschedulable": False, "ready": True}
        return self.world.put(msgspec.structs.replace(known, kubelet_version=version, **usual | given))

    def deployment(self, name: str, replicas: int) -> None:
        known = self.world.named(Deployment, name)
        if known is None:
            self.world.owner(Deployment, name, replicas)
        else:
            self.world.put(msgspec.structs.replace(known, replicas=replicas))

    def pod(self, of: str, *, ready: bool = True, node: str = "n", **given: Any) -> Pod:
        self._pods += 1
        usual: dict[str, Any] = {
            "owners": (Owner("ReplicaSet", f"{of}-5d", f"rs-{of}", controller=True),),
            "labels": Labels({"app": of, "pod-template-hash": "5d"}),
            "created": int(self.now.timestamp()),
        }
        made = make(Pod, f"{of}-{self._pods}", namespace=SPACE, ready=ready, node=node, **usual | given)
        return self.world.put(made)

    def change(self, pod: Pod, **given: Any) -> Pod:
        return self.world.put(msgspec.structs.replace(pod, **given))

    def upgrade(
        self,
        *,
        runs: bool = True,
        requests: tuple[Request, ...] = (),
        approved: Granted | None = None,
        **status: Any,
    ) -> None:
        """The UpgradeConfig, running since the start or over."""
        phase = UpgradePhase.UPGRADING if runs else UpgradePhase.UPGRADED
        entry = HistoryEntry(
            version=NEW,
            phase=phase,
            preceding_version=OLD,
            start_time=START,
            complete_time=None if runs else self.now,
        )
        told = UpgradeConfigStatus(
            phase=phase,
            target_version=NEW if runs else None,
            start_time=START,
            history=(entry,),
            **status,
        )
        made = UpgradeConfig(
            metadata=ObjectMeta(name="cluster", uid="u"),
            spec=UpgradeConfigSpec(desired=Desired(version=NEW), requests=requests, approved=approved),
            status=told,
        )
        self.world.put_custom(kinds.UPGRADE_CONFIG, "cluster", "", made, uid="u")

    def rollout(self, *records: NodeStatus, **status: Any) -> None:
        made = NodeRollout(
            metadata=ObjectMeta(name="r", uid="r"),
            spec=NodeRolloutSpec(version=NEW),
            status=NodeRolloutStatus(nodes=records, **status),
        )
        self.world.put_custom(kinds.NODE_ROLLOUT, "r", "", made, uid="r")

    def migrate(self, state: MigrationState = MigrationState.UPGRADE, **status: Any) -> None:
        told = WorkloadMigrationStatus(state=state, target=NEW, started_at=START, **status)
        made = WorkloadMigration(metadata=ObjectMeta(name="cluster", uid="m"), status=told)
        self.world.put_custom(kinds.WORKLOAD_MIGRATION, "cluster", "", made, uid="m")

    def gone(self, kind: kinds.Kind) -> None:
        for row in self.world.customs(kind):
            self.world.remove(row, kind)
