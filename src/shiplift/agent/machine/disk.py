"""Files that are there whole or not at all, whenever the machine loses its power.

A file is written beside its place, brought to the disk, and moved over what was there; the folder is brought
to the disk too, or the move itself could be lost. A file left half-written by who was killed is written over
the next time.
"""

from __future__ import annotations

import os
from pathlib import Path

from shiplift.agent.errors import TooLargeError


def write(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Returns when the content is on the disk under that name."""
    beside = path.with_name(f".{path.name}.new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, mode)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(file.fileno(), mode)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    settle(path.parent)


def settle(folder: Path) -> None:
    """Bring to the disk which files a folder has."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(path: Path, most: int) -> bytes | None:
    """None where there is no such file."""
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
    except FileNotFoundError:
        return None
    if len(content) > most:
        raise TooLargeError(f"{path} has more than {most} bytes")
    return content


def text(path: Path, most: int = 4096) -> str:
    """A short file of the system; empty where there is none."""
    return (read(path, most) or b"").decode(errors="replace").strip()


def private_folder(path: Path) -> Path:
    """Made where it is missing; nobody else may look into it."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path
