"""CoreDNS for clusters on machines: its Go module, with the plugins that kubeadm's Corefile names."""

from __future__ import annotations

from pathlib import Path

from shiplift.local import build, cache, paths, platforms
from shiplift.local.build import Recipe
from shiplift.local.progress import Say

PROGRAM = "coredns"
IMAGE = "coredns/coredns"
_RECIPE = Recipe("v1.14.2", build.module("machines/coredns"), (".",), PROGRAM, (), title="CoreDNS")


def find(say: Say) -> Path:
    """The program; got when it is not there."""
    return cache.filled(folder_of(), "CoreDNS", lambda empty: _build(empty, say), say) / PROGRAM


def folder_of() -> Path:
    """Named after everything that its content depends on."""
    name = f"{PROGRAM}-{_RECIPE.version}-{platforms.machine()}-{_RECIPE.digest()}"
    return paths.cache_root() / "machines" / name


def _build(empty: Path, say: Say) -> Path:
    content = empty / "built"
    content.mkdir()
    build.build(_RECIPE, content, say)
    return content
