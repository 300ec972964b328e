"""Ends the clusters of a test run when the run dies without having done so itself.

It is a process of its own, told the folder of the run's clusters and who owns them; it does
nothing until the owner is gone.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from shiplift.local import process, runtime, state
from shiplift.local.private import write_private
from shiplift.local.process import Process


def own(folder: Path, owner: Process | None = None) -> None:
    """This process, unless another is named, owns the clusters of the folder."""
    _write(folder / "owner.json", owner or myself())


def myself() -> Process:
    pid = os.getpid()
    return Process(pid, process.started(pid))


def start_once(folder: Path) -> None:
    """Start the guard of the folder, unless it is there; the caller holds a lock."""
    running = _read(folder / "guard.json")
    if running is None or not running.alive:
        command = [sys.executable, "-m", "shiplift.local.guard", folder]
        _write(folder / "guard.json", process.spawn(command, folder / "guard.log", folder))


def stop(folder: Path) -> None:
    if running := _read(folder / "guard.json"):
        process.stop([running], 2.0)


def sweep(folder: Path) -> None:
    """End every process of every cluster in the folder, and all that machines are made of."""
    from shiplift.local.machines import Machines, names  # noqa: PLC0415  slow to import, and seldom needed

    for name in names(folder):
        Machines(name, folder).down()
    known = [found for path in folder.glob("*/state.json") if (found := state.read(path.parent))]
    with ThreadPoolExecutor(4) as executor:
        list(executor.map(runtime.stop, known))


def watch(folder: Path) -> None:
    """Wait for the owner to be gone, then leave nothing."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    owner = _read(folder / "owner.json")
    if owner:
        _wait_gone(owner)
    sweep(folder)
    shutil.rmtree(folder, ignore_errors=True)


def _wait_gone(owner: Process) -> None:
    with contextlib.suppress(OSError, AttributeError):
        descriptor = os.pidfd_open(owner.pid)
        if owner.alive:
            select.select([descriptor], [], [])
        os.close(descriptor)
    while owner.alive:
        time.sleep(0.5)


def _read(path: Path) -> Process | None:
    with contextlib.suppress(FileNotFoundError, msgspec.DecodeError):
        return msgspec.json.decode(path.read_bytes(), type=Process)
    return None


def _write(path: Path, value: Process) -> None:
    write_private(path, msgspec.json.encode(value))


if __name__ == "__main__":
    watch(Path(sys.argv[1]))
