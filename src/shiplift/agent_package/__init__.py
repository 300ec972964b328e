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


def build(folder: Path) -> Package:
    """Into a folder, in place of what was there of the same names."""
    folder.mkdir(parents=True, exist_ok=True)
    program = one_file.content()
    zipapp, package = folder / NAME, folder / f"{NAME}_{deb.version(__version__)}_all.deb"
    zipapp.write_bytes(program)
    zipapp.chmod(0o755)
    package.write_bytes(deb.content(NAME, __version__, program))
    return Package(zipapp, package)


__all__ = ["NAME", "Package", "build"]
