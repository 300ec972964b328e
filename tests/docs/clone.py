"""A folder that looks like a fresh clone after `make`, with an empty home and clusters of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Generator
from pathlib import Path

import msgspec

import shiplift
from shiplift.local import guard, paths

ROOT = Path(__file__).parents[2]
_SHARED = ("README.md", "docs", "src", "tests")


class Clone(msgspec.Struct, frozen=True):
    """Where a reader begins, and what they have in their environment: nothing that helps."""

    folder: Path
    environment: dict[str, str]


@contextlib.contextmanager
def clone(scratch: Path) -> Generator[Clone]:
    """No cluster that was made in it outlives it, whatever becomes of us."""
    folder, home, state = (scratch / name for name in ("shiplift", "home", "state"))
    clusters = state / "clusters"
    for made in (folder, home, clusters):
        made.mkdir(parents=True)
    for name in _SHARED:
        (folder / name).symlink_to(ROOT / name)
    (folder / ".venv").symlink_to(sys.prefix)
    guard.own(clusters)
    guard.start_once(clusters)
    try:
        yield Clone(folder, _environment(home, state))
    finally:
        guard.sweep(clusters)
        guard.stop(clusters)
        shutil.rmtree(state)


def _environment(home: Path, state: Path) -> dict[str, str]:
    """The code under test is the one that these tests were started with."""
    given = {name: os.environ[name] for name in ("KUBEBUILDER_ASSETS",) if name in os.environ}
    return given | {
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": str(Path(shiplift.__file__).parents[1]),
        "SHIPLIFT_CACHE": str(paths.cache_root()),
        "SHIPLIFT_STATE": str(state),
    }
