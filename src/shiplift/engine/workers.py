"""The threads that take steps: one bound for all loops of a process, and a part of it sure for each.

A loop holds a share for each kind of its jobs: at most `most` of them run at once, and of those the first
`sure` whatever others do. What no share is sure of is lent to those that have more to do, first to whoever
has borrowed least. So a loop that is busy alone uses nearly all, and loops whose steps all hang take from
another only what is lent. The bound holds as long as the shares of a term are opened before its first job.

The numbers, for a client with 128 connections (`kube.transport.CONNECTIONS`), of which a job uses one at a
time, and seven layers:
- sure of a loop: 2 steps (one that hangs does not hold up the rounds of other keys), 2 put aside, 1
  operation; of six loops 30, of seven 35;
- one migration: 48 evictions and 8 steps at once, of which 52 are lent: with six loops 54 can be;
- 84 in all, so that 44 are left for what else talks to the API server or might: a decider for each layer
  (observe may read live), about 25 readers of the store, the 8 that ask whether something is in force, and
  one each for Lease, fence and Events. No job ever waits for a connection.

A job that outlives its loop, since it hangs, counts as lent until it ends: it narrows the next term, and
takes nothing from what that term's loops are sure of.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque

from shiplift.engine.lanes import Job, Lanes

SIZE = 84
SURE_STEPS = 2
SURE_ASIDE = 2
SURE_OPERATIONS = 1


class Workers:
    """At most `size` threads, started when there is work for them; they end with the last open share.

    They do not keep the process alive: a step that hangs must not hold up the exit for ever.
    """

    def __init__(self, size: int = SIZE) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        """There is a job to run, or no share is open any more."""
        self._left = threading.Condition(self._lock)
        """A job of a share that was stopped has ended."""
        self._shares: list[Share] = []
        """Those that are open."""
        self._given: deque[tuple[Share, str, Job]] = deque()
        """Jobs that count as running and that a thread is about to begin."""
        self._running = self._threads = 0

    def share(self, most: int, sure: int) -> Share:
        """Open a share: at most so many jobs at once, so many of them whatever others do."""
        made = Share(self, most, min(sure, most))
        with self._lock:
            if self._sure() + made.sure > self._size:
                raise ValueError(f"{self._size} threads are too few for another share of {made.sure}")
            self._shares.append(made)
        return made

    def submit(self, share: Share, job: Job, lane: str) -> None:
        """See `Share`, as for the next two."""
        with self._lock:
            if not share.stopped:
                share.waiting.add(job, lane)
                self._give()

    def stop(self, share: Share) -> None:
        with self._lock:
            if share.stopped:
                return
            share.stopped = True
            self._shares.remove(share)
            self._changed.notify_all()
            self._give()

    def join(self, share: Share, deadline: float) -> bool:
        with self._lock:
            return self._left.wait_for(lambda: not share.running, max(deadline - time.monotonic(), 0))

    # with the lock held

    def _sure(self) -> int:
        return sum(one.sure for one in self._shares)

    def _lent(self) -> int:
        """What runs beyond what the open shares are sure of, that of stopped ones included."""
        return self._running - sum(min(one.running, one.sure) for one in self._shares)

    def _next_share(self) -> Share | None:
        """Who begins the next job, if anybody may: always who is below what it is sure of."""
        able = [one for one in self._shares if one.waiting and one.running < one.most]
        first = min(able, key=lambda one: one.running - one.sure, default=None)
        if first is None or first.running < first.sure:
            return first
        return first if self._lent() < self._size - self._sure() else None

    def _give(self) -> None:
        """Give every job that may begin to a thread. There are as many threads as jobs that run, or more."""
        while (share := self._next_share()) is not None:
            self._given.append((share, *share.waiting.take()))
            share.running += 1
            self._running += 1
            if self._running > self._threads:
                threading.Thread(target=self._run, name=f"worker-{self._threads}", daemon=True).start()
                self._threads += 1
            self._changed.notify()

    # the threads

    def _run(self) -> None:
        while (given := self._next()) is not None:
            share, lane, job = given
            try:
                if not share.stopped:
                    job()
            except BaseException:
                told = threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread()))
                threading.excepthook(told)
            finally:
                self._leave(share, lane)

    def _next(self) -> tuple[Share, str, Job] | None:
        with self._lock:
            self._changed.wait_for(lambda: self._given or not self._shares)
            if self._given:
                return self._given.popleft()
            self._threads -= 1
            return None

    def _leave(self, share: Share, lane: str) -> None:
        with self._lock:
            share.running -= 1
            self._running -= 1
            share.waiting.done(lane)
            if share.stopped:
                self._left.notify_all()
            self._give()


class Share:
    """What one loop has of the workers for one kind of its jobs. Its lanes are its own."""

    def __init__(self, workers: Workers, most: int, sure: int) -> None:
        self._workers = workers
        self.most, self.sure = most, sure
        self.waiting = Lanes()
        self.running = 0
        self.stopped = False

    def submit(self, job: Job, lane: str = "") -> None:
        """Run the job as soon as a thread and its lane, if it has one, are free; after `stop`, never."""
        self._workers.submit(self, job, lane)

    def stop(self) -> None:
        """Start no further job, and leave to others what this share was sure of."""
        self._workers.stop(self)

    def join(self, deadline: float) -> bool:
        """Wait for the jobs that run; whether they ended before the deadline."""
        return self._workers.join(self, deadline)
