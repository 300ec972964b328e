"""The names by which the parts of this layer know each other's objects; marks that other layers read are in
`api.marks`."""

from __future__ import annotations

from shiplift.api.marks import HOLD_PREFIX
from shiplift.api.workloads import WorkloadKind
from shiplift.engine.object_names import fitting

MIGRATION = "cluster"
"""The name of the one WorkloadMigration."""

FINALIZER = "shiplift.dev/undo"
"""On the WorkloadMigration for as long as something of ours may be in the cluster: it is not gone before all
is undone, by an operator or by `shiplift undo`. On a WorkloadPlacement for as long as it records what has to
be undone."""
SURGE_LEDGER = "shiplift.dev/surge-ledger"
"""The annotation on a pod that we put first to go; says what its deletion cost was."""
SKIP = "shiplift.dev/skip-migration"
"""The annotation by which a workload opts out, with the value `true`."""
GENERATION_IN_FORCE = "shiplift.dev/generation-in-force"
"""The annotation that only a dry run shows: which WorkloadPlacement the API server goes by. Policies of 0.1.0
answered under another key, so that what is left of them is never taken for an answer."""

PODS_POLICY = "shiplift-pods"
"""The admission policy of mode Inject that steers new pods, and answers which placement it goes by."""


def hold_name(kind: WorkloadKind, name: str) -> str:
    """The name of our PodDisruptionBudget for a workload: one of its own, however long its name is."""
    return fitting(f"{HOLD_PREFIX}{kind.lower()}-{name}")
