"""What Prometheus may ask about a migration: read from its status, so that the two never disagree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import cast

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shiplift.api.workloads import MigrationState, WorkloadMigration, WorkloadState
from shiplift.facts.kinds import WORKLOAD_MIGRATION
from shiplift.kube.store import Store
from shiplift.workloads.names import MIGRATION


class MigrationCollector(Collector):
    """Read at each scrape."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def collect(self) -> Iterator[Metric]:
        row = self._store.snapshot(WORKLOAD_MIGRATION).custom(WORKLOAD_MIGRATION, MIGRATION)
        migration = cast("WorkloadMigration", row.object) if row is not None else WorkloadMigration()
        status = migration.status
        active = status.state is MigrationState.UPGRADE
        yield _gauge("shiplift_migration_active", "1 while workloads are being moved.", active)
        yield _gauge("shiplift_migration_paused", "1 while nothing new is started.", migration.spec.paused)
        started = status.started_at.timestamp() if status.started_at else 0
        yield _gauge(
            "shiplift_migration_start_timestamp_seconds", "When it began; 0 when none runs.", started
        )
        pods = GaugeMetricFamily(
            "shiplift_migration_pods", "Pods of workloads that take part.", labels=["place"]
        )
        pods.add_metric(["target"], status.pods.done)
        pods.add_metric(["elsewhere"], status.pods.total - status.pods.done)
        yield pods
        yield self._workloads(migration)
        yield _gauge("shiplift_migration_moves", "Pods evicted for this target.", status.moves)
        yield _gauge(
            "shiplift_migration_order_exceptions",
            "Pods that moved before their turn.",
            len(status.exceptions),
        )

    def _workloads(self, migration: WorkloadMigration) -> Metric:
        family = GaugeMetricFamily("shiplift_migration_workloads", "Workloads by state.", labels=["state"])
        counts = Counter(one.state for one in migration.status.workloads)
        counts[WorkloadState.MET] = len(migration.status.met)
        for state in WorkloadState:
            family.add_metric([state.value], counts[state])
        return family


def _gauge(name: str, text: str, value: float) -> Metric:
    family = GaugeMetricFamily(name, text)
    family.add_metric([], value)
    return family
