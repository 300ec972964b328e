"""MinIO's programs, built with Go from its module source and kept in the user's cache.

A release is one module version whose checksum is pinned here; the module's own go.sum pins the rest. The
version that a program says is stamped by the linker, so one source makes as many releases as a test wants.
A program is in the cache whole or not at all.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import msgspec

from shiplift.local import golang, paths, platforms
from shiplift.local.lock import locked

_MODULE = "github.com/minio/minio"
_STAMPS = "github.com/minio/minio/cmd"
_FIXED = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false", "GOWORK": "off"}


class Source(msgspec.Struct, frozen=True):
    """One version of the module, and what its content must add up to."""

    version: str
    sum: str

    @property
    def commit(self) -> str:
        return self.version.rpartition("-")[2]


class Release(msgspec.Struct, frozen=True):
    """A program: its source, and the time that it says it was released at (`2025-04-22T22:12:26Z`)."""

    source: Source
    time: str

    @property
    def tag(self) -> str:
        return f"RELEASE.{self.time.replace(':', '-')}"

    @property
    def linker_flags(self) -> str:
        stamps = {
            "Version": self.time,
            "ReleaseTag": self.tag,
            "CommitID": self.source.commit,
            "ShortCommitID": self.source.commit,
            "CopyrightYear": self.time[:4],
        }
        return "-s -w " + " ".join(f"-X {_STAMPS}.{name}={value}" for name, value in stamps.items())

    @property
    def digest(self) -> str:
        content = f"{self.source.version} {self.source.sum} {self.linker_flags}"
        return hashlib.sha256(content.encode()).hexdigest()[:12]


_APRIL = Source("v0.0.0-20250422221226-0d7408fc9969", "h1:XqfWRNtM5qMJyGQ4IFsnfHb83fCaRYhrKxJJ0ajXdrQ=")
_SEPTEMBER = Source("v0.0.0-20250907161309-07c3a429bfed", "h1:deu0m9BiyqnMbGWfJi1PpVyotSXlDnTmRIme1cUXnxo=")
OLD = Release(_APRIL, "2025-04-22T22:12:26Z")
NEW = Release(_SEPTEMBER, "2025-09-07T16:13:09Z")


class _Downloaded(msgspec.Struct, rename="pascal"):
    dir: str
    sum: str


def program(release: Release) -> Path:
    """The path of the program; built when it is not in the cache, which takes minutes."""
    name = f"{release.tag}-{platforms.system()}-{platforms.machine()}-{release.digest}"
    path = paths.cache_root() / "minio" / name / "minio"
    if not path.exists():
        with locked(path.parent.parent / f"{name}.lock"):
            if not path.exists():
                _fill(path.parent, release)
    return path


def _fill(folder: Path, release: Release) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="building-") as temporary:
        made = Path(temporary, "made")
        made.mkdir()
        _build(release, Path(temporary), made / "minio")
        made.chmod(0o755)
        made.rename(folder)


def _build(release: Release, temporary: Path, target: Path) -> None:
    go = golang.find(print)
    source = _downloaded(go, release.source, temporary)
    module_file = temporary / "go.mod"
    for name in ("go.mod", "go.sum"):
        shutil.copyfile(source / name, temporary / name)
        (temporary / name).chmod(0o600)
    print(f"building MinIO {release.tag}; this takes minutes, once")
    options = ["-p=2", "-trimpath", f"-modfile={module_file}", "-ldflags", release.linker_flags]
    _go(go, source, "build", *options, "-o", str(target), ".")


def _downloaded(go: Path, source: Source, temporary: Path) -> Path:
    answer = _go(go, temporary, "mod", "download", "-json", f"{_MODULE}@{source.version}")
    found = msgspec.json.decode(answer, type=_Downloaded)
    assert found.sum == source.sum, f"{_MODULE}@{source.version} is {found.sum}, not {source.sum}"
    return Path(found.dir)


def _go(go: Path, folder: Path, *arguments: str) -> str:
    environment = {"HOME": str(Path.home()), **os.environ, **_FIXED}
    done = subprocess.run(
        [go, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"go {arguments[0]} failed: {done.stderr[-600:]}"
    return done.stdout


if __name__ == "__main__":
    for wanted in (OLD, NEW):
        print(program(wanted))
