"""Where this layer's things are in a cluster, and what they are called."""

from __future__ import annotations

NAME = "policy"
KEY = "cluster"
"""The one key of its loop, and the name of the one UpgradeConfig."""
RECORD = "shiplift-policy"
"""The ConfigMap of the operator's namespace that says how the sync is going: also where there is no
UpgradeConfig that could."""
OUTBOX = "shiplift-outbox-policy"
"""The ConfigMap of the operator's namespace that holds what is still to be reported."""
SECTION = "configManager"
"""Its section of the operator's ConfigMap."""
CLUSTER_VERSION = "version"
"""The name of OpenShift's one ClusterVersion."""
PULL_SECRET_SPACE, PULL_SECRET, PULL_SECRET_KEY = "openshift-config", "pull-secret", ".dockerconfigjson"
"""Where OpenShift itself keeps its pull secret: a fixed place."""
