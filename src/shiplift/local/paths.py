"""Where things are kept: binaries in the cache folder, clusters in the state folder."""

from __future__ import annotations

import os
from pathlib import Path


def cache_root() -> Path:
    """Made again when deleted: SHIPLIFT_CACHE, else the user's cache folder."""
    return _root("SHIPLIFT_CACHE", "XDG_CACHE_HOME", ".cache")


def clusters_root() -> Path:
    """One folder a cluster, by name: SHIPLIFT_STATE, else the user's state folder."""
    return _root("SHIPLIFT_STATE", "XDG_STATE_HOME", ".local/state") / "clusters"


def _root(own: str, standard: str, fallback: str) -> Path:
    if chosen := os.environ.get(own):
        return Path(chosen).absolute()
    base = os.environ.get(standard)
    return (Path(base) if base else Path.home() / fallback) / "shiplift"
