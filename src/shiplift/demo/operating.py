"""shiplift in the demo's cluster: all that an administrator applies, and the operator under its own account.

It is the operator that runs in clusters, in a thread of this process: whatever ends us ends it.
"""

from __future__ import annotations

import threading

from shiplift.api import crd
from shiplift.kube.account import Account, acting_as
from shiplift.kube.client import Client
from shiplift.kube.manifests import kind_of
from shiplift.local.errors import LocalError
from shiplift.operator import install
from shiplift.operator.layers import chosen
from shiplift.operator.process import Operator, Settings

_SPACE = install.NAMESPACE
_GRACE = 1.0
_JOIN_SECONDS = 5.0


def apply(client: Client, layers: tuple[str, ...]) -> None:
    """The CRDs of the layers, account, rights, fence and policies."""
    parts = chosen(layers)
    definitions = [
        crd.manifest(kind) for kind in sorted({one for part in parts for one in part.custom_kinds})
    ]
    for manifest in [*definitions, *install.manifests(_SPACE, parts)]:
        client.create(kind_of(manifest), manifest)


class RunningOperator:
    """From its making until `stop`."""

    def __init__(self, client: Client, layers: tuple[str, ...]) -> None:
        settings = Settings(names=install.names(_SPACE), listen=("127.0.0.1", 0), grace=_GRACE)
        account = acting_as(Account(_SPACE, install.ACCOUNT), client.credentials)
        self._operator = Operator(account, chosen(layers), settings)
        self._thread = threading.Thread(target=self._operator.run, name="operator", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """An error when it has ended by itself."""
        if not self._thread.is_alive():
            raise LocalError("the operator has stopped", "SHIPLIFT_DEBUG=1 shows what it had to say")

    def stop(self) -> None:
        self._operator.stop("the demo is over")
        self._thread.join(_JOIN_SECONDS)
