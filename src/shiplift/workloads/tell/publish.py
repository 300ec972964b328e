"""Writes what there is to tell: the status of the migration and of the orders, and Events on the
migration and on workloads.

What decisions depend on is written at once; progress that only people read, about once a second.
"""

from __future__ import annotations

from collections.abc import Iterator

from shiplift.api.workloads import (
    WorkloadMigration,
    WorkloadMigrationStatus,
    WorkloadState,
    WorkloadStatus,
)
from shiplift.engine.barrier import Barrier
from shiplift.engine.decision import Requeue
from shiplift.engine.layer import Retry
from shiplift.facts import kinds
from shiplift.kube.client import Client, Written
from shiplift.kube.errors import KubeError
from shiplift.kube.events import EventType, Recorder, Regarding
from shiplift.kube.statuses import Pace, Subject, barriers, put_off, write
from shiplift.workloads.decide.freshness import may_be_told
from shiplift.workloads.identity import WORKLOADS, WorkloadId
from shiplift.workloads.memory import Evictions
from shiplift.workloads.model import Migrating, Reason
from shiplift.workloads.names import MIGRATION
from shiplift.workloads.tell.happenings import happenings, of_workload
from shiplift.workloads.tell.orders import OrderStatuses
from shiplift.workloads.tell.report import WEIGHT, status_of


class Publisher:
    """Tells of decisions, one after the other."""

    def __init__(
        self, client: Client, recorder: Recorder, evictions: Evictions, pace: Pace | None = None
    ) -> None:
        self._client = client
        self._recorder = recorder
        self._evictions = evictions
        self._pace = pace or Pace()
        self._orders = OrderStatuses(client, self._pace.now)

    def publish(self, decision: Migrating) -> Iterator[Barrier | Requeue]:
        """Write what differs; what the store must show before the next decision."""
        if not may_be_told(decision):
            return
        try:
            yield from self._publish_migration(decision)
            yield from self._orders.publish(decision)
        except KubeError as error:
            raise Retry(f"the status cannot be written: {error}") from error

    def _publish_migration(self, decision: Migrating) -> Iterator[Barrier | Requeue]:
        migration = decision.view.migration
        if migration is None:
            return
        evicted = self._evictions.untold()
        before, after = migration.status, status_of(decision, evicted)
        if after == before:
            return
        if left := self._pace.left(WEIGHT, before, after):
            yield put_off(left)
            return
        began = self._pace.now()
        written = self._write(migration, after)
        if written is None:
            return
        self._pace.told(began)
        self._evictions.told(evicted)
        self._tell(decision, before, after)
        yield from barriers(written)

    def tell_evictions(self, decision: Migrating) -> None:
        """The status once more, whatever else there is to wait for: nobody of this term tells it later."""
        migration, evicted = decision.view.migration, self._evictions.untold()
        if migration is None or not decision.moving:
            return
        if self._write(migration, status_of(decision, evicted)) is not None:
            self._evictions.told(evicted)

    def _write(self, migration: WorkloadMigration, after: WorkloadMigrationStatus) -> Written | None:
        about = migration.metadata
        subject = Subject(kinds.WORKLOAD_MIGRATION, MIGRATION, about.uid, about.resource_version)
        return write(self._client, subject, migration.status, after)

    def _tell(
        self, decision: Migrating, before: WorkloadMigrationStatus, after: WorkloadMigrationStatus
    ) -> None:
        """One Event for each workload that came to another state, and few on the migration."""
        self._tell_migration(decision, before, after)
        earlier = {(one.kind.value, one.namespace, one.name): _matter(one) for one in before.workloads}
        for one in after.workloads:
            key = (one.kind.value, one.namespace, one.name)
            if earlier.get(key) != _matter(one) and (key in earlier or one.state is not WorkloadState.HELD):
                told = of_workload(one, earlier[key][0] if key in earlier else None)
                kind = EventType.WARNING if told.warning else EventType.NORMAL
                self._record(WorkloadId(*key), one.uid, told.reason, told.note, kind)
        fresh = set(after.met) - set(before.met)
        if fresh:
            for id_, tally in decision.view.tallies.items():
                if tally.row.uid in fresh:
                    note = f"all pods run on nodes of {after.target}"
                    self._record(id_, tally.row.uid, Reason.MOVED.value, note, EventType.NORMAL)

    def _tell_migration(
        self, decision: Migrating, before: WorkloadMigrationStatus, after: WorkloadMigrationStatus
    ) -> None:
        uid = decision.view.migration.metadata.uid if decision.view.migration else ""
        regarding = Regarding(kinds.WORKLOAD_MIGRATION, MIGRATION, uid=uid)
        for one in happenings(before, after):
            kind = EventType.WARNING if one.warning else EventType.NORMAL
            self._recorder.record(regarding, one.reason, one.note, action="Migrate", type=kind)

    def _record(self, id_: WorkloadId, uid: str, reason: str, note: str, kind: EventType) -> None:
        regarding = Regarding(WORKLOADS[id_.kind], id_.name, id_.namespace, uid)
        self._recorder.record(regarding, reason, note, action="Migrate", type=kind)


def _matter(one: WorkloadStatus) -> tuple[WorkloadState, str | None]:
    """What is worth an Event when it changes: the state, and for what is blocked, why."""
    return one.state, one.reason if one.state is WorkloadState.BLOCKED else None
