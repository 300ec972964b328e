"""Views of a service of four servers, to be changed in what a test is about."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from shiplift.engine.probes import Truth
from shiplift.engine.step import Started
from shiplift.quorum.engines.protocol import Told
from shiplift.quorum.model import Candidate, Member, Order, Pool, Swap, Validity, View, Wanted

OLD, NEW = "2025-04-22T22:12:26Z", "RELEASE.2025-09-07T16-13-09Z"
OLDER, OLDEST = "2024-12-18T13:15:44Z", "2024-01-01T00:00:00Z"
TARGET_SAID = "2025-09-07T16:13:09Z"
"""As a server says the new version."""
NOW = datetime(2026, 11, 17, 9, tzinfo=UTC)
DIGEST = f"sha256:{'a' * 64}"
WAS = "quay.io/minio/minio:RELEASE.2025-04-22T22-12-26Z"
TAGGED = f"quay.io/minio/minio:{NEW}"
IMAGE = f"{TAGGED}@{DIGEST}"
SERVICE = "store"
ALL = frozenset(f"uid-{at}" for at in range(4))
ENDPOINTS = tuple(f"minio-{at}.minio.store.svc.cluster.local:9000" for at in range(4))

ORDER = Order(
    {OLDEST: 1, OLDER: 2, OLD: 3, NEW: 4, TARGET_SAID: 4}, frozenset((OLDER, OLD, NEW, TARGET_SAID))
)
GOOD = Candidate(Validity.GOOD, NEW, IMAGE)
UNKNOWN = Candidate(Validity.UNKNOWN)


def told(version: str = OLD, **changed: Any) -> Told:
    return msgspec.structs.replace(Told(version, True, 2, ENDPOINTS), **changed)


def member(at: int, **changed: Any) -> Member:
    made = Member(
        f"minio-{at}",
        f"uid-{at}",
        "minio",
        WAS,
        ready=True,
        leaving=False,
        told=told(),
        sings=Truth.TRUE,
        may_stop=Truth.TRUE,
    )
    return msgspec.structs.replace(made, **changed)


def members(**changed: Any) -> tuple[Member, ...]:
    return tuple(member(at, **changed) for at in range(4))


def swap(**changed: Any) -> Swap:
    return msgspec.structs.replace(Swap(SERVICE, NEW, IMAGE, WAS, held=True), **changed)


def pool(**changed: Any) -> Pool:
    return msgspec.structs.replace(Pool("minio", "uid-set", WAS, on_delete=False, replicas=4), **changed)


def begun(**changed: Any) -> Pool:
    return pool(image=IMAGE, on_delete=True, swap=swap(**changed))


def view(**changed: Any) -> View:
    """All four run the old version, the image is good, servers could take it, nothing is begun."""
    made = View(SERVICE, Wanted(TAGGED), (pool(),), (), members(), GOOD, ORDER, rehearsed=ALL, uid="uid-qs")
    return msgspec.structs.replace(made, **changed)


def record(verb: str, target: str = NEW, *, age: timedelta = timedelta(0), attempt: int = 1) -> Started:
    started = NOW - age
    return Started(f"{verb}-{target}-{attempt}", started, started + timedelta(minutes=10), attempt)
