"""Where this layer's things are in a cluster, and what they are called."""

from __future__ import annotations

NAME = "notify"
KEY = "cluster"
"""The one key of its loop, and the name of the one UpgradeConfig."""
OUTBOX = "shiplift-outbox-notify"
"""The ConfigMap of the operator's namespace that holds what is still to be told."""
SECTION = "notify"
"""Its section of the operator's ConfigMap."""
CREATOR = "shiplift"
"""Who silences say they are of."""
