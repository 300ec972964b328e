"""The operator: leads, syncs, runs the layers while it leads, and hands over when it is asked to stop.

    start ─▶ store syncs ─▶ candidate ─▶ leads: fence raised, loops run ─▶ lost: loops stop ─▶ candidate …

Every replica watches and answers probes; only the leader acts. Alive means that no thread is stuck; ready
means that what we see is not old. The API server being away makes us unready, and restarts nothing.
"""

from __future__ import annotations

import queue
import signal
import threading
from collections.abc import Hashable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import msgspec
import structlog

from shiplift.engine.loop import Loop
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.kube.client import Client
from shiplift.kube.credentials import Credentials
from shiplift.kube.errors import KubeError
from shiplift.kube.events import Recorder
from shiplift.kube.fence import Fence, Names, manager
from shiplift.kube.lease import Leader, NotLeading, Timing
from shiplift.kube.part import Context, Hearing, LayerPart
from shiplift.kube.store import State, Store
from shiplift.kube.watch import Pace, Watch
from shiplift.operator.metrics import Metrics
from shiplift.operator.serving import Server

log = structlog.get_logger(__name__)

_STUCK = timedelta(minutes=2)


class Settings(msgspec.Struct, frozen=True):
    """How one operator process runs."""

    names: Names
    """Whom the fence is for, and where the Lease is."""
    listen: tuple[str, int] = ("127.0.0.1", 8080)
    lease: Timing = Timing()
    pace: Pace = Pace()
    grace: float = 10.0
    """How long steps in flight may take to end when we stop."""


class _Stop(msgspec.Struct, frozen=True):
    why: str


class _Leads(msgspec.Struct, frozen=True):
    epoch: int


class _Lost(msgspec.Struct, frozen=True):
    why: str


class Operator:
    """One process of it. `run` returns when a signal, or `stop`, ends it."""

    def __init__(self, credentials: Credentials, layers: Iterable[LayerPart], settings: Settings) -> None:
        self._credentials = credentials
        self._layers = tuple(layers)
        self._settings = settings
        self._news: queue.SimpleQueue[_Stop | _Leads | _Lost] = queue.SimpleQueue()
        watches = [watch for layer in self._layers for watch in layer.watches]
        self.store = Store(credentials, [Watch(kinds.NODE), *watches], settings.pace)
        self.leader = Leader(
            credentials,
            settings.names.namespace,
            settings.names.lease,
            timing=settings.lease,
            floor=self._epoch_so_far,
            on_leading=lambda epoch: self._news.put(_Leads(epoch)),
            on_lost=lambda why: self._news.put(_Lost(why)),
        )
        self._fence = Fence(credentials, settings.names)
        self._recorder = Recorder(credentials, instance=self.leader.identity)
        self._candidate = False
        self._unfenced = ""
        """Why we lead and yet do not act."""
        self._client: Client | None = None
        self._loops: dict[str, Loop[Any, Any, Any]] = {}
        self._hearing: dict[str, Hearing] = {}
        self.metrics = Metrics(layer.name for layer in self._layers)
        self.metrics.watch(self.store)
        for layer in self._layers:
            if layer.collector is not None:
                self.metrics.registry.register(layer.collector(self.store))
        self.metrics.watch_depth(lambda: {name: loop.depth() for name, loop in self._loops.items()})
        self.server = Server(settings.listen, self.metrics.registry, self.not_alive, self.not_ready)

    def run(self) -> None:
        """Until told to stop. Must be called on the main thread when signals are to end it."""
        self._heed_signals()
        self.server.start()
        log.info(
            "started",
            identity=self.leader.identity,
            address=self.server.address,
            layers=[layer.name for layer in self._layers],
        )
        self.store.subscribe(self._changed)
        self.store.start()
        self._recorder.start()
        try:
            self._wait_for_sync()
            self._lead_and_follow()
        finally:
            self._shut_down()

    def stop(self, why: str = "asked to") -> None:
        """From any thread."""
        self._news.put(_Stop(why))

    def not_alive(self) -> list[str]:
        """A thread that is gone or stuck: only a restart helps."""
        gone = [f"the watch of {one.kind} has ended" for one in self.store.health() if not one.alive]
        if self._candidate and not self.leader.alive:
            gone.append("the thread that renews the lease has ended")
        stuck = [words for loop in list(self._loops.values()) if (words := loop.stuck(_STUCK))]
        return gone + stuck

    def not_ready(self) -> list[str]:
        """What we see is missing or old, or we cannot even run for leader."""
        trouble = [str(self.leader.trouble)] if self.leader.trouble else []
        trouble += [f"leading, but not acting: {self._unfenced}"] if self._unfenced else []
        return trouble + [
            f"{one.kind} is {one.state}{': ' + one.error if one.error else ''}"
            for one in self.store.health()
            if one.state is not State.LIVE
        ]

    def _wait_for_sync(self) -> None:
        """A candidate that sees nothing could not act: run for leader only when synced."""
        while not self.store.wait_synced(0.2):
            if not self._news.empty():
                return
        self.leader.start()
        self._candidate = True

    def _lead_and_follow(self) -> None:
        while True:
            match self._news.get():
                case _Stop(why=why):
                    log.info("stopping", why=why)
                    return
                case _Leads(epoch=epoch):
                    self._begin(epoch)
                case _Lost(why=why):
                    self._end(why)

    def _begin(self, epoch: int) -> None:
        """Raise the fence, prove that it holds, and only then let the layers act."""
        self._end("a new term begins")
        try:
            self.leader.check(epoch)
        except NotLeading:
            return
        try:
            self._fence.raise_epoch(epoch)
            self._fence.wait_effective(epoch, give_up=lambda: not self._news.empty())
        except KubeError as error:
            self._unfenced = str(error)
            log.error("leading, but not acting", epoch=epoch, reason=self._unfenced)
            self._retry(epoch)
            return
        self._client = Client(self._credentials, field_manager=manager(epoch))
        context = Context(self._client, self.store, self._recorder, epoch, lambda: self.leader.check(epoch))
        for part in self._layers:
            self._start(part, context)
        self.metrics.leading.set(1)
        log.info("leading", epoch=epoch)

    def _retry(self, epoch: int) -> None:
        """Try again while the term lasts; a term that is over says so by itself."""
        if self.leader.leading:
            timer = threading.Timer(1.0, self._news.put, [_Leads(epoch)])
            timer.daemon = True
            timer.start()

    def _start(self, part: LayerPart, context: Context) -> None:
        layer = part.make(context)
        loop: Loop[Any, Any, Any] = Loop(
            part.name, layer, settled=self.store.settled, hooks=self.metrics.hooks(part.name)
        )
        if isinstance(layer, Hearing):
            self._hearing = self._hearing | {part.name: layer}
        self._loops = self._loops | {part.name: loop}
        loop.start()
        snapshot = self.store.snapshot()
        for watch in part.watches:
            for row in snapshot.rows(watch.kind):
                _wake(loop, part.wakes(watch.kind, None, row))

    def _changed(self, kind: Kind, old: Row | None, new: Row | None) -> None:
        """On the reader's thread: note what to look at, and return."""
        same = old is not None and new is not None and old.same_as(new)
        for part in self._layers:
            loop = self._loops.get(part.name)
            if loop is None or all(watch.kind != kind for watch in part.watches):
                continue
            if hearing := self._hearing.get(part.name):
                hearing.heard(kind, old, new)
            if not same:
                _wake(loop, part.wakes(kind, old, new))
        return self._notify()

    def _notify(self) -> None:
        for loop in self._loops.values():
            loop.notify()

    def _end(self, why: str) -> None:
        """Stop acting; what is in flight ends by itself or is refused by the fence."""
        self.metrics.leading.set(0)
        self._unfenced = ""
        loops, self._loops, self._hearing = list(self._loops.values()), {}, {}
        if loops:
            with ThreadPoolExecutor(len(loops)) as stopping:
                list(stopping.map(self._stop_loop, loops))
            log.info("not acting any more", why=why)
        if self._client:
            self._client.close()
            self._client = None

    def _stop_loop(self, loop: Loop[Any, Any, Any]) -> bool:
        return loop.stop(timedelta(seconds=self._settings.grace))

    def _shut_down(self) -> None:
        """Stop acting first, then let go of the Lease, so that the next leader finds nobody at work."""
        self._end("stopped")
        self._candidate = False
        self.leader.stop()
        self._recorder.stop()
        self.store.stop()
        self.server.stop()
        log.info("stopped")

    def _epoch_so_far(self) -> int:
        return self._fence.epoch()

    def _heed_signals(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for one in (signal.SIGTERM, signal.SIGINT):
                signal.signal(one, lambda number, _: self.stop(signal.Signals(number).name))


def _wake(loop: Loop[Any, Any, Any], keys: Iterable[Hashable]) -> None:
    for key in keys:
        loop.wake(key)
