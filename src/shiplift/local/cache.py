"""Folders of the cache: each is complete or is not there. It gets its name only when all is in it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from shiplift.local.errors import disk_errors
from shiplift.local.lock import locked
from shiplift.local.progress import Say

Fill = Callable[[Path], Path]


def filled(folder: Path, what: str, fill: Fill, say: Say) -> Path:
    """The folder; if it is not there, `fill` makes its content in a folder that it is given."""

    def waiting() -> None:
        say(f"waiting for another command to get {what}")

    if not folder.exists():
        with disk_errors(folder.parent), locked(folder.parent / f"{folder.name}.lock", waiting):
            if not folder.exists():
                _fill(folder, fill)
    return folder


def _fill(folder: Path, fill: Fill) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="getting-") as temporary:
        content = fill(Path(temporary))
        content.chmod(0o755)
        content.rename(folder)
