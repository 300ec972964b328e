"""Writes what there is to tell: the status of the migration and of the orders, and Events on workloads.

What decisions depend on is written at once; progress that only people read, about once a second.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, cast

import msgspec

from shiplift.api.values import Status
from shiplift.api.workloads import (
    WorkloadMigration,
    WorkloadMigrationStatus,
    WorkloadOrder,
    WorkloadState,
    WorkloadStatus,
)
from shiplift.engine.barrier import Barrier
from shiplift.engine.decision import Requeue, requeue
from shiplift.engine.layer import Retry
from shiplift.facts import kinds
from shiplift.kube.client import Client, Written
from shiplift.kube.errors import Conflict, KubeError, NotFound
from shiplift.kube.events import EventType, Recorder, Regarding
from shiplift.workloads.identity import WORKLOADS, WorkloadId
from shiplift.workloads.memory import Evictions
from shiplift.workloads.model import Migrating, Reason
from shiplift.workloads.names import MIGRATION
from shiplift.workloads.tell.order_status import order_status
from shiplift.workloads.tell.report import only_progress, pressing, status_of

_EVERY = 1.0
"""Seconds between two tellings of what no decision waits for."""
_REST, _LONGEST_REST = 8, 5.0
"""Writing the status of many workloads is dear for the API server: after a telling that took a second, mere
progress is not told for that many, up to so many seconds."""


class Publisher:
    """Tells of decisions, one after the other."""

    def __init__(self, client: Client, recorder: Recorder, evictions: Evictions) -> None:
        self._client = client
        self._recorder = recorder
        self._evictions = evictions
        self._next = self._next_progress = float("-inf")
        """When what no decision waits for may be told again, and when mere progress."""

    def publish(self, decision: Migrating) -> Iterator[Barrier | Requeue]:
        """Write what differs; what the store must show before the next decision."""
        try:
            yield from self._publish_migration(decision)
            yield from self._publish_orders(decision)
        except KubeError as error:
            raise Retry(f"the status cannot be written: {error}") from error

    def _publish_orders(self, decision: Migrating) -> Iterator[Barrier | Requeue]:
        """Only while everything is counted: without that nobody knows what is missing."""
        if not decision.moving:
            return
        for row in decision.view.orders:
            before = cast("WorkloadOrder", row.object).status
            after = order_status(row, decision.view.order, decision.now)
            if after == before:
                continue
            try:
                written = self._client.patch(
                    kinds.WORKLOAD_ORDER,
                    row.name,
                    {"status": _as_patch(before, after)},
                    row.namespace,
                    uid=row.uid,
                    resource_version=str(row.resource_version),
                    subresource="status",
                )
            except (Conflict, NotFound):
                continue
            if written.barrier:
                yield written.barrier

    def _publish_migration(self, decision: Migrating) -> Iterator[Barrier | Requeue]:
        migration = decision.view.migration
        if migration is None:
            return
        evicted = self._evictions.untold()
        before, after = migration.status, status_of(decision, evicted)
        if after == before:
            return
        now = time.monotonic()
        due = self._next_progress if only_progress(before, after) else self._next
        if now < due and not pressing(before, after):
            yield requeue(timedelta(seconds=due - now))
            return
        try:
            written = self._write(migration, after)
        except (Conflict, NotFound):
            # somebody changed it meanwhile: the next look sees what they wrote
            return
        took = time.monotonic() - now
        self._next = now + _EVERY
        self._evictions.told(evicted)
        self._next_progress = max(self._next, now + took + min(_REST * took, _LONGEST_REST))
        self._tell(decision, before, after)
        if written.barrier:
            yield written.barrier

    def tell_evictions(self, decision: Migrating) -> None:
        """The status once more, whatever else there is to wait for: nobody of this term tells it later."""
        migration, evicted = decision.view.migration, self._evictions.untold()
        if migration is not None and decision.moving:
            self._write(migration, status_of(decision, evicted))
            self._evictions.told(evicted)

    def _write(self, migration: WorkloadMigration, after: WorkloadMigrationStatus) -> Written:
        return self._client.patch(
            kinds.WORKLOAD_MIGRATION,
            MIGRATION,
            {"status": _as_patch(migration.status, after)},
            uid=migration.metadata.uid,
            resource_version=migration.metadata.resource_version,
            subresource="status",
        )

    def _tell(
        self, decision: Migrating, before: WorkloadMigrationStatus, after: WorkloadMigrationStatus
    ) -> None:
        """One Event for each workload that came to another state."""
        earlier = {(one.kind.value, one.namespace, one.name): _matter(one) for one in before.workloads}
        for one in after.workloads:
            key = (one.kind.value, one.namespace, one.name)
            if earlier.get(key) != _matter(one) and (key in earlier or one.state is not WorkloadState.HELD):
                kind = EventType.WARNING if one.state is WorkloadState.BLOCKED else EventType.NORMAL
                self._record(WorkloadId(*key), one.uid, one.reason or one.state, one.message, kind)
        fresh = set(after.met) - set(before.met)
        if fresh:
            for id_, tally in decision.view.tallies.items():
                if tally.row.uid in fresh:
                    note = f"all pods run on nodes of {after.target}"
                    self._record(id_, tally.row.uid, Reason.MOVED.value, note, EventType.NORMAL)

    def _record(self, id_: WorkloadId, uid: str, reason: str, note: str, kind: EventType) -> None:
        regarding = Regarding(WORKLOADS[id_.kind], id_.name, id_.namespace, uid)
        self._recorder.record(regarding, reason, note or reason, action="Migrate", type=kind)


def _matter(one: WorkloadStatus) -> tuple[WorkloadState, str | None]:
    """What is worth an Event when it changes: the state, and for what is blocked, why."""
    return one.state, one.reason if one.state is WorkloadState.BLOCKED else None


def _as_patch(before: Status, after: Status) -> dict[str, Any]:
    """A merge patch: what is no longer said is taken out."""
    old: dict[str, Any] = msgspec.to_builtins(before)
    new: dict[str, Any] = msgspec.to_builtins(after)
    return {**{key: None for key in old if key not in new}, **_changed(old, new)}


def _changed(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Lists and values that differ; maps are replaced whole, with what went from them taken out."""
    changed: dict[str, Any] = {}
    for key, value in new.items():
        if key in old and old[key] == value:
            continue
        if isinstance(value, dict):
            had = cast("dict[str, Any]", old.get(key) or {})
            gone: dict[str, Any] = {one: None for one in had if one not in value}
            changed[key] = {**gone, **value}
        else:
            changed[key] = value
    return changed
