"""Our store as a program of its own: `python -m benchmarks.ours KUBECONFIG`.

It syncs pods and nodes, prints one JSON line, and then answers one JSON line for each line on its
standard input, as the Go informer does (`benchmarks/informer/main.go` describes the words).
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import msgspec
import structlog

from benchmarks.process import cpu_seconds, memory, reset_peak
from shiplift.engine.barrier import Seen
from shiplift.facts.kinds import NODE, POD, Kind
from shiplift.facts.meta import Row
from shiplift.kube import credentials
from shiplift.kube.store import Store
from shiplift.kube.watch import Watch

_SYNC_TIMEOUT = 300.0
_LOOK_EVERY = 0.02


class Program:
    """The store, and what has happened to it since the last mark."""

    def __init__(self, kubeconfig: Path) -> None:
        self._store = Store(credentials.load(kubeconfig), [Watch(POD), Watch(NODE)])
        self._store.subscribe(self._count)
        self._events = 0
        self._wall = self._cpu_mark = 0.0

    def sync(self) -> None:
        begin = time.perf_counter()
        self._cpu_mark = cpu_seconds()
        self._store.start()
        if not self._store.wait_synced(_SYNC_TIMEOUT):
            raise TimeoutError(f"the store did not sync in {_SYNC_TIMEOUT:.0f} s: {self._store.health()}")
        self._wall = time.perf_counter() - begin

    def serve(self) -> None:
        """Answer the lines of standard input until it ends."""
        for line in sys.stdin:
            word, *versions = line.split()
            if word == "mark":
                self._mark()
            elif word == "until":
                self._await(*map(int, versions))
            self.report(word)
        self._store.stop()

    def report(self, event: str) -> None:
        now = memory()
        rows = {str(one.kind): one.rows for one in self._store.health()}
        answer = {
            "event": event,
            "wall": self._wall,
            "cpu": cpu_seconds() - self._cpu_mark,
            "rss": now.rss,
            "peak": now.peak,
            "events": self._events,
            "pods": rows["Pod"],
            "nodes": rows["Node"],
        }
        print(msgspec.json.encode(answer).decode(), flush=True)

    def _count(self, _kind: Kind, _old: Row | None, _new: Row | None) -> None:
        self._events += 1

    def _mark(self) -> None:
        reset_peak()
        self._events = 0
        self._cpu_mark = cpu_seconds()

    def _await(self, pods: int, nodes: int) -> None:
        while not self._store.settled([Seen(POD, pods), Seen(NODE, nodes)]):
            time.sleep(_LOOK_EVERY)


def main() -> None:
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    program = Program(Path(sys.argv[1]))
    program.sync()
    program.report("synced")
    program.serve()


if __name__ == "__main__":
    main()
