"""Programs that tests need and that are built with Go from module source, kept in the user's cache.

A program is of one module version whose checksum is pinned by whoever asks for it; the module's own go.sum
pins the rest. A program is in the cache whole or not at all.
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

_FIXED = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false", "GOWORK": "off"}


class Source(msgspec.Struct, frozen=True):
    """One version of a module, and what its content must add up to."""

    module: str
    version: str
    sum: str


class Program(msgspec.Struct, frozen=True):
    """What is built: the package of the module that is the program, its name, and what is stamped on it."""

    source: Source
    name: str
    title: str
    """Of this program among others of its name."""
    package: str = "."
    linker_flags: str = "-s -w"

    @property
    def digest(self) -> str:
        content = f"{self.source.version} {self.source.sum} {self.linker_flags}"
        return hashlib.sha256(content.encode()).hexdigest()[:12]

    @property
    def path(self) -> Path:
        folder = f"{self.title}-{platforms.system()}-{platforms.machine()}-{self.digest}"
        return paths.cache_root() / self.name / folder / self.name


class _Downloaded(msgspec.Struct, rename="pascal"):
    dir: str
    sum: str


def built(program: Program) -> Path:
    """The path of the program; built when it is not in the cache, which takes minutes."""
    folder = program.path.parent
    if not program.path.exists():
        with locked(folder.parent / f"{folder.name}.lock"):
            if not program.path.exists():
                _fill(folder, program)
    return program.path


def _fill(folder: Path, program: Program) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="building-") as temporary:
        made = Path(temporary, "made")
        made.mkdir()
        _build(program, Path(temporary), made / program.name)
        made.chmod(0o755)
        made.rename(folder)


def _build(program: Program, temporary: Path, target: Path) -> None:
    go = golang.find(print)
    source = _downloaded(go, program.source, temporary)
    module_file = temporary / "go.mod"
    for name in ("go.mod", "go.sum"):
        shutil.copyfile(source / name, temporary / name)
        (temporary / name).chmod(0o600)
    print(f"building {program.name} {program.title}; this takes minutes, once")
    options = ["-p=2", "-trimpath", f"-modfile={module_file}", "-ldflags", program.linker_flags]
    _go(go, source, "build", *options, "-o", str(target), program.package)


def _downloaded(go: Path, source: Source, temporary: Path) -> Path:
    answer = _go(go, temporary, "mod", "download", "-json", f"{source.module}@{source.version}")
    found = msgspec.json.decode(answer, type=_Downloaded)
    assert found.sum == source.sum, f"{source.module}@{source.version} is {found.sum}, not {source.sum}"
    return Path(found.dir)


def _go(go: Path, folder: Path, *arguments: str) -> str:
    environment = {"HOME": str(Path.home()), **os.environ, **_FIXED}
    done = subprocess.run(
        [go, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"go {arguments[0]} failed: {done.stderr[-600:]}"
    return done.stdout
