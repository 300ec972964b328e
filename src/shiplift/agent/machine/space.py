"""Room on the machine's disks: looked at before anything is changed, since dpkg finds out half-way."""

from __future__ import annotations

import os
from pathlib import Path

from shiplift.agent.errors import AgentError

RESERVE = 16 << 20
"""Bytes that have to stay free: logs, the journal, and dpkg's own database need some."""


def need(path: Path, size: int, purpose: str) -> None:
    """Whether a folder has room for so many bytes; says by name where it has not."""
    if (left := free(path)) < size + RESERVE:
        raise AgentError(
            f"no room: {purpose} needs {_mebi(size + RESERVE)} in {path}, {_mebi(left)} are free"
        )


def free(path: Path) -> int:
    there = next(folder for folder in (path, *path.parents) if folder.exists())
    state = os.statvfs(there)
    return state.f_bavail * state.f_frsize


def _mebi(size: int) -> str:
    return f"{max(size, 0) / (1 << 20):.0f} MiB"
