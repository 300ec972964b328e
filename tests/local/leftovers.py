"""What a cluster may have left behind, and commands that are not left behind by a failed test."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Generator, Sequence
from pathlib import Path


def processes_of(folder: Path) -> list[str]:
    """The command lines of all processes that were told of the folder; the Linux way of looking."""
    found: list[str] = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            command = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if f"{folder}/" in command and " -m pytest " not in command:
                found.append(command)
    return found


@contextlib.contextmanager
def running(command: Sequence[str], **options: int | Path) -> Generator[subprocess.Popen[str]]:
    with subprocess.Popen(command, text=True, **options) as process:
        try:
            yield process
        finally:
            process.kill()
