"""An independent eye on the real API server: every state of every object that matters, in the order it was.

One etcd stands behind the server, so the resourceVersions of all kinds are one row of numbers: sorted by it,
the events of separate watches become the one history of the cluster.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from shiplift.facts.kinds import Kind
from shiplift.kube.client import Client
from shiplift.kube.credentials import Credentials
from shiplift.kube.errors import KubeError
from shiplift.kube.stream import JSON, Stream, lines
from tests.until import until

_dice = random.Random()
"""Our own: threads of ours leave the one that all share alone."""
Json = dict[str, Any]


class Key(msgspec.Struct, frozen=True, order=True):
    """An object by name."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace + '/' if self.namespace else ''}{self.name}"


class Change(msgspec.Struct, frozen=True):
    """One event: the object as it was then; gone when it is deleted."""

    version: int
    key: Key
    object: Json
    gone: bool = False


State = dict[Key, Json]


class Trace(msgspec.Struct, frozen=True):
    """All that happened: the objects at the start, and every change, in order."""

    start: State
    changes: tuple[Change, ...]

    def end(self) -> State:
        state = dict(self.start)
        for change in self.changes:
            state.pop(change.key, None)
            if not change.gone:
                state[change.key] = change.object
        return state


def moments(trace: Trace) -> Iterator[tuple[Change, State]]:
    """Each change, and all objects as they were right after it."""
    state = dict(trace.start)
    for change in trace.changes:
        state.pop(change.key, None)
        if not change.gone:
            state[change.key] = change.object
        yield change, state


def told(change: Change) -> str:
    """One line, for whoever has to find out what happened."""
    if change.gone:
        return f"{change.version} {change.key} is gone"
    about, status = change.object["metadata"], change.object.get("status", {})
    conditions: list[Json] = status.get("conditions") or []
    ready = next((one for one in conditions if one["type"] == "Ready"), {})
    said = {
        "node": change.object.get("spec", {}).get("nodeName"),
        "ready": ready.get("status"),
        "because": ready.get("reason"),
        "ends": about.get("deletionTimestamp"),
        **{
            key: status.get(key) for key in ("phase", "disruptionsAllowed", "currentHealthy", "disruptedPods")
        },
    }
    words = ", ".join(f"{key} {value}" for key, value in said.items() if value not in (None, "", {}))
    return f"{change.version} {change.key} {about['uid'][:8]}: {words}"


def key_of(kind: str, thing: Json) -> Key:
    return Key(kind, thing["metadata"].get("namespace", ""), thing["metadata"]["name"])


class Recorder:
    """Watches for as long as it lives; `begin` and `end` cut one run out of what it sees."""

    def __init__(self, credentials: Credentials, admin: Client, watched: Sequence[Kind]) -> None:
        self._credentials, self._admin, self._watched = credentials, admin, watched
        self._lock = threading.Lock()
        self._live: State = {}
        self._start: State = {}
        self._changes: list[Change] = []
        self._streams: dict[Kind, Stream] = {}
        self._synced: set[Kind] = set()
        self._closed = False
        for kind in watched:
            threading.Thread(target=self._follow, args=(kind,), name=f"record {kind}", daemon=True).start()
        until(lambda: len(self._synced) == len(watched), 30)

    def live(self) -> State:
        with self._lock:
            return dict(self._live)

    def begin(self) -> None:
        self.catch_up()
        with self._lock:
            self._start, self._changes = dict(self._live), []

    def end(self) -> Trace:
        self.catch_up()
        with self._lock:
            return Trace(self._start, tuple(sorted(self._changes, key=lambda one: one.version)))

    def catch_up(self) -> None:
        """Until it has seen what the server has now."""
        until(lambda: self._versions() == self._versions_now())

    def close(self) -> None:
        self._closed = True
        for stream in self._streams.values():
            stream.end()

    def _versions(self) -> dict[Key, str]:
        return {key: thing["metadata"]["resourceVersion"] for key, thing in self.live().items()}

    def _versions_now(self) -> dict[Key, str]:
        return {
            key_of(kind.kind, thing): thing["metadata"]["resourceVersion"]
            for kind in self._watched
            for thing in self._admin.list(kind)
        }

    def _follow(self, kind: Kind) -> None:
        version = ""
        while not self._closed:
            with contextlib.suppress(KubeError):
                version = self._watch(kind, version)
            time.sleep(0 if self._closed else 0.05)

    def _watch(self, kind: Kind, version: str) -> str:
        query = {
            "watch": "1",
            "timeoutSeconds": str(_dice.randint(3000, 3600)),
            "allowWatchBookmarks": "true",
        }
        query |= (
            {"resourceVersion": version}
            if version
            else {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        )
        stream = self._streams[kind] = Stream(self._credentials, connect=10, idle=3700)
        with stream:
            for line in lines(stream.get(kind.path(), query, JSON)):
                event: Json = msgspec.json.decode(line)
                if event["type"] == "ERROR":
                    return ""
                version = event["object"]["metadata"]["resourceVersion"]
                self._note(kind, event)
        return version

    def _note(self, kind: Kind, event: Json) -> None:
        thing = event["object"]
        if event["type"] == "BOOKMARK":
            self._synced.add(kind)
            return
        thing["metadata"].pop("managedFields", None)
        gone = event["type"] == "DELETED"
        change = Change(int(thing["metadata"]["resourceVersion"]), key_of(kind.kind, thing), thing, gone)
        with self._lock:
            self._changes.append(change)
            self._live.pop(change.key, None)
            if not gone:
                self._live[change.key] = thing
