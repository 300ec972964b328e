"""What an operator process is started with."""

from __future__ import annotations

import msgspec

SPACE = "shiplift-system"
"""The namespace of every operator here."""


class Order(msgspec.Struct, frozen=True):
    """One operator to be started."""

    kubeconfig: str
    namespace: str
    log: str
    layers: tuple[str, ...]
    environment: dict[str, str] = {}
