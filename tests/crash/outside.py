"""Who talks with an operator besides the API server; a scenario declares them."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from shiplift.kube.account import Account
from tests.crash.calls import Call

Recogniser = Callable[[str, str, bytes], Call]
"""The call that a request is, from its method, its target and its body."""


class Outside(msgspec.Struct, frozen=True):
    """Somebody beyond the API server whose talk with the operator passes the fault proxy.

    `variable` is the environment variable that tells the operator where to go, or where to listen.
    """

    name: str
    variable: str
    recognise: Recogniser | None = None
    """How its requests are told apart, where method and path do not say it all."""
    trust: str = ""
    """Where https is demanded: the variable that tells whoever calls which authority to trust."""


class Upstream(Outside, frozen=True):
    """A provider that the operator calls over HTTP; the operator is given the proxied URL."""


class Listener(Outside, frozen=True):
    """A port of the operator's own; it is given `host:port`, and others call the proxied URL."""


class Companion(msgspec.Struct, frozen=True):
    """A program beside the operator that talks with the API server too, through a fault proxy of its own.

    At its calls it is the one that crashes, and is started again.
    """

    name: str
    account: Account
    """As whom its calls reach the API server."""
    main: str
    """`module:function`, called with its Order."""
