"""Where the demo plays: a cluster of its own, the shop on it, and eyes on both.

The cluster lives in a temporary folder, so any number of demos run side by side. However this process
ends, the cluster ends with it: a guard sees to that when we are killed.
"""

from __future__ import annotations

import contextlib
import signal
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import msgspec

from shiplift.demo import shop
from shiplift.engine.barrier import Barrier
from shiplift.facts import kinds
from shiplift.kube.client import Client
from shiplift.kube.store import Store
from shiplift.kube.watch import Watch
from shiplift.local import guard
from shiplift.local.cluster import Cluster
from shiplift.local.errors import LocalError
from shiplift.local.nodes import SERVICE_ACCOUNT, Pool
from shiplift.local.progress import Say
from shiplift.view.cluster import ClusterView
from shiplift.view.look import READS, look

_VERSION = "v1.35.4"
_ZONES = ("zone-a", "zone-b")
POOLS = (
    Pool(name="general", count=4, version=_VERSION, zones=_ZONES),
    Pool(name="data", count=2, version=_VERSION, zones=_ZONES),
)
_KINDS = {
    kind.kind: kind
    for kind in (
        kinds.NAMESPACE,
        SERVICE_ACCOUNT,
        kinds.SERVICE,
        kinds.POD_DISRUPTION_BUDGET,
        kinds.DEPLOYMENT,
        kinds.STATEFUL_SET,
    )
}
_SYNC_SECONDS = 30.0


class Stage:
    """The running demo."""

    def __init__(self, cluster: Cluster, store: Store, server_version: str) -> None:
        self.kubeconfig = cluster.kubeconfig
        self._cluster, self._store, self._server_version = cluster, store, server_version

    def view(self) -> ClusterView:
        """The cluster as it is now; an error when some of it has stopped."""
        if dead := self._cluster.state.dead:
            raise LocalError(f"{dead[0]} has stopped", "is there enough memory? the demo needs about 1 GB")
        return look(self._store.snapshot(), int(time.time()), self._server_version)


def is_open(view: ClusterView) -> bool:
    """Everything runs, and the budgets have noticed."""
    return view.settled and all(budget.allows for one in view.workloads for budget in one.budgets)


@contextlib.contextmanager
def built(say: Say) -> Generator[Stage]:
    """The shop, just opening; nothing is left of it afterwards."""
    with _cluster(say) as cluster, cluster.client() as client:
        store = Store(cluster.credentials(), map(Watch, READS))
        store.start()
        try:
            _wait(store.wait_synced(_SYNC_SECONDS))
            say("opening the shop")
            _wait(store.wait_settled(_open(client), _SYNC_SECONDS))
            yield Stage(cluster, store, _server_version(client))
        finally:
            store.stop()


@contextlib.contextmanager
def _cluster(say: Say) -> Generator[Cluster]:
    with tempfile.TemporaryDirectory(prefix="shiplift-demo-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        cluster = Cluster("demo", folder)
        guard.own(folder)
        try:
            guard.start_once(folder)
            _up(cluster, say)
            yield cluster
        finally:
            _end(cluster, say)


def _up(cluster: Cluster, say: Say) -> None:
    try:
        cluster.up(say=say, pools=POOLS)
    except LocalError as error:
        if str(cluster.root) not in error.hint:
            raise
        # its logs go with the folder
        raise LocalError(
            error.message, "shiplift local up --name demo may fail likewise, and keeps its logs"
        ) from error


def _end(cluster: Cluster, say: Say) -> None:
    """Nothing may keep us from it, not even a second Ctrl-C."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    began = time.monotonic()
    cluster.down()
    guard.stop(cluster.root)
    for number, handler in before.items():
        signal.signal(number, handler)
    say(f"the demo is over; its cluster was ended in {time.monotonic() - began:.1f} s, nothing is left")


def _open(client: Client) -> list[Barrier]:
    """What to wait for, to see the whole shop."""
    written = [client.create(_KINDS[manifest["kind"]], manifest) for manifest in shop()]
    return [one.barrier for one in written if one.barrier]


def _server_version(client: Client) -> str:
    return msgspec.json.decode(client.raw("GET", "/version"), type=dict[str, Any])["gitVersion"]


def _wait(came: bool) -> None:
    if not came:
        raise LocalError(
            f"the API server has not shown its objects in {_SYNC_SECONDS:.0f} s",
            "is the computer very busy? try again when it is less so",
        )
