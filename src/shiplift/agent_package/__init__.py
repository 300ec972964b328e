"""The agent as machines get it: one file that Python runs, and a Debian package around it.

Both are made of what is installed here, with the standard library alone, and are the same to the byte
whenever and wherever they are made: a package of the same version is the same package.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from shiplift import __version__
from shiplift.agent_package import deb, one_file

NAME = "shiplift-agent"


@dataclass(frozen=True)
class Package:
    """What was made."""

    zipapp: Path
    deb: Path


@dataclass(frozen=True)
class Debian:
    """The Debian package, as its bytes; the version is the one that dpkg knows it by."""

    version: str
    content: bytes


def debian() -> Debian:
    """Made here and now, into no file."""
    return Debian(deb.version(__version__), deb.content(NAME, __version__, one_file.content()))


def build(folder: Path) -> Package:
    """Into a folder, in place of what was there of the same names."""
    folder.mkdir(parents=True, exist_ok=True)
    made = debian()
    zipapp, package = folder / NAME, folder / f"{NAME}_{made.version}_all.deb"
    zipapp.write_bytes(one_file.content())
    zipapp.chmod(0o755)
    package.write_bytes(made.content)
    return Package(zipapp, package)


__all__ = ["NAME", "Debian", "Package", "build", "debian"]
