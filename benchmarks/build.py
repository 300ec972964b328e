"""Builds the Go program that the store is compared with, once for each state of its sources."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from benchmarks.progress import say
from benchmarks.server import cache

SOURCES = Path(__file__).parent / "informer"


def program() -> Path:
    """The informer, built if it is not there yet."""
    built = cache() / f"informer-{_version()}"
    if not built.exists():
        say("building the client-go informer; this takes a minute or two the first time")
        unfinished = built.with_suffix(f".{os.getpid()}")
        environment = os.environ | {"CGO_ENABLED": "0"}
        command = [_go(), "build", "-trimpath", "-o", str(unfinished), "."]
        subprocess.run(command, cwd=SOURCES, env=environment, check=True)
        unfinished.rename(built)
    return built


def _version() -> str:
    sources = sorted([*SOURCES.glob("*.go"), *SOURCES.glob("go.*")])
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]


def _go() -> str:
    found = shutil.which("go")
    if found is None:
        raise FileNotFoundError("no Go on the PATH; the benchmark needs 1.26 or newer to build its yardstick")
    return found
