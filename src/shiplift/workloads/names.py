"""The names by which the parts of this layer know each other's marks in a cluster.

Labels and taints carry the target as their value, so that a mark left behind, or one of an earlier migration,
is never taken for one of the current migration.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache

from shiplift.api.workloads import PLACEMENT as PLACEMENT  # noqa: PLC0414 - handed on
from shiplift.api.workloads import WorkloadKind

MIGRATION = "cluster"
"""The name of the one WorkloadMigration."""

TARGET_LABEL = "shiplift.dev/target-version"
"""On nodes in scope that run the target version."""
OFF_TARGET_LABEL = "shiplift.dev/off-target"
"""On nodes in scope that run another version."""
UPGRADE_TAINT = "shiplift.dev/upgrade"
"""Mode Template, NoSchedule: only what was released may go to the target nodes."""
OFF_TARGET_TAINT = "shiplift.dev/off-target"
"""Mode Template, PreferNoSchedule: released pods rather go to the target nodes."""

HOLD_LEDGER = "shiplift.dev/hold-ledger"
"""The annotation on a user's PodDisruptionBudget that says how it was before we held it."""
SURGE_LEDGER = "shiplift.dev/surge-ledger"
"""The annotation on a pod that we put first to go; says what its deletion cost was."""
SKIP = "shiplift.dev/skip-migration"
"""The annotation by which a workload opts out, with the value `true`."""
GENERATION_IN_FORCE = "shiplift.dev/generation-in-force"
"""The annotation that only a dry run shows: which WorkloadPlacement the API server goes by. Policies of 0.1.0
answered under another key, so that what is left of them is never taken for an answer."""

MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "shiplift"
"""The value of `MANAGED_BY` on all that we make."""

HOLD_PREFIX = "shiplift-hold-"
_LONGEST_NAME = 253
_DIGEST = 16


@lru_cache(256)
def label_value(version: str) -> str:
    """A version as the value of a label or taint."""
    return version.replace("+", "_").rstrip("-_.")


def is_made_hold(labels: Mapping[str, str], name: str) -> bool:
    """Whether a PodDisruptionBudget was made by us to hold a workload."""
    return labels.get(MANAGED_BY) == MANAGER and name.startswith(HOLD_PREFIX)


def hold_name(kind: WorkloadKind, name: str) -> str:
    """The name of our PodDisruptionBudget for a workload: one of its own, however long its name is."""
    full = f"{HOLD_PREFIX}{kind.lower()}-{name}"
    if len(full) <= _LONGEST_NAME:
        return full
    digest = hashlib.sha256(full.encode()).hexdigest()[:_DIGEST]
    return f"{full[: _LONGEST_NAME - _DIGEST - 1].rstrip('-.')}-{digest}"
