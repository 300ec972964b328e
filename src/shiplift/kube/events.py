"""Kubernetes Events about what shiplift does, told without ever holding up the doing.

What it keeps true: `record` never blocks, never fails and never waits for the API server; what is not told is
counted. The same thing said again about the same object within `window` becomes one Event with a growing
count. One object cannot flood the cluster: it has a bucket of new Events that refills slowly. Everything kept
in memory is bounded.
"""

from __future__ import annotations

import queue
import re
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Self

import msgspec
import structlog

from shiplift.facts.kinds import EVENT, Kind
from shiplift.kube.client import Client, PatchType
from shiplift.kube.credentials import Credentials
from shiplift.kube.errors import (
    AlreadyExists,
    ApiError,
    KubeError,
    NotFound,
    PreconditionFailed,
    ServerError,
    Throttled,
)

NOTE_BYTES = 1024
"""The API server refuses a longer note."""

_OBJECTS_KEPT = 4096

log = structlog.get_logger(__name__)


class EventType(StrEnum):
    """How a person should read it."""

    NORMAL = "Normal"
    WARNING = "Warning"


class Regarding(msgspec.Struct, frozen=True):
    """The object that an Event is about."""

    kind: Kind
    name: str
    namespace: str = ""
    uid: str = ""


class Happening(msgspec.Struct, frozen=True):
    """What happened. Two equal ones are the same thing said twice."""

    regarding: Regarding
    reason: str
    action: str
    note: str
    type: EventType = EventType.NORMAL


class Pace(msgspec.Struct, frozen=True):
    """In seconds. An object has `burst` new Events, and one more every `refill`."""

    window: float = 600.0
    series_every: float = 10.0
    burst: int = 25
    refill: float = 300.0
    most_waiting: int = 1000
    most_tries: int = 5
    retry: float = 1.0


class Series(msgspec.Struct):
    """One Event in the cluster and how often it has been said."""

    name: str
    since: float
    last: datetime
    count: int = 1
    uid: str = ""
    told: int = 0
    told_at: float = float("-inf")


class Bucket(msgspec.Struct):
    """What is left of an object's allowance."""

    left: float
    at: float

    def take(self, pace: Pace, now: float) -> bool:
        """Refill for the time gone by, then take one if there is one."""
        self.left = min(pace.burst, self.left + (now - self.at) / pace.refill)
        self.at = now
        if self.left < 1:
            return False
        self.left -= 1
        return True


def rules() -> list[Mapping[str, Any]]:
    """The RBAC that a recorder needs wherever the objects are that it speaks of."""
    return [{"apiGroups": [EVENT.group], "resources": [EVENT.plural], "verbs": ["create", "patch", "get"]}]


def shortened(note: str, limit: int = NOTE_BYTES) -> str:
    """The note within `limit` bytes, never cut inside a character."""
    data = note.encode()
    if len(data) <= limit:
        return note
    ellipsis = "…"
    return data[: limit - len(ellipsis.encode())].decode(errors="ignore") + ellipsis


class Recorder:
    """Takes what happened from any thread and tells it from a thread of its own."""

    def __init__(
        self,
        credentials: Credentials,
        *,
        controller: str = "shiplift.dev/operator",
        instance: str,
        pace: Pace | None = None,
    ) -> None:
        self.controller, self.instance = controller, instance[:128]
        self.pace = pace or Pace()
        self.dropped = 0
        self._client = Client(credentials, field_manager="shiplift-events")
        self._waiting: queue.Queue[tuple[Happening, datetime]] = queue.Queue(self.pace.most_waiting)
        self._series: OrderedDict[Happening, Series] = OrderedDict()
        self._buckets: OrderedDict[Regarding, Bucket] = OrderedDict()
        self._stopping = threading.Event()
        self._give_up_at = float("inf")
        self._swept_at = float("-inf")
        self._thread = threading.Thread(target=self._run, name="events", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout: float = 3.0) -> None:
        """Tell what is waiting, but for no longer than `timeout`."""
        self._give_up_at = time.monotonic() + timeout
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(timeout + 1.0)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def record(
        self,
        regarding: Regarding,
        reason: str,
        note: str,
        *,
        action: str,
        type: EventType = EventType.NORMAL,  # noqa: A002 - the API's own word
    ) -> None:
        """Say that something happened; returns at once, whatever the API server does."""
        happening = Happening(regarding, reason[:128], action[:128], shortened(note), type)
        try:
            self._waiting.put_nowait((happening, datetime.now(UTC)))
        except queue.Full:
            self._drop("queue is full", happening)

    # --- the thread ---

    def _run(self) -> None:
        try:
            while not (self._stopping.is_set() and self._waiting.empty()):
                self._take_one()
                self._tell_series(time.monotonic())
            self._tell_series(float("inf"))
        finally:
            self._client.close()

    def _take_one(self) -> None:
        pause = 0.0 if self._stopping.is_set() else min(0.2, self.pace.series_every)
        try:
            happening, at = self._waiting.get(timeout=pause) if pause else self._waiting.get_nowait()
        except queue.Empty:
            return
        self._heard(happening, at, time.monotonic())

    def _heard(self, happening: Happening, at: datetime, now: float) -> None:
        series = self._series.get(happening)
        if series is not None and now - series.since < self.pace.window:
            series.count, series.last = series.count + 1, at
        elif self._allowance(happening.regarding, now).take(self.pace, now):
            self._first(happening, at, now)
        else:
            self._drop("too many about one object", happening)

    def _first(self, happening: Happening, at: datetime, now: float) -> None:
        self._series.pop(happening, None)
        series = Series(_event_name(happening.regarding.name), since=now, last=at)
        self._remember(happening, series)
        self._tell(happening, series)

    def _allowance(self, regarding: Regarding, now: float) -> Bucket:
        bucket = self._buckets.setdefault(regarding, Bucket(self.pace.burst, now))
        self._buckets.move_to_end(regarding)
        if len(self._buckets) > _OBJECTS_KEPT:
            self._buckets.popitem(last=False)
        return bucket

    def _remember(self, happening: Happening, series: Series) -> None:
        self._series[happening] = series
        if len(self._series) > _OBJECTS_KEPT:
            forgotten, last = self._series.popitem(last=False)
            if last.count > last.told:
                self._tell(forgotten, last)

    def _tell_series(self, now: float) -> None:
        if now - self._swept_at < min(1.0, self.pace.series_every):
            return
        self._swept_at = time.monotonic()
        for happening, series in list(self._series.items()):
            if series.count > series.told and now - series.told_at >= self.pace.series_every:
                self._tell(happening, series)
            if now - series.since >= self.pace.window:
                self._series.pop(happening, None)

    def _tell(self, happening: Happening, series: Series) -> None:
        """Try a few times; the name is ours, so that trying again makes no second Event."""
        failure = self._tried(happening, series)
        if failure:
            self._drop(failure, happening)
        series.told, series.told_at = series.count, time.monotonic()

    def _tried(self, happening: Happening, series: Series) -> str:
        """Why it could not be told; empty when it was."""
        failure = "stopping"
        for attempt in range(1, self.pace.most_tries + 1):
            if time.monotonic() >= self._give_up_at:
                break
            try:
                self._send(happening, series)
            except KubeError as error:
                failure = str(error)
                if not _worth_another_try(error) or not self._pause(attempt):
                    break
            else:
                return ""
        return failure

    def _pause(self, attempt: int) -> bool:
        """Wait before the next try; False when the time for stopping is over."""
        left = self._give_up_at - time.monotonic()
        delay = min(self.pace.retry * 2 ** (attempt - 1), 30.0)
        if self._stopping.is_set():
            time.sleep(max(0.0, min(delay, left)))
        else:
            self._stopping.wait(delay)
        return time.monotonic() < self._give_up_at

    def _send(self, happening: Happening, series: Series) -> None:
        namespace = happening.regarding.namespace or "default"
        if series.uid:
            try:
                patch = {"series": _series(series)}
                self._client.patch(EVENT, series.name, patch, namespace, type=PatchType.MERGE, uid=series.uid)
            except (NotFound, PreconditionFailed):
                series.uid = ""
            else:
                return
        try:
            made = self._client.create(EVENT, self._body(happening, series, namespace), namespace).object
        except AlreadyExists:
            made = self._client.get(EVENT, series.name, namespace)
        series.uid = made["metadata"]["uid"]

    def _body(self, happening: Happening, series: Series, namespace: str) -> dict[str, Any]:
        about = happening.regarding
        body: dict[str, Any] = {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.kind,
            "metadata": {"name": series.name, "namespace": namespace},
            "eventTime": _micro_time(series.last),
            "reportingController": self.controller,
            "reportingInstance": self.instance,
            "action": happening.action,
            "reason": happening.reason,
            "note": happening.note,
            "type": happening.type.value,
            "regarding": {
                "apiVersion": about.kind.api_version,
                "kind": about.kind.kind,
                "name": about.name,
                "namespace": about.namespace,
                "uid": about.uid,
            },
        }
        return body | ({"series": _series(series)} if series.count > 1 else {})

    def _drop(self, why: str, happening: Happening) -> None:
        self.dropped += 1
        log.debug("event.dropped", why=why, reason=happening.reason, about=happening.regarding.name)


def _event_name(about: str) -> str:
    """A name of our choosing: begins with the object's, as far as a name may, and is never used twice."""
    stem = re.sub(r"[^a-z0-9.-]+", "-", about.lower())[:200].strip("-.") or "event"
    return f"{stem}.{uuid.uuid4().hex[:16]}"


def _series(series: Series) -> dict[str, Any]:
    return {"count": series.count, "lastObservedTime": _micro_time(series.last)}


def _worth_another_try(error: KubeError) -> bool:
    """Not when the server has understood and refused: a namespace that is going, a right that is missing."""
    return not isinstance(error, ApiError) or isinstance(error, Throttled | ServerError)


def _micro_time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
