"""What is published to the machines of a set: programs, packages and images, by version of Kubernetes.

Everything is in the cache of this computer, which machines see read-only; a set has links to what it
publishes, so that more can be published while machines run.
"""

from __future__ import annotations

import os
from pathlib import Path

from shiplift.local import paths
from shiplift.local.machines import images, packages, programs, repack, root
from shiplift.local.progress import Say

CACHE = "/srv/cache"


def cache_folder() -> Path:
    return paths.cache_root() / "machines"


def publish(published: Path, version: str, say: Say) -> None:
    """All of that version; what was published before stays."""
    kubernetes, debs, stored = (
        programs.find(version, say),
        packages.find(version, say),
        images.find(version, say),
    )
    _link(published / programs.BINARY / version, kubernetes)
    publish_packages(published / "apt" / packages.channel(version), debs)
    for path in stored.rglob("*"):
        if path.is_file():
            _link(published / "registry" / path.relative_to(stored), path)


def publish_later_containerd(published: Path, say: Say) -> str:
    """containerd as it is installed and in a later revision, in its own channel; returns the revision."""
    publish_packages(published / "apt" / repack.PACKAGE, repack.find(say))
    return f"{repack.installed_version(root.find(say))}{repack.LATER}"


def prepare(published: Path) -> None:
    """The empty folders, which machines see from their first boot on."""
    for name in (programs.BINARY, "apt", "registry"):
        (published / name).mkdir(parents=True, exist_ok=True)


def versions(published: Path) -> list[str]:
    return sorted(path.name for path in (published / programs.BINARY).iterdir())


def publish_packages(channel: Path, debs: Path) -> None:
    """apt reads one index: that of all packages which the channel has."""
    for path in debs.glob("*.deb"):
        _link(channel / path.name, path)
    folders = {(paths.cache_root() / "machines" / _cached(link)).parent for link in channel.glob("*.deb")}
    index = "".join((folder / packages.INDEX).read_text() for folder in sorted(folders))
    temporary = channel / f"{packages.INDEX}.new"
    temporary.write_text(index)
    temporary.replace(channel / packages.INDEX)


def _link(link: Path, target: Path) -> None:
    """To where machines see the cache."""
    link.parent.mkdir(parents=True, exist_ok=True)
    temporary = link.with_name(f"{link.name}.new")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(f"{CACHE}/{target.relative_to(cache_folder())}")
    temporary.replace(link)


def _cached(link: Path) -> str:
    return os.readlink(link).removeprefix(f"{CACHE}/")
