"""Whether whoever waits for the end of a move may go on: from the WorkloadMigration alone, never too early.

MOVED     the operator has seen the spec as it is, and every workload is on nodes of the target
GIVEN_UP  aborted or being deleted: workloads stay where they are
NOT_YET   everything else, also what is stalled: somebody may help
"""

from __future__ import annotations

from shiplift.api.values import ConditionStatus
from shiplift.api.workloads import MigrationState, WorkloadMigration
from shiplift.view.section import Arrival

_UNSETTLED = ("Reconciling", "Stalled")


def arrival(migration: WorkloadMigration) -> Arrival:
    if migration.spec.abort or migration.metadata.deletion_timestamp:
        return Arrival.GIVEN_UP
    if migration.status.observed_generation < migration.metadata.generation:
        return Arrival.NOT_YET
    moved = _all_there(migration) if _moves(migration) else _nothing_to_move(migration)
    return Arrival.MOVED if moved else Arrival.NOT_YET


def _moves(migration: WorkloadMigration) -> bool:
    return migration.status.state is MigrationState.UPGRADE


def _all_there(migration: WorkloadMigration) -> bool:
    return migration.status.progress.done >= migration.status.progress.total


def _nothing_to_move(migration: WorkloadMigration) -> bool:
    conditions = migration.status.conditions
    return not any(one.type in _UNSETTLED and one.status is ConditionStatus.TRUE for one in conditions)
