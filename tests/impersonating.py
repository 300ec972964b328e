"""The administrator of a cluster in somebody else's name."""

from __future__ import annotations

import json
from pathlib import Path

from shiplift.local.cluster import Cluster


def as_user(cluster: Cluster, folder: Path, user: str) -> Path:
    """A kubeconfig of that user, who may do nothing yet."""
    config = json.loads(cluster.kubeconfig.read_text())
    config["users"][0]["user"]["as"] = user
    path = folder / "of-a-user"
    path.write_text(json.dumps(config))
    return path
