"""A client in a process of its own: it writes and reads through every server all the time, and notes each
answer; and one client that uses all servers, and tries for ten seconds.

usage: python -m benchmarks.quorum.probe FILE, with what to do as JSON on standard input; it ends when that is
closed, and leaves what it saw in the file.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from pathlib import Path

import msgspec

from shiplift.facts.kinds import POD
from shiplift.kube.client import Client
from shiplift.kube.credentials import load
from shiplift.kube.errors import KubeError
from shiplift.kube.secrets import Hidden
from shiplift.quorum.engines.minio import Credentials, MinIO
from shiplift.quorum.engines.protocol import Server
from shiplift.quorum.wire import Direct, WireError

BUCKET = "measured"
_EVERY = 0.05
_LOOK = 0.25
_RETRY_SECONDS = 10.0
CONTENT = b"x" * 4096


class Task(msgspec.Struct):
    """Whom to ask: the servers in the pods of a namespace."""

    kubeconfig: str
    space: str
    count: int
    user: str
    password: str


class Seen(msgspec.Struct):
    """One answer."""

    at: float
    server: int
    verb: str
    ok: bool
    stale: bool = False
    """What had been acknowledged was not there."""


class Log(msgspec.Struct):
    """All of it."""

    seen: list[Seen]
    acknowledged: list[str]
    failed_after_retry: int


class Probe:
    """The clients."""

    def __init__(self, task: Task) -> None:
        credentials = Credentials(task.user, Hidden(task.password.encode()))
        self._engine, self._task = MinIO(Direct(), credentials), task
        self._client = Client(load(Path(task.kubeconfig)))
        self._servers = self._found()
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._log = Log([], [], 0)
        self._last = ""

    def _found(self) -> list[Server]:
        """By the addresses of this moment; of a pod that has none yet there is none."""
        pods = self._client.list(POD, self._task.space)
        known = {pod["metadata"]["name"]: pod["status"].get("podIP", "") for pod in pods}
        names = (f"minio-{at}" for at in range(self._task.count))
        return [
            Server(name, known.get(name, ""), 9000, f"{name}.minio.{self._task.space}.svc") for name in names
        ]

    def _follow(self) -> None:
        """Pods that are made anew have other addresses."""
        while not self._over.wait(_LOOK):
            with contextlib.suppress(KubeError):
                self._servers = self._found()

    def run(self) -> Log:
        self._send(0, "PUT", f"/{BUCKET}")
        work = [(self._put, at) for at in range(len(self._servers))]
        work += [(self._get, at) for at in range(len(self._servers))]
        threads = [threading.Thread(target=what, args=(at,), daemon=True) for what, at in work]
        threads += [threading.Thread(target=what, daemon=True) for what in (self._persist, self._follow)]
        for thread in threads:
            thread.start()
        sys.stdin.buffer.read()
        self._over.set()
        for thread in threads:
            thread.join(15)
        return self._log

    def _send(self, at: int, verb: str, path: str, body: bytes = b"") -> tuple[bool, bytes, int]:
        server = self._servers[at]
        if not server.address:
            return False, b"", 0
        try:
            got = self._engine._object(server, verb, path, body)  # pyright: ignore[reportPrivateUsage]
        except (WireError, OSError):
            return False, b"", 0
        return got.status in (200, 204), got.body, got.status

    def _note(self, at: int, verb: str, ok: bool, *, stale: bool = False) -> None:
        with self._lock:
            self._log.seen.append(Seen(time.time(), at, verb, ok, stale))

    def _put(self, at: int) -> None:
        count = 0
        while not self._over.wait(_EVERY):
            name = f"{at}-{count}"
            count += 1
            ok, _, _ = self._send(at, "PUT", f"/{BUCKET}/{name}", CONTENT)
            self._note(at, "PUT", ok)
            if ok:
                with self._lock:
                    self._log.acknowledged.append(name)
                    self._last = name

    def _get(self, at: int) -> None:
        while not self._over.wait(_EVERY):
            name = self._last
            if not name:
                continue
            ok, body, status = self._send(at, "GET", f"/{BUCKET}/{name}")
            self._note(at, "GET", ok and body == CONTENT, stale=status == 404)

    def _persist(self) -> None:
        """A client that fails over: an object is tried through all servers until its time is up."""
        count = 0
        while not self._over.wait(_EVERY):
            name, deadline = f"kept-{count}", time.monotonic() + _RETRY_SECONDS
            count += 1
            turn = 0
            while not self._send(turn % len(self._servers), "PUT", f"/{BUCKET}/{name}", CONTENT)[0]:
                turn += 1
                if time.monotonic() > deadline:
                    self._log.failed_after_retry += 1
                    break
                time.sleep(0.05)
            else:
                with self._lock:
                    self._log.acknowledged.append(name)


if __name__ == "__main__":
    line = sys.stdin.buffer.readline()
    found = Probe(msgspec.json.decode(line, type=Task)).run()
    Path(sys.argv[1]).write_bytes(msgspec.json.encode(found))
