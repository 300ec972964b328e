"""Whether whoever waits for the end of a move may go on, never too early: from the WorkloadMigration, unless
nodes say that its status is of another time.

MOVED     the operator has seen the spec as it is, and every workload is on nodes of the target
GIVEN_UP  aborted or being deleted: workloads stay where they are; or no node is in scope to move them to
NOT_YET   everything else, also what is stalled: somebody may help
"""

from __future__ import annotations

from collections.abc import Iterable

from shiplift.api.values import ConditionStatus, selector_of
from shiplift.api.workloads import MigrationState, WorkloadMigration
from shiplift.facts.nodes import Node
from shiplift.view.section import Arrival
from shiplift.workloads.model import Reason
from shiplift.workloads.names import MIGRATION
from shiplift.workloads.target import counted

_MOST_VERSIONS = 64
"""A status has room for so many."""
_UNSETTLED = ("Reconciling", "Stalled")


def arrival(migration: WorkloadMigration) -> Arrival:
    if migration.spec.abort or migration.metadata.deletion_timestamp:
        return Arrival.GIVEN_UP
    if migration.status.observed_generation < migration.metadata.generation:
        return Arrival.NOT_YET
    if is_nowhere(migration):
        return Arrival.GIVEN_UP
    moved = _all_there(migration) if _moves(migration) else _nothing_to_move(migration)
    return Arrival.MOVED if moved else Arrival.NOT_YET


def is_at_rest(migration: WorkloadMigration) -> bool:
    """Whether there is nothing to abort: an operator has seen the spec as it is, nothing is to be moved, and
    nothing of ours is left."""
    seen = bool(migration.status.observed_generation)
    return seen and not _moves(migration) and arrival(migration) is Arrival.MOVED


def is_nowhere(migration: WorkloadMigration) -> bool:
    """Whether no node is in scope."""
    said = migration.status.conditions
    return any(one.reason == Reason.NO_NODES and one.status is ConditionStatus.TRUE for one in said)


def _moves(migration: WorkloadMigration) -> bool:
    return migration.status.state is MigrationState.UPGRADE


def _all_there(migration: WorkloadMigration) -> bool:
    return migration.status.progress.done >= migration.status.progress.total


def _nothing_to_move(migration: WorkloadMigration) -> bool:
    conditions = migration.status.conditions
    return not any(one.type in _UNSETTLED and one.status is ConditionStatus.TRUE for one in conditions)


def contradicted(migration: WorkloadMigration, nodes: Iterable[Node]) -> str:
    """What the nodes say against its status: versions that it does not know yet, or any more."""
    seen = {one[:256] for one in counted(nodes, selector_of(migration.spec.node_selector))}
    told = {one.version for one in migration.status.versions}
    status = f"the status of WorkloadMigration {MIGRATION}"
    if len(told) < _MOST_VERSIONS and (new := sorted(seen - told)):
        return f"nodes run {new[0]}, which {status} does not tell of yet"
    if gone := sorted(told - seen):
        return f"no node runs {gone[0]} any more, which {status} still tells of"
    return ""
