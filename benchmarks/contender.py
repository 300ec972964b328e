"""A contender: a fresh process that syncs, says how it went, and answers questions after that."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import IO, Self, cast

import msgspec

from benchmarks import build

_ROOT = Path(__file__).parent.parent
_PATIENCE = 600.0


class Name(StrEnum):
    DEFAULT = "default"
    TUNED = "tuned"
    OURS = "ours"
    WIRE = "wire"


class Report(msgspec.Struct, frozen=True):
    """One line of a contender. Times in seconds, memory in bytes; counted since the last mark."""

    event: str
    wall: float
    cpu: float
    rss: int
    peak: int
    events: int = 0
    pods: int = 0
    nodes: int = 0
    bytes: int = 0


def command(name: Name, kubeconfig: Path) -> list[str]:
    if name in (Name.DEFAULT, Name.TUNED):
        return [str(build.program()), name, str(kubeconfig)]
    return [sys.executable, "-m", f"benchmarks.{name}", str(kubeconfig)]


class Contender:
    """One run of one contender. Entering it waits for its sync; leaving it ends the process."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            arguments, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self._said: list[bytes] = []
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._watchdog = threading.Timer(_PATIENCE, self._process.kill)

    def __enter__(self) -> Self:
        self._listener.start()
        self._watchdog.start()
        try:
            self.synced = self._read()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def ask(self, *words: object) -> Report:
        pipe = cast("IO[bytes]", self._process.stdin)
        pipe.write(" ".join(map(str, words)).encode() + b"\n")
        pipe.flush()
        return self._read()

    def pause(self) -> None:
        """Stop it where it is: it will miss what happens until `resume`."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def _read(self) -> Report:
        line = cast("IO[bytes]", self._process.stdout).readline()
        if not line:
            self._listener.join(5)
            raise RuntimeError(f"{self._process.args} ended: {b''.join(self._said[-20:]).decode()}")
        return msgspec.json.decode(line, type=Report)

    def _listen(self) -> None:
        self._said.extend(cast("IO[bytes]", self._process.stderr))

    def _end(self) -> None:
        """Its input ends; if that is not enough, it is killed."""
        self._watchdog.cancel()
        self._process.send_signal(signal.SIGCONT)
        for pipe in (self._process.stdin, self._process.stdout):
            cast("IO[bytes]", pipe).close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listener.join(5)
        cast("IO[bytes]", self._process.stderr).close()
