"""What the parts of this layer tell each other within one process; for many threads, and lost without harm.

`Evictions` are those that were made and are in no status yet: the status counts them for each workload, so
that the brake survives a restart. What a crash loses is what was done since the status was last written, some
seconds at most. `InForce` is which generation of each placement the API servers were last seen to go by:
what is not known is asked again.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection

from shiplift.engine.step import Step
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.model import Effort, Evicted
from shiplift.workloads.steps import Evict, Force, Replace, SetTolerations


class Evictions:
    """Counts them, until they are told."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[Effort, Counter[WorkloadId]] = {effort: Counter() for effort in Effort}

    def note(self, step: Step) -> None:
        """The step was taken; one that is not counted changes nothing."""
        match step:
            case Evict():
                self._add(step.workload, Effort.MADE_ROOM if step.makes_room else Effort.MOVED)
            case Force():
                self._add(step.workload, Effort.MOVED)
            case Replace():
                self._add(step.workload, Effort.MADE_AGAIN)
            case SetTolerations() if step.again:
                self._add(step.workload, Effort.GIVEN_AGAIN)
            case _:
                pass

    def _add(self, workload: WorkloadId, effort: Effort) -> None:
        with self._lock:
            self._counts[effort][workload] += 1

    def untold(self) -> Evicted:
        with self._lock:
            return Evicted(*(dict(self._counts[effort]) for effort in Effort))

    def told(self, evicted: Evicted) -> None:
        """These are in the status now."""
        with self._lock:
            for effort in Effort:
                self._counts[effort] -= Counter(evicted.of(effort))


class InForce:
    """Which generation of each placement, by its uid, was last seen in force, and when; for many threads."""

    FRESH = 5.0
    """Seconds for which nobody asks again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[int, float]] = {}

    def now(self) -> float:
        """The time for `note`: of before the question."""
        return self._clock()

    def note(self, uid: str, generation: int, asked: float) -> None:
        """This was the answer to a question of that time; an answer to an earlier one changes nothing."""
        with self._lock:
            if self._seen.get(uid, (0, asked))[1] <= asked:
                self._seen[uid] = (generation, asked)

    def generations(self) -> dict[str, int]:
        with self._lock:
            return {uid: generation for uid, (generation, _) in self._seen.items()}

    def fresh(self, uid: str, generation: int) -> bool:
        """Whether this generation, or a later one, was seen in force a moment ago."""
        with self._lock:
            known, asked = self._seen.get(uid, (0, float("-inf")))
        return known >= generation and self._clock() < asked + self.FRESH

    def since(self, uid: str, generation: int, time_: float) -> bool:
        """Whether this generation, or a later one, was the answer to a question of after that time."""
        with self._lock:
            known, asked = self._seen.get(uid, (0, float("-inf")))
        return known >= generation and asked > time_

    def unasked(self) -> float:
        """For how many seconds no placement has been asked about."""
        with self._lock:
            last = max((asked for _, asked in self._seen.values()), default=float("-inf"))
        return self._clock() - last

    def keep(self, uids: Collection[str]) -> None:
        """Forget all others."""
        with self._lock:
            self._seen = {uid: one for uid, one in self._seen.items() if uid in uids}
