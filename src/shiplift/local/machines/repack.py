"""Debian's own packages, put together again from where they are installed, with a later revision beside.

So a machine can be taken from one containerd to the next and back, with Debian's own scripts, and no mirror.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

from shiplift.local import cache, paths
from shiplift.local.errors import LocalError
from shiplift.local.machines import root
from shiplift.local.machines.packages import INDEX, pack
from shiplift.local.progress import Say

PACKAGE = "containerd"
LATER = "+later1"
_LAYOUT = 1
_SCRIPTS = ("preinst", "postinst", "prerm", "postrm", "conffiles")
_OF_THE_INSTALLATION = re.compile(r"^(Status|Conffiles|Config-Version):.*\n( .*\n)*", re.MULTILINE)


def find(say: Say) -> Path:
    """The folder of the package as it is installed and as it comes later, and of their part of the index."""
    base = root.find(say)
    return cache.filled(_folder(base), PACKAGE, lambda empty: _make(base, empty), say)


def _folder(base: Path) -> Path:
    """A root that was made on another day may have another revision."""
    made_of = f"{base.name} {PACKAGE} {installed_version(base)} {LATER} {_LAYOUT}"
    digest = hashlib.sha256(made_of.encode()).hexdigest()[:12]
    return paths.cache_root() / "machines" / f"packages-{PACKAGE}-{digest}"


def installed_version(base: Path) -> str:
    """Of the package, in the root."""
    found = re.search(r"^Version: (.+)$", _stanza(base), re.MULTILINE)
    if found is None:
        raise LocalError(f"{PACKAGE} in {base} has no version", "delete that folder; it is made again")
    return found[1]


def _make(base: Path, empty: Path) -> Path:
    folder = empty / "packages"
    folder.mkdir()
    content = empty / "content"
    _collect(base, content)
    control, version = _OF_THE_INSTALLATION.sub("", _stanza(base)), installed_version(base)
    versions = (version, f"{version}{LATER}")
    stanzas = [control.replace(f"Version: {version}\n", f"Version: {one}\n") for one in versions]
    (folder / INDEX).write_text("".join(pack(content, one, folder) for one in stanzas))
    return folder


def _stanza(base: Path) -> str:
    """What dpkg knows of the package."""
    known = (base / "var/lib/dpkg/status").read_text().split("\n\n")
    found = [one for one in known if one.startswith(f"Package: {PACKAGE}\n")]
    if not found:
        raise LocalError(f"no {PACKAGE} in {base}", "delete that folder; it is made again")
    return f"{found[0]}\n"


def _collect(base: Path, content: Path) -> None:
    """Its files, and the scripts that dpkg runs."""
    known = base / "var/lib/dpkg/info"
    for line in (known / f"{PACKAGE}.list").read_text().splitlines():
        source, target = base / line.lstrip("/"), content / line.lstrip("/")
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    (content / "DEBIAN").mkdir()
    for name in _SCRIPTS:
        if (script := known / f"{PACKAGE}.{name}").exists():
            shutil.copy2(script, content / "DEBIAN" / name)
