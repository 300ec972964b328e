"""Marks of ours on objects that are not ours, where a second layer reads them: layers do not import each
other.

Labels and taints carry the target as their value, so that a mark left behind, or one of an earlier migration,
is never taken for one of the current migration.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

TARGET_LABEL = "shiplift.dev/target-version"
"""On nodes in scope that run the target version."""
OFF_TARGET_LABEL = "shiplift.dev/off-target"
"""On nodes in scope that run another version."""
UPGRADE_TAINT = "shiplift.dev/upgrade"
"""Mode Template, NoSchedule: only pods of released workloads may go to the target nodes."""
OFF_TARGET_TAINT = "shiplift.dev/off-target"
"""Mode Template, PreferNoSchedule: pods of released workloads rather go to the target nodes."""

HOLD_PREFIX = "shiplift-hold-"
"""How the names of our own PodDisruptionBudgets begin: each holds one workload."""
HOLD_LEDGER = "shiplift.dev/hold-ledger"
"""The annotation on a user's PodDisruptionBudget that says how it was before we held it."""
HELD_LABEL = "shiplift.dev/held"
"""The label on such a PodDisruptionBudget that says it once more (`minAvailable.1`, `maxUnavailable.50pct`),
for where somebody takes the annotation off."""

OPERATOR_ACCOUNT = "shiplift"
"""The ServiceAccount of the operator, in its own namespace."""
OPERATOR_LABELS: Mapping[str, str] = {
    "app.kubernetes.io/name": "shiplift",
    "app.kubernetes.io/component": "operator",
}
"""On the pods of the operator, and all else that is made to run it in a cluster."""

CORDONED_BY = "node.shiplift.dev/cordoned-by"
"""The annotation on a node that a NodeRollout has cordoned: the name of the rollout."""
CORDONED_BEFORE = "node.shiplift.dev/cordoned-before"
"""The annotation beside it on a node that somebody else had cordoned before, with the value `true`: it stays
cordoned when the rollout gives it back. `false` where that somebody has let it go meanwhile."""
QUARANTINED_BY = "node.shiplift.dev/quarantined-by"
"""The annotation on a node that was left cordoned by a NodeRollout that is over: the name of the rollout. A
later rollout that changes the node uncordons it."""
SKIP_ROLLOUT = "node.shiplift.dev/skip-rollout"
"""The annotation by which a node is left out of every rollout, with the value `true`."""
POOL_LABEL = "machines.shiplift.dev/pool"
"""The label of a Machine, and of the Node that was made for it: the MachinePool that it is of."""
QUORUM_HOLD = "shiplift.dev/quorum-hold"
"""The annotation on a StatefulSet whose pods must stay while its binary is swapped; its value is the name of
the QuorumService."""

UPGRADE_HOLD = "shiplift.dev/upgrade-hold"
"""The annotation on an object of a layer by which the conductor keeps that layer from beginning anything: its
value says why. It counts as a pause (a QuorumService begins no swap, and goes on with one that is under way),
and leaves the user's own `paused` and `approved` alone."""
UPGRADE_LEDGER = "shiplift.dev/upgrade-ledger"
"""The annotation on a user's WorkloadMigration that says which target it had before the conductor gave it
another."""
UPGRADE_UID = "shiplift.dev/upgrade-uid"
"""The label on what the conductor has made, and once more its annotation, for where somebody takes one of
them off: the uid of the UpgradeConfig that it was made for."""
TURN_TOLD = "shiplift.dev/turn-told"
"""The annotation on an UpgradeConfig that has the name of the Job that told of the last turn."""
PROVIDER_LABEL = "shiplift.dev/policy-provider"
"""On an UpgradeConfig that came from a provider of policies: which one. One made by hand has none."""
POLICY_ID = "policy.shiplift.dev/id"
"""The annotation beside it: the id of the policy with its provider."""
POLICY_APPLIED = "policy.shiplift.dev/applied"
"""The annotation that has a digest of what the policy said when it was applied."""
REFRESH_ASKED = "policy.shiplift.dev/refresh-asked"
"""The annotation by which whoever is about to start the upgrade asks that the provider be asked once more;
any new text will do."""
REFRESH_DONE = "policy.shiplift.dev/refreshed"
"""The annotation that repeats that text: the provider was asked after it was seen, has answered, and the
UpgradeConfig is what it said."""
REFRESH_AT = "policy.shiplift.dev/answered-at"
"""The annotation beside that one: when the provider answered, which may have taken it minutes."""

MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "shiplift"
"""The value of `MANAGED_BY` on all that we make."""


def made_for(labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    """The uid of the UpgradeConfig that an object was made for by the conductor; empty where it was not."""
    return labels.get(UPGRADE_UID) or annotations.get(UPGRADE_UID, "")


@lru_cache(256)
def label_value(version: str) -> str:
    """A version as the value of a label or taint."""
    return version.replace("+", "_").rstrip("-_.")


def is_made_hold(labels: Mapping[str, str], name: str) -> bool:
    """Whether a PodDisruptionBudget was made by us to hold a workload."""
    return labels.get(MANAGED_BY) == MANAGER and name.startswith(HOLD_PREFIX)
