"""Status writes: only what differs, only over what was seen, and not more often than anybody needs.

What decisions or people who wait depend on is written at once. Everything else is told about once a second,
and mere progress less often where a write takes long: a large status is dear for the API server.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, NamedTuple, TypeVar, cast

import msgspec

from shiplift.api.values import Status
from shiplift.engine.barrier import Barrier
from shiplift.engine.decision import Requeue, requeue
from shiplift.engine.denials import is_denial
from shiplift.engine.progress import Weight
from shiplift.facts.kinds import Kind
from shiplift.kube.client import Client, Written
from shiplift.kube.errors import Conflict, NotFound

S = TypeVar("S", bound=Status)

EVERY = 1.0
"""Seconds between two tellings of what no decision waits for."""
REST, LONGEST_REST = 8, 5.0
"""After a write that took a second, mere progress is not told for that many, up to so many seconds."""


class Subject(NamedTuple):
    """The object whose status is written, in the version that was seen."""

    kind: Kind
    name: str
    uid: str
    resource_version: str
    namespace: str = ""


class Pace:
    """When the status of one object may be told again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next = self._next_progress = float("-inf")

    def left(self, weight: Weight[S], before: S, after: S) -> float:
        """For how many seconds a change is not worth a write."""
        due = self._next_progress if weight.only_progress(before, after) else self._next
        left = due - self._clock()
        return 0.0 if left <= 0 or weight.pressing(before, after) else left

    def told(self, began: float) -> None:
        """A write that began then is done."""
        took = self._clock() - began
        self._next = began + EVERY
        self._next_progress = max(self._next, began + took + min(REST * took, LONGEST_REST))

    def now(self) -> float:
        return self._clock()


def write(client: Client, subject: Subject, before: Status, after: Status) -> Written | None:
    """The status as it should be; None where somebody changed the object meanwhile, or it is gone: the next
    look sees that. A webhook may answer so too: that is no such change."""
    try:
        return client.patch(
            subject.kind,
            subject.name,
            {"status": as_patch(before, after)},
            subject.namespace,
            uid=subject.uid,
            resource_version=subject.resource_version,
            subresource="status",
        )
    except (Conflict, NotFound) as error:
        if is_denial(error.message):
            raise
        return None


def put_off(seconds: float) -> Requeue:
    """Look again when what was not worth a write may be told."""
    return requeue(timedelta(seconds=seconds))


def barriers(written: Written | None) -> Iterable[Barrier]:
    """What the store must show before the next decision."""
    return (written.barrier,) if written is not None and written.barrier is not None else ()


def as_patch(before: Status, after: Status) -> dict[str, Any]:
    """A merge patch: what is no longer said is taken out."""
    old: dict[str, Any] = msgspec.to_builtins(before)
    new: dict[str, Any] = msgspec.to_builtins(after)
    return {**{key: None for key in old if key not in new}, **_changed(old, new)}


def _changed(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Lists and values that differ; maps are replaced whole, with what went from them taken out."""
    changed: dict[str, Any] = {}
    for key, value in new.items():
        if key in old and old[key] == value:
            continue
        if isinstance(value, dict):
            had = cast("dict[str, Any]", old.get(key) or {})
            gone: dict[str, Any] = {one: None for one in had if one not in value}
            changed[key] = {**gone, **value}
        else:
            changed[key] = value
    return changed
