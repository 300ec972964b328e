"""The simulated agents of a run: a program beside the operator, whose calls pass a fault proxy of its own.

What makes their account and says which nodes it may act as is done as an administrator, past the proxy. All
that the agents themselves read and write goes through it, as the account, in the name of each node. Killed,
the program loses what real agents have on their disks: the harder case.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from pathlib import Path

from shiplift.kube.credentials import load
from shiplift.kube.errors import KubeError
from shiplift.local.agents import Agents
from shiplift.local.errors import LocalError
from tests.crash.nodes.scenarios import PACE, TIMING
from tests.crash.orders import Order

_AGAIN = 0.2


def play(order: Order) -> None:
    """Until it is killed; where it cannot begin it is started again, as on a machine."""
    while True:
        with contextlib.suppress(KubeError, LocalError), _agents(order):
            threading.Event().wait()
        time.sleep(_AGAIN)


def _agents(order: Order) -> Agents:
    admin, proxied = load(Path(order.admin)), load(Path(order.kubeconfig))
    admin.with_identity = lambda identity: proxied  # the proxy has a token of the account
    return Agents(admin, PACE, TIMING, _say)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
