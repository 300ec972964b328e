"""The programs that contenders are: how they are started and ended, and the operator among them."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path

import msgspec

from benchmarks.recipe.base import Json
from benchmarks.rig import identities
from shiplift.kube.store import Store

_PATIENCE = 60.0
Finished = Callable[[Store], bool]
Begin = Callable[[], Finished]
"""What to do when the clock starts; it comes back with how to tell that the contender has finished."""


def shiplift(*words: str) -> bytes:
    """What our command prints."""
    return subprocess.run([_program(), *words], capture_output=True, check=True).stdout


def end(process: subprocess.Popen[bytes]) -> None:
    """In good order; if that takes too long, at once."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Operator:
    """Our operator, as a process that leads and is idle."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process, self._log = process, log
        self._wait_leading()

    @property
    def pid(self) -> int:
        return self._process.pid

    def still_runs(self) -> bool:
        if self._process.poll() is not None:
            raise RuntimeError(f"the operator has ended: {self._tail()}")
        return True

    def _wait_leading(self) -> None:
        deadline = time.monotonic() + _PATIENCE
        while not self._said("leading"):
            self.still_runs()
            if time.monotonic() > deadline:
                raise TimeoutError(f"the operator does not lead: {self._tail()}")
            time.sleep(0.1)

    def _said(self, event: str) -> bool:
        lines = [line for line in self._log.read_bytes().splitlines() if line.endswith(b"}")]
        return any(msgspec.json.decode(line, type=Json).get("event") == event for line in lines)

    def _tail(self) -> str:
        return self._log.read_bytes()[-2000:].decode(errors="replace")


@contextlib.contextmanager
def operator(layers: str, kubeconfig: Path, log: Path) -> Generator[Operator]:
    """With these layers, by name with commas between, under its own account; ended afterwards."""
    address = ["--listen", "127.0.0.1:0"]
    space = ["--namespace", identities.OPERATOR.namespace]
    command = [str(_program()), "operator", "--layers", layers, *space, *address]
    with (
        log.open("wb") as errors,
        subprocess.Popen([*command, "--kubeconfig", str(kubeconfig)], stderr=errors) as process,
    ):
        try:
            yield Operator(process, log)
        finally:
            end(process)


def _program() -> Path:
    return Path(sys.executable).parent / "shiplift"
