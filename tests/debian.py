"""Programs of Debian packages, taken out of the package into the cache; nothing is installed."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from shiplift.local import paths
from shiplift.local.lock import locked


def program(package: str, path: str) -> Path:
    """Fetched from Debian where it is not in the cache; apt compares it with its signed list."""
    folder = paths.cache_root() / package
    folder.parent.mkdir(parents=True, exist_ok=True)
    with locked(folder.parent / f"{package}.lock"):
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=folder.parent, prefix="getting-") as temporary:
                subprocess.run(
                    ["apt-get", "download", "-q", package], cwd=temporary, check=True, capture_output=True
                )
                [found] = Path(temporary).glob("*.deb")
                content = Path(temporary, "content")
                subprocess.run(["dpkg-deb", "-x", found, content], check=True, capture_output=True)
                content.rename(folder)
    return folder / path
