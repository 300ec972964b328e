"""Where the demo plays: a cluster of its own, the shop on it, the operator at work, and eyes on all.

The cluster lives in a temporary folder, so any number of demos run side by side. However this process
ends, the cluster ends with it: a guard sees to that when we are killed. Each scene begins when the one before
it is over, as the cluster shows it: nothing depends on how fast the computer is.
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

from shiplift.demo import operating
from shiplift.demo.operating import RunningOperator
from shiplift.demo.plot import TARGET, Play, Played, Seen, Verdict
from shiplift.engine.barrier import Barrier
from shiplift.face.parts import DemoPart
from shiplift.journal.book import journal_in
from shiplift.journal.face.report import markdown
from shiplift.kube.client import Client
from shiplift.kube.manifests import kind_of
from shiplift.kube.store import Store
from shiplift.kube.watch import Watch
from shiplift.local import guard
from shiplift.local.agents import Agents, Timing
from shiplift.local.cluster import Cluster
from shiplift.local.errors import LocalError
from shiplift.local.nodes import Nodes, Pool
from shiplift.local.progress import Say
from shiplift.operator import install
from shiplift.operator.layers import faces
from shiplift.view.look import READS, look

_SYNC_SECONDS = 60.0
_REPORT_SECONDS = 15.0
_LOOK = 0.2


class Stage:
    """The running demo."""

    def __init__(
        self, play: Play, cluster: Cluster, client: Client, store: Store, parts: tuple[DemoPart[Any], ...]
    ) -> None:
        self.kubeconfig, self.kubectl = cluster.kubeconfig, cluster.state.programs["kubectl"]
        self._server_version = _server_version(client)
        self._play, self._cluster, self._client, self._store = play, cluster, client, store
        self._parts = parts
        self._scene = play.scenes[0]
        self._operator: RunningOperator | None = None
        self._asking = contextlib.ExitStack()
        self._witness = play.witness()
        self._began = time.monotonic()
        store.subscribe(self._witness.heard)

    @property
    def nodes(self) -> Nodes:
        return self._cluster.nodes

    def look(self) -> Seen:
        """Everything as it is now; where a scene is over, the next one has begun."""
        self.check()
        seen = self._see()
        if not seen.over:
            return seen
        self._scene = self._play.after(self._scene)
        self._scene.begin(self)
        return self._see()

    def check(self) -> None:
        """An error when some of it has stopped."""
        if dead := self._cluster.state.dead:
            raise LocalError(f"{dead[0]} has stopped", "is there enough memory? the demo needs about 1 GB")
        if self._operator:
            self._operator.check()

    def verdict(self) -> Verdict:
        return self._witness.verdict()

    def start(self) -> None:
        """The operator begins, and is asked for the target."""
        self._witness.begin()
        self._began = time.monotonic()
        if self._play.asked is not None:
            self._asking.enter_context(self._play.asked(self._client, self._cluster.layout.pki))
        self._operator = RunningOperator(self._client, self._play.layers)
        if self._play.asked is None:
            for part in self._parts:
                part.begin(self._client, TARGET)

    def report(self) -> str:
        """What the journal tells of it, once its end is in there; empty where the play has no report."""
        deadline = time.monotonic() + _REPORT_SECONDS
        while self._play.reported:
            journal = journal_in(self._client, install.NAMESPACE)
            over = bool(journal.chapters) and journal.chapters[0].end is not None
            if over or time.monotonic() > deadline:
                return markdown(journal.chapters[0], journal) if journal.chapters else ""
            time.sleep(_LOOK)
        return ""

    def close(self) -> None:
        with self._asking:
            if self._operator:
                self._operator.stop()

    def _see(self) -> Seen:
        snapshot, now = self._store.snapshot(), int(time.time())
        cluster = look(snapshot, now, self._server_version)
        return Seen(
            scene=self._scene,
            cluster=cluster,
            played=tuple(Played(one, one.act(snapshot, cluster, TARGET, now)) for one in self._parts),
            residue=tuple(left for one in self._parts for left in one.residue(snapshot)),
            seconds=int(time.monotonic() - self._began),
        )


@contextlib.contextmanager
def built(play: Play, say: Say) -> Generator[Stage]:
    """The shop, just opening; nothing is left of it afterwards."""
    with _cluster(play.pools, say) as cluster, cluster.client() as client:
        say("installing shiplift")
        operating.apply(client, play.layers)
        with _agents(play, cluster), _staged(play, cluster, client) as stage:
            yield stage


def _agents(play: Play, cluster: Cluster) -> contextlib.AbstractContextManager[object]:
    """Those that answer on the nodes, where the play has some; their Leases are as quick as they are."""
    if not play.agents:
        return contextlib.nullcontext()
    return Agents(cluster.credentials(), timing=Timing(lease=1.0))


@contextlib.contextmanager
def _staged(play: Play, cluster: Cluster, client: Client) -> Generator[Stage]:
    parts = tuple(part for face in faces(play.layers).values() if (part := face.demo_part()))
    reads = dict.fromkeys((*READS, *(kind for part in parts for kind in part.reads)))
    store = Store(cluster.credentials(), map(Watch, reads))
    stage = Stage(play, cluster, client, store, parts)
    store.start()
    try:
        _wait(store.wait_synced(_SYNC_SECONDS))
        _wait(store.wait_settled(_open(play, client), _SYNC_SECONDS))
        yield stage
    finally:
        try:
            stage.close()
        finally:
            store.stop()


@contextlib.contextmanager
def _cluster(pools: tuple[Pool, ...], say: Say) -> Generator[Cluster]:
    with tempfile.TemporaryDirectory(prefix="shiplift-demo-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        cluster = Cluster("demo", folder)
        guard.own(folder)
        try:
            guard.start_once(folder)
            _up(cluster, pools, say)
            yield cluster
        finally:
            _end(cluster, say)


def _up(cluster: Cluster, pools: tuple[Pool, ...], say: Say) -> None:
    try:
        cluster.up(say=say, pools=pools)
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


def _open(play: Play, client: Client) -> list[Barrier]:
    """What to wait for, to see the whole shop."""
    written = [client.create(kind_of(manifest), manifest) for manifest in play.sample()]
    return [one.barrier for one in written if one.barrier]


def _wait(came: bool) -> None:
    if not came:
        raise LocalError(
            f"the API server has not shown its objects in {_SYNC_SECONDS:.0f} s",
            "is the computer very busy? try again when it is less so",
        )


def _server_version(client: Client) -> str:
    return msgspec.json.decode(client.raw("GET", "/version"), type=dict[str, Any])["gitVersion"]
