"""Everything shiplift reads, in memory, as the API server has it: the eyes of all layers.

The store watches what the enabled layers declare and nothing more. A snapshot is consistent across
kinds and never changes; the store goes on. Subscribers hear of each change in order, on the thread that
read it, and must be quick. A barrier is settled when the store has seen what a write was answered with.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import TypeVar

import msgspec
import structlog

from shiplift.engine.barrier import Barrier, Gone, Seen
from shiplift.facts import kinds
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.facts.pods import Pod
from shiplift.facts.selectors import Selector
from shiplift.kube.credentials import Credentials
from shiplift.kube.rows import KIND_OF
from shiplift.kube.tables import Change, Frozen, Lookup, PodLookup, Table
from shiplift.kube.watch import Pace, Watch, Watcher

log = structlog.get_logger(__name__)

R = TypeVar("R", bound=Row)
OnChange = Callable[[Kind, Row | None, Row | None], None]


class Snapshot:
    """All tables at one moment."""

    def __init__(self, tables: Mapping[Kind, Frozen]) -> None:
        self._tables = tables

    def all(self, rows: type[R]) -> Iterable[R]:
        """Every row of that type."""
        return self._tables[KIND_OF[rows]].rows.values()  # type: ignore[return-value]

    def rows(self, kind: Kind) -> Iterable[Row]:
        """Every row of that kind, whatever its type."""
        return self._tables[kind].rows.values()

    def by_uids(self, rows: type[R]) -> Mapping[str, R]:
        """Every row of that type, by uid."""
        return self._tables[KIND_OF[rows]].rows  # type: ignore[return-value]

    def by_uid(self, rows: type[R], uid: str) -> R | None:
        return self._tables[KIND_OF[rows]].rows.get(uid)  # type: ignore[return-value]

    def find(self, rows: type[R], name: str, namespace: str = "") -> R | None:
        """By name; not for pods, which are found by uid, node, owner or labels."""
        if KIND_OF[rows] == kinds.POD:
            raise TypeError("pods are not found by name")
        table = self._tables[KIND_OF[rows]]
        uid = table.found.names.get((namespace, name))
        return table.rows.get(uid) if uid else None  # type: ignore[return-value]

    def customs(self, kind: Kind) -> Iterable[Custom]:
        return self._tables[kind].rows.values()  # type: ignore[return-value]

    def custom(self, kind: Kind, name: str, namespace: str = "") -> Custom | None:
        table = self._tables[kind]
        uid = table.found.names.get((namespace, name))
        return table.rows.get(uid) if uid else None  # type: ignore[return-value]

    def pods_on(self, node: str) -> Iterator[Pod]:
        return self._pods(self._tables[kinds.POD].found.nodes.get(node, ()))

    def pods_of(self, owner_uid: str) -> Iterator[Pod]:
        """Pods that name this owner."""
        return self._pods(self._tables[kinds.POD].found.owners.get(owner_uid, ()))

    def pods_matching(self, namespace: str, selector: Selector | None) -> Iterator[Pod]:
        """No selector picks nothing."""
        if selector is None:
            return iter(())
        return self._pods(self._tables[kinds.POD].found.matching(namespace, selector))

    def stale(self, *of: Kind) -> tuple[Kind, ...]:
        """The kinds whose rows may be old; decisions about what is irreversible wait for them."""
        return tuple(kind for kind in of or self._tables if self._tables[kind].stale)

    def behind(self, barriers: Iterable[Barrier], *of: Kind) -> tuple[Kind, ...]:
        """The kinds whose rows may be old, or lack what these writes were answered with. What was deleted and
        has no row is shown, also where something else of its kind cannot be decoded."""
        doubted = {one.kind for one in barriers if one.kind in self._tables and self._lacks(one)}
        return tuple(kind for kind in of or self._tables if kind in doubted or self._tables[kind].stale)

    def _lacks(self, barrier: Barrier) -> bool:
        table = self._tables[barrier.kind]
        if isinstance(barrier, Seen):
            return table.revision < barrier.resource_version
        row = table.rows.get(barrier.uid)
        return row is not None and not row.deleting

    def revision(self, kind: Kind) -> int:
        return self._tables[kind].revision

    def undecodable(self, kind: Kind) -> Mapping[str, str]:
        """Objects that are there but that no row could be made of, and why."""
        return self._tables[kind].undecodable

    def _pods(self, uids: Iterable[object]) -> Iterator[Pod]:
        rows = self._tables[kinds.POD].rows
        return map(rows.__getitem__, uids)  # type: ignore[arg-type]


class State(StrEnum):
    SYNCING = "syncing"
    LIVE = "live"
    STALE = "stale"


class KindHealth(msgspec.Struct, frozen=True):
    """How well one kind is watched."""

    kind: Kind
    state: State
    rows: int
    quiet_for: float
    error: str
    skipped: int
    alive: bool


class Store:
    """Fills tables from watches; start it, wait for it, read snapshots of it."""

    def __init__(self, credentials: Credentials, watches: Iterable[Watch], pace: Pace | None = None) -> None:
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._subscribers: list[OnChange] = []
        self._tables: dict[Kind, Table] = {}
        self._watchers: list[Watcher] = []
        for watch in _merge(watches):
            table = Table(_lookup_for(watch.kind), self._publisher(watch.kind))
            self._tables[watch.kind] = table
            watcher = Watcher(credentials, watch, table, self._changed, pace or Pace())
            self._watchers.append(watcher)

    def start(self) -> None:
        for watcher in self._watchers:
            watcher.start()

    def stop(self, timeout: float = 5.0) -> None:
        for watcher in self._watchers:
            watcher.stop()
        deadline = time.monotonic() + timeout
        for watcher in self._watchers:
            watcher.join(max(0.0, deadline - time.monotonic()))

    def subscribe(self, on_change: OnChange) -> None:
        """Hear of every change from now on: kind, old row, new row (None: it was not, or is not, there). With
        neither row, other objects than before cannot be decoded."""
        with self._lock:
            self._subscribers.append(on_change)

    def wait_synced(self, timeout: float) -> bool:
        """True when every kind has its first full state."""
        done = self._wait(lambda: all(table.synced for table in self._tables.values()), timeout)
        if done:
            _return_memory()
        return done

    def wait_settled(self, barriers: Iterable[Barrier], timeout: float) -> bool:
        wanted = tuple(barriers)
        return self._wait(lambda: self.settled(wanted), timeout)

    def settled(self, barriers: Iterable[Barrier]) -> bool:
        """Whether the store shows what these writes were answered with. Kinds not watched need no wait."""
        with self._lock:
            return all(self._settled(barrier) for barrier in barriers)

    def snapshot(self, *of: Kind) -> Snapshot:
        """All kinds at this moment, or only those named; what is left out costs the next event nothing."""
        with self._lock:
            return Snapshot({kind: self._tables[kind].freeze() for kind in of or self._tables})

    def stale(self, *of: Kind) -> tuple[Kind, ...]:
        """The kinds of these whose rows may be old at this moment."""
        with self._lock:
            return tuple(kind for kind in of if self._tables[kind].stale)

    def health(self) -> list[KindHealth]:
        now = time.monotonic()
        with self._lock:
            return [self._health(watcher, now) for watcher in self._watchers]

    def _health(self, watcher: Watcher, now: float) -> KindHealth:
        kind = watcher.watch.kind
        table = self._tables[kind]
        state = State.SYNCING if not table.synced else State.STALE if table.stale else State.LIVE
        return KindHealth(
            kind,
            state,
            len(table.rows),
            now - watcher.heard,
            watcher.error,
            watcher.decode_failures,
            watcher.alive,
        )

    def _settled(self, barrier: Barrier) -> bool:
        table = self._tables.get(barrier.kind)
        if table is None:
            return True
        match barrier:
            case Seen(resource_version=wanted):
                return table.revision >= wanted
            case Gone(uid=uid):
                row = table.rows.get(uid)
                # while something cannot be decoded, "no row" need not mean "gone"
                return row.deleting > 0 if row is not None else not table.undecodable

    def _publisher(self, kind: Kind) -> Change:
        def publish(old: Row | None, new: Row | None) -> None:
            for subscriber in self._subscribers:
                try:
                    subscriber(kind, old, new)
                except Exception:
                    log.exception("subscriber failed", kind=str(kind))

        return publish

    def _wait(self, done: Callable[[], bool], timeout: float) -> bool:
        with self._changed:
            return self._changed.wait_for(done, timeout)


def _lookup_for(kind: Kind) -> Lookup:
    return PodLookup() if kind == kinds.POD else Lookup()


def _merge(watches: Iterable[Watch]) -> Iterable[Watch]:
    """One watch a kind: the same asked twice is one; a whole kind covers parts of it."""
    merged: dict[Kind, Watch] = {}
    for watch in watches:
        known = merged.setdefault(watch.kind, watch)
        if known != watch:
            merged[watch.kind] = Watch(watch.kind)
    return merged.values()


def _return_memory() -> None:
    """Give what decoding left free back to the system, where the C library can (glibc)."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
