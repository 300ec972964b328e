"""Builds the Go program that the store is compared with, once for each state of its sources."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

from benchmarks.progress import say
from benchmarks.server import cache
from shiplift.local import golang

# as Kubernetes itself is built, so that the packages they share are compiled once
_FLAGS = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false", "GOWORK": "off"}
SOURCES = Path(__file__).parent / "informer"


def program() -> Path:
    """The informer, built if it is not there yet."""
    built = cache() / f"informer-{_version()}"
    if not built.exists():
        say("building the client-go informer; this takes up to two minutes, once")
        unfinished = built.with_suffix(f".{os.getpid()}")
        command = [golang.find(say), "build", "-trimpath", "-o", unfinished, "."]
        subprocess.run(command, cwd=SOURCES, env=os.environ | _FLAGS, check=True)
        unfinished.rename(built)
    return built


def _version() -> str:
    sources = sorted([*SOURCES.glob("*.go"), *SOURCES.glob("go.*")])
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
