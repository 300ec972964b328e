"""What Prometheus may ask about a migration: read from its status, so that the two never disagree."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import cast

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shiplift.api.values import duration
from shiplift.api.workloads import MigrationState, WorkloadMigration, WorkloadState, WorkloadStatus
from shiplift.engine.progress import overdue
from shiplift.facts.kinds import POD_DISRUPTION_BUDGET, WORKLOAD_MIGRATION
from shiplift.facts.workloads import PodDisruptionBudget
from shiplift.kube.store import Store
from shiplift.pdb.holds import is_hold, is_made_by_us
from shiplift.workloads.model import Reason
from shiplift.workloads.names import MIGRATION

_MOST_BUDGETS = 100
_ASKED_FOR = (Reason.SOAKING.value, Reason.PAUSED.value)
"""Reasons of lines that wait for as long as somebody said."""


class MigrationCollector(Collector):
    """Read at each scrape."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store, self._clock = store, clock

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
        yield _gauge(
            "shiplift_migration_overdue_workloads",
            "Workloads on their way that have made no progress for longer than progressDeadline.",
            self._overdue(migration),
        )
        yield self._held_budgets()
        yield _gauge("shiplift_migration_moves", "Pods evicted for this target.", status.moves)
        yield _gauge(
            "shiplift_migration_order_exceptions",
            "Pods that moved before their turn.",
            len(status.exceptions),
        )

    def _workloads(self, migration: WorkloadMigration) -> Metric:
        family = GaugeMetricFamily("shiplift_migration_workloads", "Workloads by state.", labels=["state"])
        counts = Counter(one.state for one in migration.status.workloads)
        waiting = {one.uid for one in migration.status.workloads}
        counts[WorkloadState.MET] = sum(uid not in waiting for uid in migration.status.met)
        for state in WorkloadState:
            family.add_metric([state.value], counts[state])
        return family

    def _overdue(self, migration: WorkloadMigration) -> int:
        now = datetime.fromtimestamp(self._clock(), UTC)
        deadline = duration(migration.spec.progress_deadline)
        waiting = (one for one in migration.status.workloads if _should_get_on(one))
        return sum(one.since is not None and overdue(one.since, now, deadline) is not None for one in waiting)

    def _held_budgets(self) -> Metric:
        """The first of them by name: an alert needs one that is still held, however many there were."""
        family = GaugeMetricFamily(
            "shiplift_held_budget",
            "A user's PodDisruptionBudget that is held in place, at most the first hundred.",
            labels=["budget_namespace", "budget"],
        )
        rows = self._store.snapshot(POD_DISRUPTION_BUDGET).all(PodDisruptionBudget)
        held = sorted((one.namespace, one.name) for one in rows if is_hold(one) and not is_made_by_us(one))
        for labels in held[:_MOST_BUDGETS]:
            family.add_metric(labels, 1)
        return family


def _should_get_on(one: WorkloadStatus) -> bool:
    """Whether its line tells of something that takes longer than it should: not of a turn that has not come,
    nor of a time that somebody asked for."""
    return one.state is not WorkloadState.HELD and one.reason not in _ASKED_FOR


def _gauge(name: str, text: str, value: float) -> Metric:
    family = GaugeMetricFamily(name, text)
    family.add_metric([], value)
    return family
