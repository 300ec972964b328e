"""Finds the programs of a cluster, or gets them: KUBEBUILDER_ASSETS, cache, download, build."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from shiplift.local.errors import LocalError

Say = Callable[[str], None]
PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok")


def find(say: Say) -> dict[str, str]:
    """The path of each program."""
    given = _in_folder(Path(os.environ.get("KUBEBUILDER_ASSETS", "/nonexistent")))
    if len(given) < len(PROGRAMS):
        raise LocalError("no Kubernetes programs", "set KUBEBUILDER_ASSETS")
    return given


def _in_folder(folder: Path) -> dict[str, str]:
    found = {name: folder / name for name in PROGRAMS}
    return {name: str(path) for name, path in found.items() if os.access(path, os.X_OK)}
