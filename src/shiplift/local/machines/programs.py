"""The programs that machines run, by version of Kubernetes: built from Go modules, or re-stamped, and cached.

Two versions are built: what differs between minors is real. Other patches of the same minors are the same
code with another version stamped on it: what an upgrade compares and reports is real.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from shiplift.local import build, cache, paths, platforms
from shiplift.local.build import Recipe
from shiplift.local.errors import LocalError
from shiplift.local.progress import Say

BINARY = "kubernetes"
NAMES = (
    *("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"),
    *("kube-proxy", "kubeadm", "kubectl", "kubelet"),
)
PAUSE = "pause"
_MODULE_FILES = {"v1.36.3": "go.mod", "v1.35.4": "v1.35.4.mod"}
BUILT = tuple(_MODULE_FILES)
NEWEST = BUILT[0]
_VERSION = re.compile(r"v1\.(\d{2})\.\d", re.ASCII)


def find(version: str, say: Say) -> Path:
    """The folder of the programs of that version; got when it is not there."""
    base = base_of(version)
    recipe = _recipe(base)
    built = cache.filled(
        _folder(base, recipe), f"Kubernetes {base}", lambda empty: _build(recipe, empty, say), say
    )
    if version == base:
        return built
    what = f"Kubernetes {version}"
    return cache.filled(
        _folder(version, recipe), what, lambda empty: _stamp(built, base, version, empty), say
    )


def base_of(version: str) -> str:
    """The version whose code it is: the built one of the same minor."""
    minor = _VERSION.fullmatch(version)
    for one in BUILT:
        if minor and one.startswith(f"v1.{minor[1]}."):
            return one
    raise LocalError(
        f"machines cannot have Kubernetes {version!r}",
        f"{' or '.join(BUILT)}, or another patch of theirs with one digit",
    )


def folder_of(version: str) -> Path:
    """Named after everything that its content depends on."""
    return _folder(version, _recipe(base_of(version)))


def _recipe(version: str) -> Recipe:
    packages = (".", f"./{PAUSE}")
    source = build.module("machines/kubernetes")
    return Recipe(version, source, packages, BINARY, NAMES, _MODULE_FILES[version])


def _folder(version: str, recipe: Recipe) -> Path:
    name = f"{BINARY}-{version}-{platforms.machine()}-{recipe.digest()}"
    return paths.cache_root() / "machines" / name


def _build(recipe: Recipe, empty: Path, say: Say) -> Path:
    content = empty / "built"
    content.mkdir()
    build.build(recipe, content, say)
    return content


def _stamp(built: Path, base: str, version: str, empty: Path) -> Path:
    """Versions are of one length, so that nothing else in the binary moves."""
    content = empty / "stamped"
    shutil.copytree(built, content, symlinks=True)
    binary = content / BINARY
    before = binary.read_bytes()
    after = before.replace(base.encode(), version.encode())
    if after == before:
        raise LocalError(
            f"no version {base} is stamped on {built / BINARY}", "delete its folder; it is made again"
        )
    binary.write_bytes(after)
    return content
