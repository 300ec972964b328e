"""The contenders, one after the other, each on four fresh servers; a process in the network of the machine
whose pods they are.

usage: python -m benchmarks.quorum.contest FILE, with what to do as JSON on standard input; what was seen is
in the file then.
"""

from __future__ import annotations

import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import msgspec

from benchmarks.progress import quiet, say
from benchmarks.quorum import figures
from benchmarks.quorum.figures import Run
from benchmarks.quorum.probe import BUCKET, CONTENT, Log, Task
from benchmarks.quorum.store import COUNT, LONG, Store, serving
from benchmarks.quorum.watcher import Moment
from shiplift.kube.client import Client
from shiplift.kube.credentials import load
from shiplift.quorum.engines.protocol import Server
from tests.crash.quorum.process import Process
from tests.minio import builds
from tests.quorum.kubelet import PASSWORD, USER
from tests.quorum.rig import NEW, OLD
from tests.until import until

_LIVE, _HEALTH = "/minio/health/live", "/minio/health/cluster"
_LEAD = 3.0
"""Seconds of clients before anything is done."""


class Job(msgspec.Struct):
    """Where, as whom, and how often."""

    kubeconfig: str
    account: str
    """The kubeconfig of the operator's account."""
    authority: str
    """Of the registry's certificate."""
    folder: str
    key: str
    """That servers trust."""
    in_place: int
    provoked: int


class Results(msgspec.Struct):
    """What was seen."""

    in_place: list[Run]
    provoked: list[Run]
    rolling: Run
    recreated: Run
    gated_finished: bool


class Contest:
    """All contenders."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._folder, self._client = Path(job.folder), Client(load(Path(job.kubeconfig)))
        self._sizes = [str(builds.program(one).stat().st_size) for one in (OLD, NEW)]

    def run(self) -> Results:
        operator = Process(Path(self._job.account), self._folder, Path(self._job.authority))
        operator.start()
        try:
            in_place = [self._swap(f"in place {one + 1}") for one in range(self._job.in_place)]
            while _clean(in_place) < self._job.in_place and len(in_place) < 2 * self._job.in_place:
                in_place.append(self._swap("in place, once more"))
            provoked = [self._swap(f"provoked {one + 1}", _provoke) for one in range(self._job.provoked)]
            recreated = self._swap("all at once", strategy="RecreateAll")
        finally:
            operator.kill()
        rolling = self._rolling()
        return Results(in_place, provoked, rolling, recreated, self._gated(3 * rolling.seconds))

    def _swap(
        self, name: str, meanwhile: Callable[[Store], None] | None = None, strategy: str = "InPlace"
    ) -> Run:
        with self._service(name) as store, self._measured(store) as measured:
            store.swap(strategy)
            if meanwhile is not None:
                meanwhile(store)
            store.wait_swapped()
            until(store.all_sing, LONG, 0.5)
            return measured()

    def _rolling(self) -> Run:
        with self._service("rolling, live readiness") as store, self._measured(store) as measured:
            store.set_image()
            until(store.is_rolled, LONG, 0.2)
            until(store.all_sing, LONG, 0.5)
            return measured()

    def _gated(self, seconds: float) -> bool:
        """Whether a rolling update whose readiness means health ends in that time."""
        with self._service("rolling, gated on health", _HEALTH) as store:
            store.set_image()
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline:
                if store.is_rolled():
                    return True
                time.sleep(0.5)
            return False

    @contextmanager
    def _service(self, name: str, readiness: str = _LIVE) -> Generator[Store]:
        say(name)
        space = f"bench-{uuid.uuid4().hex[:8]}"
        with serving(self._client, space, self._job.key, readiness) as store:
            yield store

    @contextmanager
    def _measured(self, store: Store) -> Generator[Measured]:
        measured = Measured(store, self._job.kubeconfig, self._folder / store.space, self._sizes)
        try:
            time.sleep(_LEAD)
            yield measured
        finally:
            measured.close()


class Measured:
    """Probe and watcher, each a process; called, it ends them and says what they saw."""

    def __init__(self, store: Store, kubeconfig: str, folder: Path, sizes: Sequence[str]) -> None:
        self._store = store
        folder.mkdir(parents=True)
        self._seen, self._log = folder / "watched.json", folder / "probed.json"
        self._watcher = _started(["benchmarks.quorum.watcher", self._seen, COUNT, *sizes])
        self._probe = _started(["benchmarks.quorum.probe", self._log])
        task = Task(kubeconfig, store.space, COUNT, USER, PASSWORD)
        assert self._probe.stdin is not None
        self._probe.stdin.write(msgspec.json.encode(task) + b"\n")
        self._probe.stdin.flush()
        self._began = time.time()

    def __call__(self) -> Run:
        end = time.time()
        self.close()
        moments = msgspec.json.decode(self._seen.read_bytes(), type=list[Moment])
        log = msgspec.json.decode(self._log.read_bytes(), type=Log)
        found = figures.run_of(moments, log, self._lost(log), self._began, end)
        say(f"mixed {found.mixed:.3f} s, gap {found.gap_any:.2f} s, {found.failed} failed, {found.lost} lost")
        return found

    def close(self) -> None:
        for process in (self._probe, self._watcher):
            if process.poll() is None and process.stdin is not None:
                process.stdin.close()
                process.wait(60)

    def _lost(self, log: Log) -> int:
        """Acknowledged, and not readable through some server now."""
        servers = self._store.servers()
        with ThreadPoolExecutor(len(servers)) as pool:
            asked = [pool.submit(self._unreadable, server, log.acknowledged) for server in servers]
        return len(set[str]().union(*(one.result() for one in asked)))

    def _unreadable(self, server: Server, names: Sequence[str]) -> set[str]:
        engine = self._store.engine
        return {
            name
            for name in names
            if engine._object(server, "GET", f"/{BUCKET}/{name}", b"").body != CONTENT  # pyright: ignore[reportPrivateUsage]
        }


def _clean(runs: Sequence[Run]) -> int:
    return sum(not one.partial for one in runs)


def _started(arguments: Sequence[object]) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", *map(str, arguments)], stdin=subprocess.PIPE)


def _provoke(store: Store) -> None:
    """One server cannot write beside its binary when the switch comes; a while after it, it can again."""
    until(lambda: store.service().status.switch_time, LONG, 0.02)
    with store.cannot_write(2):
        until(lambda: NEW.time in store.versions(), LONG, 0.1)
        time.sleep(2)


if __name__ == "__main__":
    quiet()
    asked = msgspec.json.decode(sys.stdin.buffer.read(), type=Job)
    Path(sys.argv[1]).write_bytes(msgspec.json.encode(Contest(asked).run()))
