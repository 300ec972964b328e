"""Evictions that were made and are in no status yet; for many threads.

The status counts them for each workload, so that the brake survives a restart. What a crash loses is what was
evicted since the status was last written, some seconds at most.
"""

from __future__ import annotations

import threading
from collections import Counter

from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.model import Evicted


class Evictions:
    """Counts them, until they are told."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._moved: Counter[WorkloadId] = Counter()
        self._made_room = 0

    def note(self, workload: WorkloadId, *, makes_room: bool = False) -> None:
        """A pod of that workload was evicted."""
        with self._lock:
            if makes_room:
                self._made_room += 1
            else:
                self._moved[workload] += 1

    def untold(self) -> Evicted:
        with self._lock:
            return Evicted(dict(self._moved), self._made_room)

    def told(self, evicted: Evicted) -> None:
        """These are in the status now."""
        with self._lock:
            self._moved -= Counter(evicted.moved)
            self._made_room -= evicted.made_room
