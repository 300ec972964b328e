"""shiplift in the demo's cluster: all that an administrator applies, and the operator under its own account.

It is the operator that runs in clusters, in a thread of this process: whatever ends us ends it.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import msgspec
import yaml

from shiplift.api import crd
from shiplift.facts.kinds import Kind
from shiplift.kube.client import Client
from shiplift.kube.credentials import load
from shiplift.local.cluster import Cluster
from shiplift.local.errors import LocalError
from shiplift.local.private import write_private
from shiplift.operator import install
from shiplift.operator.layers import LAYERS
from shiplift.operator.process import Operator, Settings

_SPACE = "shiplift-system"
_TOKEN_SECONDS = 86_400
"""As long as anybody may keep the demo open."""
_GRACE = 1.0
_JOIN_SECONDS = 5.0


def apply(client: Client) -> None:
    """The CRDs of the layers there are, account, rights, fence and policies."""
    watched = {watch.kind for part in LAYERS.values() for watch in part.watches if watch.kind.custom}
    definitions = [crd.manifest(kind) for kind in sorted(watched)]
    for manifest in [*definitions, *install.manifests(_SPACE, LAYERS.values())]:
        client.create(kind_of(manifest), manifest)


def kind_of(manifest: dict[str, Any]) -> Kind:
    """Where a manifest is kept; all that we apply have regular plurals."""
    group, _, version = manifest["apiVersion"].rpartition("/")
    name = manifest["kind"].lower()
    plural = f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
    return Kind(manifest["kind"], plural, group, version, namespaced="namespace" in manifest["metadata"])


class RunningOperator:
    """From its making until `stop`."""

    def __init__(self, client: Client, cluster: Cluster) -> None:
        settings = Settings(names=install.names(_SPACE), listen=("127.0.0.1", 0), grace=_GRACE)
        self._operator = Operator(load(_account(client, cluster)), LAYERS.values(), settings)
        self._thread = threading.Thread(target=self._operator.run, name="operator", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """An error when it has ended by itself."""
        if not self._thread.is_alive():
            raise LocalError("the operator has stopped", "SHIPLIFT_DEBUG=1 shows what it had to say")

    def stop(self) -> None:
        self._operator.stop("the demo is over")
        self._thread.join(_JOIN_SECONDS)


def _account(client: Client, cluster: Cluster) -> Path:
    """A kubeconfig by which the operator may do what its account may, and no more."""
    path = f"/api/v1/namespaces/{_SPACE}/serviceaccounts/{install.ACCOUNT}/token"
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": _TOKEN_SECONDS},
    }
    answer = msgspec.json.decode(client.raw("POST", path, body=msgspec.json.encode(request)))
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    token = answer["status"]["token"]
    config["users"] = [{"name": user["name"], "user": {"token": token}} for user in config["users"]]
    found = cluster.layout.folder / "operator.kubeconfig"
    write_private(found, yaml.safe_dump(config).encode())
    return found
