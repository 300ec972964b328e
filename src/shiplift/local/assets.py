"""Finds the programs of a cluster, or gets them: KUBEBUILDER_ASSETS, cache, official download, Go build."""

from __future__ import annotations

import os
from pathlib import Path

from shiplift.local import build, cache, download, paths, platforms
from shiplift.local.errors import LocalError, NoSpaceError
from shiplift.local.progress import Say

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok")


def find(say: Say) -> dict[str, str]:
    """The path of each program; what the given folder lacks comes from the cache."""
    given = _given()
    return given if len(given) == len(PROGRAMS) else {**_cached(say), **given}


def cache_folder() -> Path:
    """Named after everything that its content depends on."""
    name = f"{build.VERSION}-{platforms.system()}-{platforms.machine()}-{build.CLUSTER.digest()}"
    return paths.cache_root() / "kubernetes" / name


def _given() -> dict[str, str]:
    folder = os.environ.get("KUBEBUILDER_ASSETS")
    if not folder:
        return {}
    found = _in(Path(folder).absolute())
    if not found:
        raise LocalError(
            f"KUBEBUILDER_ASSETS is {folder}, but no program is there",
            f"unset it, or put {', '.join(PROGRAMS)} there",
        )
    return found


def _in(folder: Path) -> dict[str, str]:
    places = {name: folder / name for name in PROGRAMS}
    return {name: str(path) for name, path in places.items() if os.access(path, os.X_OK)}


def _cached(say: Say) -> dict[str, str]:
    return _in(cache.filled(cache_folder(), "Kubernetes", lambda temporary: _obtain(temporary, say), say))


def _obtain(temporary: Path, say: Say) -> Path:
    """Download, else build; each into a folder of its own, so that nothing half-done is mixed in."""
    downloaded, built = temporary / "downloaded", temporary / "built"
    downloaded.mkdir()
    built.mkdir()
    try:
        download.download(downloaded, say, download.OFFICIAL)
    except NoSpaceError:
        raise
    except LocalError as error:
        say(error.message)
    else:
        return downloaded
    build.build(build.CLUSTER, built, say)
    return built
