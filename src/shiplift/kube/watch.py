"""One kind, followed: synced once, then event by event, for as long as the process lives.

    SYNCING ──all rows staged──▶ FOLLOWING ──stream ends──▶ FOLLOWING again from the same version
       ▲                             │
       └──────── 410, or a version the server cannot know ──┘

A sync asks for the initial state as a stream (WatchList); a server that cannot is asked for pages. Rows
are staged apart and put in place at once, so readers see the old state or the new one, never a mixture;
a row whose version has not changed is kept as it is, so a sync again needs hardly more memory.

Rows count as old when nothing was heard of their kind for `Pace.age`, whatever the connection looks like: a
proxy may acknowledge everything. Of a kind in which little happens the server has nothing to say for longer,
so a watch that is quiet is asked for anew, for a short time: that it begins, and that the server ends it in
order, are the signs of life.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from datetime import timedelta

import msgspec
import structlog

from shiplift.engine.backoff import Backoff
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.kube import errors
from shiplift.kube.codec import Codec, Identity, codec_for
from shiplift.kube.collection import paused_collection
from shiplift.kube.credentials import Credentials
from shiplift.kube.stream import Silence, Stream
from shiplift.kube.tables import Table

log = structlog.get_logger(__name__)
_dice = random.Random()
"""Our own: threads of ours leave the one that all share alone."""

_LIST_LIMIT = 500
_SHORT = 1.0
"""A watch that ends sooner is asked for again only after a pause."""
_CATCH_UP = 1.0
"""So long after a resume rows still count as stale: what was missed is on its way."""
_ASK_VERSION = 60.0
"""Seconds between two questions for the version of a server that says nothing of a kind."""
_PAGE_BYTES = 512 << 20


class Watch(msgspec.Struct, frozen=True):
    """What a layer wants to have in the store: a kind, whole or in part."""

    kind: Kind
    namespace: str = ""
    field_selector: str = ""

    @property
    def path(self) -> str:
        return self.kind.path(self.namespace)

    def query(self, **more: str) -> dict[str, str]:
        chosen = {"fieldSelector": self.field_selector} if self.field_selector else {}
        return chosen | more


class Pace(msgspec.Struct, frozen=True):
    """How long things may take, in seconds."""

    connect: float = 10.0
    idle: float = 90.0
    """While a kind is synced: nothing heard for this long, and the connection is dead."""
    quiet: float = 20.0
    """A watch of which nothing is heard for this long is asked for anew, and ended by the server after it."""
    age: float = 30.0
    """What was heard longer ago is old. Time enough to ask anew once."""
    server: tuple[int, int] = (300, 600)
    """The server ends a watch after a time between these, so that watches spread over API servers."""
    backoff: Backoff = Backoff(
        first=timedelta(seconds=0.8), cap=timedelta(seconds=30), factor=2.0, jitter=0.5
    )


class Watcher:
    """Keeps one table true. Runs on its own thread; nothing but `stop` ends it."""

    def __init__(
        self, credentials: Credentials, watch: Watch, table: Table, changed: threading.Condition, pace: Pace
    ) -> None:
        self.watch = watch
        self.heard = time.monotonic()
        self.error = ""
        self.decode_failures = 0
        self._credentials = credentials
        self._table = table
        self._changed = changed
        self._pace = pace
        self._codec: Codec = codec_for(watch.kind)
        self._stopping = threading.Event()
        self._stream: Stream | None = None
        self._needs_sync = True
        self._synced_at = float("-inf")
        self._spoke = 0
        """Events of this connection so far."""
        self._quiet = False
        """Whether little happens in this kind: watches are then asked for a short time only."""
        self._version_asked = float("-inf")
        self._failures = 0
        self._following_since = 0.0
        self._thread = threading.Thread(target=self._run, name=f"watch-{watch.kind}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._stream:
            self._stream.end()

    def join(self, timeout: float) -> None:
        self._thread.join(timeout)

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._follow_once()
                self._failures = 0
            except errors.Gone as error:
                at_once = self._needs_sync or time.monotonic() - self._synced_at < _SHORT
                self._lose("the version we had is compacted")
                if at_once:
                    self._failed(error)
            except (errors.KubeError, msgspec.MsgspecError, ValueError) as error:
                self._failed(error)
            except Exception as error:
                if not self._stopping.is_set():
                    log.exception("watch failed unexpectedly", kind=str(self.watch.kind))
                self._failed(error)

    def _follow_once(self) -> None:
        """One connection: sync if that is needed, then follow until the server ends it."""
        if self._needs_sync:
            try:
                return self._watch(self._initial_query())
            except errors.ApiError as error:
                if not _cannot_stream(error):
                    raise
            with paused_collection:
                self._sync_by_pages()
        return self._watch({"resourceVersion": str(self._table.revision)})

    def _initial_query(self) -> dict[str, str]:
        return {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}

    def _watch(self, query: dict[str, str]) -> None:
        short = self._quiet and not self._needs_sync
        limit = self._short() if short else _dice.randint(*self._pace.server)
        query = self.watch.query(watch="1", allowWatchBookmarks="true", timeoutSeconds=str(limit), **query)
        with self._connect() as stream:
            began = time.monotonic()
            chunks = stream.get(self.watch.path, query, self._codec.accept_watch)
            events = self._codec.events(chunks)
            self._spoke = 0
            if self._needs_sync:
                with paused_collection:
                    self._stage(events)
            else:
                self._resumed()
            self._following_since = time.monotonic()
            stream.bear(self._pace.age if short else self._pace.quiet)
            ended = self._follow(events, short=short)
        if ended and time.monotonic() - began < _SHORT:
            raise errors.Unreachable("the server ended the watch at once")
        if short:
            self._quiet = self._spoke < limit
            self._ask_version()

    def _follow(self, events: Iterator[tuple[str, bytes]], *, short: bool) -> bool:
        """Until the server ends it, or nothing more is heard where the server need not have said anything;
        whether the server did."""
        try:
            for kind, raw in events:
                self._apply(kind, raw)
        except Silence:
            if short:
                raise
            self._quiet = True
            return False
        self._heard()
        return True

    def _short(self) -> int:
        """Whole seconds, and not the same for all kinds."""
        return max(1, round(self._pace.quiet * _dice.uniform(0.75, 1)))

    def _ask_version(self) -> None:
        """Of a kind in which nothing has happened since the server started there are no bookmarks. To a watch
        from a version that is yet to come a server says nothing either: one that was put back to an earlier
        state is found out by a list of one object, which costs it little."""
        now = time.monotonic()
        if self._spoke or now - self._version_asked < min(_ASK_VERSION, 3 * self._pace.quiet):
            return
        self._version_asked = now
        if self._codec.page(self._read(self.watch.query(limit="1"))).resource_version < self._table.revision:
            raise errors.Gone("the server is behind the version we had", status=410)

    def _connect(self) -> Stream:
        answer = self._pace.idle if self._needs_sync else self._pace.connect
        self._stream = Stream(
            self._credentials, connect=self._pace.connect, idle=self._pace.idle, answer=answer
        )
        if self._stopping.is_set():
            self._stream.end()
        return self._stream

    def _stage(self, events: Iterator[tuple[str, bytes]]) -> None:
        """Take the initial state, then put it in place at once."""
        staged: dict[str, Row] = {}
        failures: dict[str, str] = {}
        for kind, raw in events:
            if kind == "BOOKMARK":
                mark = self._codec.bookmark(raw)
                if mark.initial_end:
                    return self._put_in_place(staged, failures, mark.resource_version)
            elif kind == "ERROR":
                raise self._codec.error(raw)
            elif kind == "DELETED":
                known = self._codec.identity(raw)
                staged.pop(known.uid, None)
                failures.pop(str(known), None)
            else:
                self._stage_one(raw, staged, failures)
        if not self._stopping.is_set():
            raise errors.Unreachable("the initial state broke off")
        return None

    def _stage_one(self, raw: bytes, staged: dict[str, Row], failures: dict[str, str]) -> None:
        if self._table.rows:
            known = self._codec.identity(raw)
            old = self._table.rows.get(known.uid)
            if old is not None and old.resource_version == known.resource_version:
                staged[known.uid] = old
                return
        row = self._decode(raw, failures)
        if row is None:
            staged.pop(self._identify(raw).uid, None)
            return
        staged[row.uid] = row
        if failures:
            failures.pop(_name(row), None)

    def _sync_by_pages(self) -> None:
        """For servers without WatchList: pages of one consistent list."""
        staged: dict[str, Row] = {}
        failures: dict[str, str] = {}
        query = self.watch.query(limit=str(_LIST_LIMIT))
        while True:
            page = self._codec.page(self._read(query))
            for raw in page.items:
                self._stage_one(raw, staged, failures)
            self.heard = time.monotonic()
            if not page.next:
                return self._put_in_place(staged, failures, page.resource_version)
            query["continue"] = page.next

    def _read(self, query: dict[str, str]) -> bytes:
        body = bytearray()
        with self._connect() as stream:
            for chunk in stream.get(self.watch.path, query, self._codec.accept_list):
                body += chunk
                if len(body) > _PAGE_BYTES:
                    raise errors.BadAnswer(f"a page of {self.watch.kind} is larger than {_PAGE_BYTES} bytes")
        return bytes(body)

    def _put_in_place(self, rows: dict[str, Row], failures: dict[str, str], revision: int) -> None:
        with self._changed:
            self._table.replace(rows, revision, failures)
            self._changed.notify_all()
        self._needs_sync = False
        self._synced_at = time.monotonic()
        self._heard()
        log.debug("synced", kind=str(self.watch.kind), rows=len(rows), revision=revision)

    def _apply(self, kind: str, raw: bytes) -> None:
        if kind == "BOOKMARK":
            mark = self._codec.bookmark(raw)
            if mark.resource_version < self._table.revision:
                raise errors.Gone("the server is behind the version we had", status=410)
            with self._changed:
                self._table.reach(mark.resource_version)
                self._changed.notify_all()
        elif kind == "ERROR":
            raise self._codec.error(raw)
        elif kind == "DELETED":
            known = self._codec.identity(raw)
            with self._changed:
                self._table.unskip(str(known))
                self._table.remove(known.uid, known.resource_version)
                self._changed.notify_all()
        else:
            self._apply_object(raw)
        self._spoke += 1
        self._heard()

    def _apply_object(self, raw: bytes) -> None:
        failures: dict[str, str] = {}
        row = self._decode(raw, failures)
        with self._changed:
            if row is not None:
                self._table.put(row)
                if self._table.undecodable:
                    self._table.unskip(_name(row))
            else:
                # As after a sync: no row, rather than one that says what is no longer so.
                known = self._identify(raw)
                self._table.skip(failures)
                self._table.remove(known.uid, known.resource_version)
            self._changed.notify_all()

    def _decode(self, raw: bytes, failures: dict[str, str]) -> Row | None:
        """The row, or None: what cannot be decoded is named and counted, and stops nothing."""
        try:
            return self._codec.row(raw)
        except Exception as error:
            name = str(self._identify(raw))
            failures[name] = str(error)[:500]
            self.decode_failures += 1
            log.warning("object skipped", kind=str(self.watch.kind), name=name, reason=str(error)[:500])
            return None

    def _identify(self, raw: bytes) -> Identity:
        """Of an object that cannot be decoded, as far as it can be told."""
        try:
            return self._codec.identity(raw)
        except Exception:
            return Identity("", "?", "", 0)

    def _heard(self) -> None:
        self.heard = time.monotonic()
        self._table.fresh_until = self.heard + self._pace.age
        self.error = ""

    def _resumed(self) -> None:
        """The server goes on where we were: what we missed comes at once, and then we are up to date."""
        self._heard()
        with self._changed:
            self._table.stale_until = min(self._table.stale_until, time.monotonic() + _CATCH_UP)

    def _lose(self, reason: str) -> None:
        """What we have is old and cannot be continued: serve it, marked stale, and sync again."""
        log.info("syncing again", kind=str(self.watch.kind), reason=reason)
        self._needs_sync = True
        with self._changed:
            self._table.stale_until = float("inf")

    def _followed_a_while(self) -> bool:
        """Whether what failed had worked: then it is the first failure, not one more in a row."""
        since, self._following_since = self._following_since, 0.0
        return since > 0 and time.monotonic() - since > _SHORT

    def _failed(self, error: Exception) -> None:
        if self._stopping.is_set():
            return
        before, self.error = self.error, _in_words(error, self.watch.kind)
        self._failures = 1 if self._followed_a_while() else self._failures + 1
        if isinstance(error, errors.ApiError) and "Too large resource version" in error.message:
            self._lose("the server has not reached the version we had")
        with self._changed:
            self._table.stale_until = float("inf")
        wait = self._pace.backoff.delay(self._failures, _dice.random()).total_seconds()
        if isinstance(error, errors.ApiError) and error.retry_after:
            wait = max(wait, error.retry_after)
        tell = log.debug if self.error == before else log.info
        tell("watch broke off", kind=str(self.watch.kind), reason=self.error, again_in=round(wait, 2))
        self._stopping.wait(wait)


def _name(row: Row) -> str:
    return str(Identity(row.namespace, row.name, "", 0))


def _in_words(error: Exception, kind: Kind) -> str:
    """Of a kind that is not served the server says no more than that a page was not found."""
    if not isinstance(error, errors.NotFound):
        return str(error)
    hint = " (hint: apply the output of `shiplift crds`)" if kind.custom else ""
    return f"the server has no {kind.plural} in {kind.api_version}{hint}"


def _cannot_stream(error: errors.ApiError) -> bool:
    """A server without WatchList refuses the parameters."""
    return error.status in (400, 405, 422)
