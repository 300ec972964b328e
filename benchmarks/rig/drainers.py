"""Contenders that only empty nodes: our drainer in its modes, and `kubectl drain`. All act as the guest."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import IO, cast

from benchmarks.rig.cluster import Rig
from benchmarks.rig.drainer import Mode
from benchmarks.rig.programs import Begin, Finished, end

_ROOT = Path(__file__).parent.parent.parent
_PATIENCE = 60.0


@contextlib.contextmanager
def drainer(rig: Rig, mode: Mode, nodes: Sequence[str]) -> Generator[Begin]:
    command = [sys.executable, "-m", "benchmarks.rig.drainer", str(rig.guest), mode, *nodes]
    with subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            if cast("IO[bytes]", process.stdout).readline() != b"ready\n":
                raise RuntimeError("the drainer did not start")

            def begin() -> Finished:
                pipe = cast("IO[bytes]", process.stdin)
                pipe.write(b"go\n")
                pipe.flush()
                return lambda _: _ended_well(process)

            yield begin
        finally:
            end(process)


@contextlib.contextmanager
def kubectl_drain(rig: Rig, nodes: Sequence[str]) -> Generator[Begin]:
    """As the careful do it: cordon all old nodes, so that nothing is moved twice, then drain one by one."""
    kubectl = [rig.kubectl, "--kubeconfig", str(rig.guest)]
    commands = [
        [*kubectl, "cordon", *nodes],
        *([*kubectl, "drain", node, "--ignore-daemonsets", "--delete-emptydir-data"] for node in nodes),
    ]
    script = _Script(commands, rig.environment)

    def begin() -> Finished:
        script.start()
        return lambda _: script.finished

    try:
        yield begin
    finally:
        script.stop()


class _Script:
    """Commands, one after the other; the first that fails ends it."""

    def __init__(self, commands: Sequence[list[str]], environment: dict[str, str]) -> None:
        self._commands, self._environment = commands, environment
        self._failure = ""
        self._running: subprocess.Popen[bytes] | None = None
        self._stopping = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def finished(self) -> bool:
        if self._failure:
            raise RuntimeError(self._failure)
        return not self._thread.is_alive()

    def stop(self) -> None:
        self._stopping = True
        if self._thread.is_alive():
            if self._running:
                end(self._running)
            self._thread.join(_PATIENCE)

    def _run(self) -> None:
        for command in self._commands:
            if self._stopping:
                return
            with subprocess.Popen(
                command, env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            ) as running:
                self._running = running
                said = running.communicate()[0]
            if running.returncode and not self._stopping:
                self._failure = f"{' '.join(command[3:5])} failed: {said.decode()[-2000:]}"
                return


def _ended_well(process: subprocess.Popen[bytes]) -> bool:
    code = process.poll()
    if code:
        raise RuntimeError(f"the drainer failed with code {code}")
    return code == 0
