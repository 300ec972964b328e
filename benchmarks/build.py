"""Builds the Go programs that ours are compared with, once for each state of their sources."""

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
_HERE = Path(__file__).parent
_WHAT = {"informer": "the client-go informer", "registry": "operator-registry"}


def program(name: str = "informer") -> Path:
    """The program of that folder, built if it is not there yet."""
    sources = _HERE / name
    built = cache() / f"{name}-{_version(sources)}"
    if not built.exists():
        say(f"building {_WHAT[name]}; this takes up to two minutes, once")
        unfinished = built.with_suffix(f".{os.getpid()}")
        command = [golang.find(say), "build", "-trimpath", "-o", unfinished, "."]
        subprocess.run(command, cwd=sources, env=os.environ | _FLAGS, check=True)
        unfinished.rename(built)
    return built


def _version(sources: Path) -> str:
    files = sorted([*sources.glob("*.go"), *sources.glob("go.*")])
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]
