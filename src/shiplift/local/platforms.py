"""What computer this is, in Go's words."""

from __future__ import annotations

import platform
import sys

from shiplift.local.errors import LocalError

_MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


def system() -> str:
    if sys.platform in ("linux", "darwin"):
        return sys.platform
    raise LocalError(f"no local cluster on {sys.platform}", "use Linux or macOS; on Windows, WSL")


def machine() -> str:
    found = _MACHINES.get(platform.machine().lower())
    if found is None:
        raise LocalError(f"no local cluster on {platform.machine()}", "use an amd64 or arm64 computer")
    return found
