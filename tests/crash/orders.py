"""What a process under the harness is started with: an operator, or a program beside it."""

from __future__ import annotations

import msgspec

SPACE = "shiplift-system"
"""The namespace of every operator here."""


class Order(msgspec.Struct, frozen=True):
    """One process to be started."""

    kubeconfig: str
    namespace: str
    log: str
    layers: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    main: str = ""
    """`module:function` of a program beside the operator, which is given this; empty: an operator."""
    admin: str = ""
    """For such a program: the kubeconfig of an administrator, past all proxies."""
    ends: bool = False
    """Whether it is to end by itself."""
