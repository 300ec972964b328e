"""The names by which the conductor knows its own objects; marks that other layers read are in `api.marks`."""

from __future__ import annotations

from shiplift.api.base import SINGLETON
from shiplift.api.marks import POOL_LABEL

UPGRADE = SINGLETON
"""The one UpgradeConfig of a cluster."""
MIGRATION = SINGLETON
"""The one WorkloadMigration of a cluster."""
FINALIZER = "shiplift.dev/undo"
"""On the UpgradeConfig for as long as something of an upgrade may be there."""
CLUSTER_VERSION_NAME = "version"
"""The one ClusterVersion of an OpenShift cluster."""
POOLS = (
    POOL_LABEL,
    "eks.amazonaws.com/nodegroup",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
    "karpenter.sh/nodepool",
    "local.shiplift.dev/pool",
)
"""The labels by which we, and clouds, say which pool a node is of."""
CONTROL_PLANE, WORKERS = "control-plane", "workers"
"""The parts of a cluster that have a NodeRollout each."""


def rollout_name(version: str, part: str) -> str:
    """The NodeRollout of one part of the cluster, as an object can be named."""
    return f"upgrade-{version.lower().replace('+', '-').replace('_', '-')}-{part}"
