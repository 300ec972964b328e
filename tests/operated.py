"""A cluster with shiplift installed, and at most one operator at a time in a thread of this process."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from shiplift.api import crd
from shiplift.kube.account import Account
from shiplift.kube.client import Client
from shiplift.kube.credentials import load
from shiplift.kube.errors import AlreadyExists, NotFound, Unknown
from shiplift.kube.lease import Timing
from shiplift.kube.manifests import kind_of
from shiplift.kube.part import LayerPart
from shiplift.local.accounts import kubeconfig_of
from shiplift.local.cluster import Cluster
from shiplift.operator import install
from shiplift.operator.process import Operator, Settings
from tests.until import until

SPACE = "shiplift-system"
OLD, NEW = "v1.35.4", "v1.36.3"
LEASE = Timing(duration=2.0, renew_deadline=1.5, retry=0.2, follow=0.1)


def install_shiplift(
    client: Client, admin: Path, folder: Path, parts: Iterable[LayerPart], *, templates: bool = False
) -> Path:
    """CRDs, account, rights, fence and policies; the kubeconfig of the account; `admin` is of who may."""
    parts = tuple(parts)
    for manifest in [*crd.manifests(), *install.manifests(SPACE, parts, templates=templates)]:
        until(partial(_is_made, client, manifest), 120, 0.5)
    until(lambda: all(_served(client, part) for part in parts))
    return kubeconfig_of(Account(SPACE, install.ACCOUNT), admin, folder / "account")


def _is_made(client: Client, manifest: Mapping[str, Any]) -> bool:
    """A server that has just begun, behind a load balancer, may not answer."""
    try:
        client.create(kind_of(manifest), manifest)
    except AlreadyExists:
        return True
    except Unknown:
        return False
    return True


def _served(client: Client, part: LayerPart) -> bool:
    try:
        for kind in part.custom_kinds:
            list(client.list(kind))
    except NotFound:
        return False
    return True


class Operated:
    """The cluster, and who upgrades it."""

    lease = LEASE

    def __init__(self, cluster: Cluster, parts: Iterable[LayerPart], *, templates: bool = False) -> None:
        self.cluster, self.client, self.parts = cluster, cluster.client(), tuple(parts)
        self._folder = tempfile.TemporaryDirectory(prefix="shiplift-rig-")
        self.kubeconfig = install_shiplift(
            self.client, cluster.kubeconfig, Path(self._folder.name), self.parts, templates=templates
        )
        self._operator: tuple[Operator, threading.Thread] | None = None

    def start(self) -> Operator:
        """An operator, as the account that we print manifests for."""
        settings = Settings(names=install.names(SPACE), listen=("127.0.0.1", 0), lease=self.lease)
        made = Operator(load(self.kubeconfig), self.parts, settings)
        thread = threading.Thread(target=made.run, daemon=True)
        thread.start()
        self._operator = made, thread
        return made

    def stop(self) -> None:
        if self._operator is not None:
            made, thread = self._operator
            made.stop()
            thread.join(20)
            assert not thread.is_alive()
        self._operator = None

    def close(self) -> None:
        self.stop()
        self.client.close()
        self._folder.cleanup()
