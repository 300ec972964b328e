"""The operator: leads, syncs, runs the layers while it leads, and hands over when it is asked to stop.

    start ─▶ store syncs ─▶ candidate ─▶ leads: fence raised, loops run ─▶ lost: loops stop ─▶ candidate …

Every replica watches and answers probes; only the leader acts, and only behind a fence that is in force: it
is proven before the layers run and every minute after, and a write that it refuses ends the term. Alive means
that no thread is stuck; ready means that what we see is not old, and that a leader acts. The API server being
away makes us unready, and restarts nothing.
"""

from __future__ import annotations

import queue
import signal
import threading
import time
from collections.abc import Hashable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any

import msgspec
import structlog

from shiplift.engine.loop import Loop
from shiplift.engine.workers import Workers
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.kube.client import Client
from shiplift.kube.credentials import Credentials
from shiplift.kube.errors import ApiError, Forbidden, KubeError
from shiplift.kube.events import Recorder
from shiplift.kube.fence import Fence, Names, StaleEpoch, manager, refused
from shiplift.kube.lease import Leader, NotLeading, Timing
from shiplift.kube.led import Led
from shiplift.kube.part import Closing, Context, Hearing, LayerPart, LettingGo
from shiplift.kube.store import KindHealth, State, Store
from shiplift.kube.succession import Succession
from shiplift.kube.watch import Pace, Watch
from shiplift.operator.metrics import Metrics
from shiplift.operator.probing import Probing
from shiplift.operator.serving import Secured, Server

log = structlog.get_logger(__name__)

_UNSEEN_FIRST, _UNSEEN_AGAIN = 10.0, 60.0
"""Seconds after which a start is told that does not get on, and told again."""
_STUCK = timedelta(minutes=4)
"""Longer than a step or a look can take on a slow API server: the longest are four or five calls, and
none takes longer than 30 s with its retries and 10 s more for a look at what became of it."""
_RETRY_SECONDS = 1.0
_OF_OURS = f'in API group "{kinds.GROUP}"'
"""In what the API server says of a right that is missing: it is about objects of ours."""
_LONGEST_PAUSE = 60.0
_TO_NOTICE, _LAST_WORDS = 3.0, 3.0
"""Seconds to notice that it is time to stop, and for what layers have to say last."""
_SHORT_TERM = 60.0
"""A term that the fence ended sooner than that many seconds after its start was refused from the start."""


class Settings(msgspec.Struct, frozen=True):
    """How one operator process runs."""

    names: Names
    """Whom the fence is for, and where the Lease is."""
    listen: tuple[str, int] = ("127.0.0.1", 8080)
    lease: Timing = Timing()
    pace: Pace = Pace()
    grace: float = 10.0
    """How long steps in flight may take to end when we stop."""
    prove_every: float = 60.0
    """Seconds between two proofs that the fence is in force."""
    secured: Secured | None = None
    """Metrics and probes over TLS, as inside a cluster; plain where there is none."""


class _Stop(msgspec.Struct, frozen=True):
    why: str


class _Leads(msgspec.Struct, frozen=True):
    epoch: int


class _Lost(msgspec.Struct, frozen=True):
    why: str


class _Refused(msgspec.Struct, frozen=True):
    """The fence refused what a layer sent in that term."""

    epoch: int
    why: str


class _HandsOver(msgspec.Struct, frozen=True):
    """A layer wants another to lead before the pod that we run in goes."""

    epoch: int | None
    why: str


class _ProofDue(msgspec.Struct, frozen=True):
    epoch: int


class _AnotherTerm(msgspec.Struct, frozen=True):
    epoch: int
    why: str


_News = _Stop | _Leads | _Lost | _Refused | _HandsOver
_Due = _Leads | _ProofDue | _AnotherTerm


def unseen(states: Iterable[KindHealth]) -> tuple[str, str]:
    """Kinds of which nothing is known yet, by name, and why."""
    found = sorted((one for one in states if one.state is not State.LIVE), key=lambda one: one.kind.kind)
    why = next((one.error for one in found if one.error), "no answer yet")
    return ", ".join(one.kind.kind for one in found), why


def blindness(health: Iterable[KindHealth], denied: str) -> str:
    """Why an operator that leads does nothing, or cannot tell what it does; empty where it can."""
    old = [one for one in health if one.state is State.STALE]
    if old:
        names = ", ".join(sorted(one.kind.kind for one in old)[:3])
        return f"what is known of {names} is old{'; ' + old[0].error if old[0].error else ''}"
    return f"it may not write what is its own: {denied}" if denied else ""


class Operator:
    """One process of it. `run` returns when a signal, or `stop`, ends it."""

    def __init__(self, credentials: Credentials, layers: Iterable[LayerPart], settings: Settings) -> None:
        self._credentials = credentials
        self._layers = tuple(layers)
        self._settings = settings
        self._news: queue.SimpleQueue[_News] = queue.SimpleQueue()
        self._due: tuple[float, _Due] | None = None
        """What we do by ourselves when no news comes before that time."""
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
        self._succession = Succession(
            lambda: self._fence.pod, lambda why: self._news.put(_HandsOver(self._acting, why))
        )
        self._recorder = Recorder(credentials, instance=self.leader.identity)
        self._asked_to_stop: queue.SimpleQueue[None] = queue.SimpleQueue()
        """Not an Event: who sets one and is interrupted by a signal that sets it would wait for itself."""
        self._shutting_down = threading.Event()
        self._candidate = False
        self._unfenced = ""
        """Why we lead and yet do not act."""
        self._acting: int | None = None
        """The epoch of the term in which the layers act now."""
        self._acting_since = self._proven_at = 0.0
        self._denied = (float("-inf"), "")
        """When a write of what is ours was last denied for want of a right, and in which words."""
        self._refusals = 0
        """Terms in a row that the fence ended soon after their start."""
        self._client: Client | None = None
        self._workers = Workers()
        self._loops: dict[str, Loop[Any, Any, Any]] = {}
        self._hearing: dict[str, Hearing] = {}
        self._closing: list[Closing] = []
        self._letting_go: list[LettingGo] = []
        self._probing: list[Probing] = []
        self._kept: dict[str, dict[str, Any]] = {layer.name: {} for layer in self._layers}
        self.metrics = Metrics(layer.name for layer in self._layers)
        self.metrics.watch(self.store)
        for layer in self._layers:
            if layer.collector is not None:
                self.metrics.registry.register(layer.collector(self.store))
        self.metrics.watch_depth(lambda: {name: loop.depth() for name, loop in self._loops.items()})
        probes = {"/healthz": self.not_alive, "/readyz": self.not_ready, "/actingz": self.not_acting}
        self.server = Server(settings.listen, self.metrics.registry, probes, settings.secured)

    def run(self) -> None:
        """Until told to stop. Must be called on the main thread when signals are to end it."""
        threading.Thread(target=self._hurry, name="hurry", daemon=True).start()
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
        self._asked_to_stop.put(None)

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

    def not_acting(self) -> list[str]:
        """We are not ready, or nobody acts: a follower, which is ready whoever leads, tells that too."""
        begins = self.leader.leading and self._acting is None
        idle = "leading, but not acting yet" if begins else self.leader.idleness
        return self.not_ready() or ([idle] if idle else [])

    def _wait_for_sync(self) -> None:
        """A candidate that sees nothing could not act: run for leader only when synced."""
        told_at = time.monotonic() + _UNSEEN_FIRST
        while not self.store.wait_synced(0.2):
            if not self._news.empty():
                return
            if time.monotonic() >= told_at:
                self._say_unseen()
                told_at = time.monotonic() + _UNSEEN_AGAIN
        self.leader.start()
        self._candidate = True

    def _say_unseen(self) -> None:
        """Nothing is done until everything is seen: whoever reads the log has to know why."""
        kinds, reason = unseen(self.store.health())
        log.warning(
            "not leading: not everything can be read that the layers need",
            kinds=kinds,
            reason=reason,
            hint="apply again what installed shiplift, CRDs first (docs/install.md), or name the layers that"
            " are installed with --layers",
        )

    def _lead_and_follow(self) -> None:
        while not isinstance(news := self._next(), _Stop):
            self._heed(news)
        log.info("stopping", why=news.why)

    def _next(self) -> _News | _Due:
        """News, or what is due when none comes before that."""
        if self._due is None:
            return self._news.get()
        at, due = self._due
        try:
            return self._news.get(timeout=max(at - time.monotonic(), 0.0))
        except queue.Empty:
            self._due = None
            return due

    def _heed(self, news: _Leads | _Lost | _Refused | _HandsOver | _Due) -> None:
        match news:
            case _Leads(epoch=epoch):
                self._begin(epoch)
            case _Lost(why=why):
                self._end(why)
                self._say_not_acting("")
            case _Refused(epoch=epoch, why=why):
                self._heed_refusal(epoch, why)
            case _HandsOver(epoch=epoch, why=why):
                self._hand_over(epoch, why)
            case _ProofDue(epoch=epoch):
                self._prove_again(epoch)
            case _AnotherTerm(epoch=epoch, why=why):
                self.leader.abandon(epoch, why)
                # said again until the term is over, which is news
                self._plan(_RETRY_SECONDS, news)
            case _:
                raise TypeError(f"{news} is no news")

    def _begin(self, epoch: int) -> None:
        """Raise the fence, prove that it holds, and only then let the layers act."""
        self._end("a new term begins")
        try:
            self.leader.check(epoch)
            self._fence.raise_epoch(epoch)
            self._fence.wait_effective(epoch, give_up=lambda: not self._news.empty())
        except NotLeading:
            return
        except StaleEpoch as error:
            self._say_not_acting(str(error), epoch)
            self._plan(_RETRY_SECONDS, _AnotherTerm(epoch, "its epoch is over"))
            return
        except KubeError as error:
            self._say_not_acting(str(error), epoch)
            self._plan(_RETRY_SECONDS, _Leads(epoch))
            return
        self._say_not_acting("")
        self._act(epoch)

    def _act(self, epoch: int) -> None:
        """Let the layers run, for this term."""
        self._client = Client(
            self._credentials,
            field_manager=manager(epoch),
            on_forbidden=partial(self._hear_forbidden, epoch),
            may_write=partial(self.leader.check, epoch),
            on_untold=self._hear_untold,
        )
        self._acting, self._acting_since = epoch, time.monotonic()
        self._proven_at = self._acting_since
        loops = [self._make(part, self._client, epoch) for part in self._layers]
        # only when every layer has its share of the threads may one of them borrow
        for part, loop in zip(self._layers, loops, strict=True):
            self._start(part, loop)
        self.metrics.leading.set(1)
        self._plan(self._settings.prove_every, _ProofDue(epoch))
        log.info("leading", epoch=epoch)

    def _plan(self, seconds: float, due: _Due) -> None:
        self._due = (time.monotonic() + seconds, due)

    def _hear_forbidden(self, epoch: int, error: Forbidden) -> None:
        """On the thread of a step: only the fence's own refusals say something about the term."""
        if refused(error, self._settings.names):
            self._news.put(_Refused(epoch, error.message))
        elif _OF_OURS in error.message:
            self._denied = (time.monotonic(), error.message)

    def _hear_untold(self, error: ApiError) -> None:
        """On the thread of a step: a policy of somebody else's keeps us from telling what we do."""
        if not refused(error, self._settings.names):
            self._denied = (time.monotonic(), error.message)

    def _heed_refusal(self, epoch: int, why: str) -> None:
        """The term is over, whoever took its epoch away; where that happens at once again, wait longer."""
        if epoch != self._acting:
            return
        lasted = time.monotonic() - self._acting_since
        self._refusals = self._refusals + 1 if lasted < _SHORT_TERM else 1
        self.metrics.fence_refusals.inc()
        self._end("the fence refuses")
        self._say_not_acting(f"the fence refuses what this leader sends: {why}", epoch)
        pause = min(2.0**self._refusals, _LONGEST_PAUSE) if self._refusals > 1 else 0.0
        self._plan(pause, _AnotherTerm(epoch, "the fence refused a write"))

    def _hand_over(self, epoch: int | None, why: str) -> None:
        """Stop acting first, then let another lead."""
        if epoch is not None and epoch == self._acting:
            log.info("handing over", epoch=epoch, why=why)
            self._end(why)
            self.leader.hand_over(epoch, why)
        self._succession.over()

    def _prove_again(self, epoch: int) -> None:
        """Whether the fence still holds; where that cannot be asked, the last proof counts once as long."""
        every = self._settings.prove_every
        try:
            effective = self._fence.effective(epoch) and self._fence.is_raised(epoch)
        except KubeError:
            if time.monotonic() < self._proven_at + 2 * every:
                self._say_blind(epoch)
                return self._plan(min(_RETRY_SECONDS, every), _ProofDue(epoch))
            effective = False
        if not effective:
            return self._begin(epoch)
        self._proven_at = time.monotonic()
        blind = self._say_blind(epoch)
        return self._plan(min(_RETRY_SECONDS, every) if blind else every, _ProofDue(epoch))

    def _say_blind(self, epoch: int) -> bool:
        """Layers do nothing while what they go by is old, and cannot write down that they may not write."""
        at, message = self._denied
        lately = time.monotonic() - at <= 2 * self._settings.prove_every
        why = blindness(self.store.health(), message if lately else "")
        self._say_not_acting(why, epoch)
        return bool(why)

    def _say_not_acting(self, why: str, epoch: int = 0) -> None:
        """To whoever asks: readiness, the metric, the Lease; to the log only when it changes."""
        if why and why != self._unfenced:
            log.error("leading, but not acting", epoch=epoch, reason=why)
        self._unfenced = why
        self.metrics.not_acting.set(1 if why else 0)
        self.leader.tell(why)

    def _make(self, part: LayerPart, client: Client, epoch: int) -> Loop[Any, Any, Any]:
        kept, space = self._kept[part.name], self._settings.names.namespace
        waker = _Waker()
        probing = Probing(waker.wake)
        layer = part.make(
            Context(
                client, self.store, self._recorder, epoch, kept, space, waker.wake, probing, self._succession
            )
        )
        led: Led[Any, Any, Any] = Led(layer, partial(self.leader.check, epoch))
        loop: Loop[Any, Any, Any] = Loop(
            part.name,
            led,
            settled=self.store.settled,
            workers=self._workers,
            hooks=self.metrics.hooks(part.name),
        )
        waker.loop = loop
        self._probing.append(probing)
        if isinstance(layer, Hearing):
            self._hearing = self._hearing | {part.name: layer}
        if isinstance(layer, Closing):
            self._closing.append(layer)
        if isinstance(layer, LettingGo):
            self._letting_go.append(layer)
        self._loops = self._loops | {part.name: loop}
        return loop

    def _start(self, part: LayerPart, loop: Loop[Any, Any, Any]) -> None:
        loop.start()
        snapshot = self.store.snapshot()
        for watch in part.watches:
            for row in snapshot.rows(watch.kind):
                _wake(loop, part.wakes(watch.kind, None, row))
        _wake(loop, part.always)

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
        self._acting = self._due = None
        loops, self._loops, self._hearing = list(self._loops.values()), {}, {}
        probing, self._probing = self._probing, []
        for one in probing:
            one.close()
        if loops:
            with ThreadPoolExecutor(len(loops)) as stopping:
                list(stopping.map(self._stop_loop, loops))
            self._close_layers()
            self._let_go()
            log.info("not acting any more", why=why)
        if self._client:
            self._client.close()
            self._client = None

    def _close_layers(self) -> None:
        """What they have to say last; only while we lead, and not for long: nothing depends on it."""
        closing, self._closing = self._closing, []
        if closing and self.leader.leading:
            saying = threading.Thread(target=_close, args=(closing,), name="close", daemon=True)
            saying.start()
            saying.join(_LAST_WORDS)

    def _let_go(self) -> None:
        holding, self._letting_go = self._letting_go, []
        for layer in holding:
            try:
                layer.let_go()
            except Exception as error:
                log.warning("layer could not let go", reason=str(error))

    def _stop_loop(self, loop: Loop[Any, Any, Any]) -> bool:
        return loop.stop(timedelta(seconds=self._settings.grace))

    def _shut_down(self) -> None:
        """Stop acting first, then let go of the Lease, so that the next leader finds nobody at work.

        In all less than the 30 s after which a pod is killed: 3 s to notice, 10 s for steps in flight, 3 s
        for last words, 5 s for the Lease, 4 s for Events, 2 s for the watches, 2 s for the server.
        """
        self._shutting_down.set()
        self._end("stopped")
        self._candidate = False
        self.leader.stop()
        self._recorder.stop()
        self.store.stop(timeout=2.0)
        self.server.stop()
        log.info("stopped")

    def _hurry(self) -> None:
        """On a thread of its own: when it is time to stop, who still asks about the fence asks in vain."""
        self._asked_to_stop.get()
        if not self._shutting_down.wait(_TO_NOTICE):
            self._fence.give_up()

    def _epoch_so_far(self) -> int:
        return self._fence.epoch()

    def _heed_signals(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for one in (signal.SIGTERM, signal.SIGINT):
                signal.signal(one, lambda number, _: self.stop(signal.Signals(number).name))


class _Waker:
    """Wakes keys of a loop that is made after the layer which may want that."""

    def __init__(self) -> None:
        self.loop: Loop[Any, Any, Any] | None = None

    def wake(self, key: Hashable) -> None:
        """Before there is a loop there is nothing to wake: it begins by looking at everything."""
        if self.loop is not None:
            self.loop.wake(key)


def _close(layers: Iterable[Closing]) -> None:
    for layer in layers:
        try:
            layer.close()
        except Exception as error:
            log.warning("layer could not say its last", reason=str(error))


def _wake(loop: Loop[Any, Any, Any], keys: Iterable[Hashable]) -> None:
    for key in keys:
        loop.wake(key)
