"""A client in a process of its own: it writes and reads through every server all the time, and notes each
answer; and one client that uses all servers, and tries for ten seconds.

usage: python -m benchmarks.quorum.probe FILE, with what to do as JSON on standard input; it ends when that is
closed, and leaves what it saw in the file.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

import msgspec

from shiplift.kube.secrets import Hidden
from shiplift.quorum.engines.minio import Credentials, MinIO
from shiplift.quorum.engines.protocol import Server
from shiplift.quorum.wire import Direct, WireError

BUCKET = "measured"
_EVERY = 0.05
_RETRY_SECONDS = 10.0
_CONTENT = b"x" * 4096


class Task(msgspec.Struct):
    """Whom to ask."""

    servers: list[Server]
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
        self._engine, self._servers = MinIO(Direct(), credentials), task.servers
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._log = Log([], [], 0)
        self._last = ""

    def run(self) -> Log:
        self._send(0, "PUT", f"/{BUCKET}")
        work = [(self._put, at) for at in range(len(self._servers))]
        work += [(self._get, at) for at in range(len(self._servers))]
        threads = [threading.Thread(target=what, args=(at,), daemon=True) for what, at in work]
        threads.append(threading.Thread(target=self._persist, daemon=True))
        for thread in threads:
            thread.start()
        sys.stdin.buffer.read()
        self._over.set()
        for thread in threads:
            thread.join(15)
        return self._log

    def _send(self, at: int, verb: str, path: str, body: bytes = b"") -> tuple[bool, bytes, int]:
        try:
            got = self._engine._object(self._servers[at], verb, path, body)  # pyright: ignore[reportPrivateUsage]
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
            ok, _, _ = self._send(at, "PUT", f"/{BUCKET}/{name}", _CONTENT)
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
            self._note(at, "GET", ok and body == _CONTENT, stale=status == 404)

    def _persist(self) -> None:
        """A client that fails over: an object is tried through all servers until its time is up."""
        count = 0
        while not self._over.wait(_EVERY):
            name, deadline = f"kept-{count}", time.monotonic() + _RETRY_SECONDS
            count += 1
            turn = 0
            while not self._send(turn % len(self._servers), "PUT", f"/{BUCKET}/{name}", _CONTENT)[0]:
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
