"""The benchmark: swaps in place by the operator, beside rolling updates of the StatefulSet and all pods made
anew at once, each on four fresh servers.

Servers are processes that a kubelet of the tests runs for real pods of a real StatefulSet, each at an address
of its own on loopback; nothing is pulled by them, and nothing is scheduled across machines.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from benchmarks import machine, verdict
from benchmarks.progress import quiet, say
from benchmarks.quorum import figures
from benchmarks.quorum.figures import Run
from benchmarks.quorum.probe import BUCKET, Log, Task
from benchmarks.quorum.watcher import Moment
from benchmarks.recipe.base import Json
from tests.crash.quorum.process import Process
from tests.crash.quorum.running import ground
from tests.minio import builds
from tests.quorum.kubelet import PASSWORD, USER
from tests.quorum.rig import NEW, OLD, Rig, Service, served
from tests.until import until

DESCRIPTION = "the binary of four MinIO servers swapped, against rolling updates and all pods at once"
CLEAN, PROVOKED = 5, 3
_LONG = 400.0


class Size(msgspec.Struct, frozen=True):
    """How often."""

    in_place: int = CLEAN
    provoked: int = PROVOKED


USUAL, SHORT = Size(), Size(1, 1)


def run(size: Size = USUAL) -> Json:
    quiet()
    about = machine.describe()
    with (
        tempfile.TemporaryDirectory(prefix="shiplift-quorum-") as folder,
        ground(Path(folder, "clusters"), Path(folder, "ground")) as place,
    ):
        bench = Bench(place.rig, Path(folder, "runs"))
        in_place = [bench.in_place(f"in place {one + 1}") for one in range(size.in_place)]
        while sum(not one.partial for one in in_place) < size.in_place and len(in_place) < 2 * size.in_place:
            in_place.append(bench.in_place("in place, once more"))
        provoked = [bench.in_place(f"provoked {one + 1}", provoke=True) for one in range(size.provoked)]
        rolling = bench.rolling("rolling, live readiness")
        recreated = bench.in_place("all at once", strategy="RecreateAll")
        finished = bench.gated("rolling, gated on health", 3 * rolling.seconds)
    told = figures.figures(in_place, provoked, rolling, recreated, gated_finished=finished)
    named: dict[str, Sequence[Run]] = {
        "in place": in_place,
        "in place, partial": provoked,
        "rolling, live readiness": [rolling],
        "all at once": [recreated],
    }
    judged = size.in_place >= CLEAN
    print(figures.table(named))
    print(verdict.verdict(told, figures.AT_MOST, judged=judged, meant_for="five runs"))
    return told | {"limits": {"at_most": figures.AT_MOST}, "machine": about, "runs": named}


class Bench:
    """One service after the other."""

    def __init__(self, rig: Rig, folder: Path) -> None:
        self._rig, self._folder = rig, folder
        self._programs = {one.tag: builds.program(one) for one in (OLD, NEW)}

    def in_place(self, name: str, *, provoke: bool = False, strategy: str = "InPlace") -> Run:
        with self._service(name) as service, self._operator(service), self._measured(service) as measured:
            service.make(strategy=strategy)
            if provoke:
                _provoke(service)
            service.wait_swapped(_LONG)
            until(service.all_sing, 60, 0.5)
            return measured()

    def rolling(self, name: str) -> Run:
        with self._service(name) as service, self._measured(service) as measured:
            _set_image(service)
            until(lambda: _rolled(service), _LONG, 0.2)
            until(service.all_sing, 120, 0.5)
            return measured()

    def gated(self, name: str, seconds: float) -> bool:
        """Whether it ends in that time."""
        with self._service(name) as service:
            service.kubelet.readiness = "/minio/health/cluster"
            _set_image(service)
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline:
                if _rolled(service):
                    return True
                time.sleep(0.5)
            return False

    @contextlib.contextmanager
    def _service(self, name: str) -> Iterator[Service]:
        say(name)
        space = f"bench-{uuid.uuid4().hex[:8]}"
        with served(self._rig, space, self._folder / space, self._programs, _prepare) as service:
            yield service

    @contextlib.contextmanager
    def _operator(self, service: Service) -> Iterator[None]:
        folder = service.kubelet.folder
        self._rig.configure({"listen": "127.0.0.1:0", "cache": str(folder / "cache")})
        process = Process(self._rig.kubeconfig, folder, self._rig.registry.folder / "ca.crt")
        process.start()
        try:
            yield
        finally:
            process.kill()
            shutil.rmtree(folder / "cache", ignore_errors=True)

    @contextlib.contextmanager
    def _measured(self, service: Service) -> Iterator[Measured]:
        measured = Measured(service, [self._programs[OLD.tag], self._programs[NEW.tag]])
        try:
            time.sleep(2)
            yield measured
        finally:
            measured.close()


class Measured:
    """Probe and watcher, each a process; called, it ends them and says what they saw."""

    def __init__(self, service: Service, programs: list[Path]) -> None:
        self._service = service
        folder = service.kubelet.folder
        self._seen, self._log = folder / "watched.json", folder / "probed.json"
        sizes = [str(path.stat().st_size) for path in programs]
        watching = ["benchmarks.quorum.watcher", self._seen, folder, str(service.kubelet.count), *sizes]
        self._watcher = _started(watching)
        self._probe = _started(["benchmarks.quorum.probe", self._log])
        task = Task(list(service.servers()), USER, PASSWORD)
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
        engine, servers = self._service.engine(), self._service.servers()
        bad = 0
        for at, name in enumerate(log.acknowledged):
            server = servers[at % len(servers)]
            got = engine._object(server, "GET", f"/{BUCKET}/{name}", b"")  # pyright: ignore[reportPrivateUsage]
            bad += got.status != 200
        return bad


def _started(arguments: Sequence[object]) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", *map(str, arguments)], stdin=subprocess.PIPE)


def _prepare(service: Service) -> None:
    service.grant()
    service.make_set()


def _provoke(service: Service) -> None:
    """One server cannot write beside its binary when the switch comes; two seconds after it, it can again."""
    until(lambda: service.service().status.switch_time, _LONG, 0.02)
    in_the_way = service.kubelet.program(2).with_name(".minio.check-perm")
    in_the_way.mkdir()
    until(lambda: NEW.time in service.versions(), _LONG, 0.1)
    time.sleep(2)
    in_the_way.rmdir()


def _set_image(service: Service) -> None:
    path = "/spec/template/spec/containers/0/image"
    service.patch_set([{"op": "replace", "path": path, "value": service.wanted}])


def _rolled(service: Service) -> bool:
    pods = service.pods().values()
    ready = all(
        any(
            one["type"] == "Ready" and one["status"] == "True"
            for one in pod["status"].get("conditions") or []
        )
        for pod in pods
    )
    images = {pod["spec"]["containers"][0]["image"] for pod in pods}
    return len(pods) == service.kubelet.count and ready and images == {service.wanted}
