"""What a computer must have to hold machines; what it lacks is said by name, before anything is made."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from shiplift.local.errors import LocalError
from shiplift.local.machines import cgroups
from shiplift.local.machines.tools import find, tool

_PROGRAMS = {
    "apt-get": "apt",
    "dpkg-deb": "dpkg",
    "ip": "iproute2",
    "nsenter": "util-linux",
    "perl": "perl",
    "unshare": "util-linux",
}
_NAMESPACES = ("mount", "pid", "uts", "ipc", "net", "cgroup")


def refusal(folder: Path | None = None) -> LocalError | None:
    """Why this computer can hold no machines, the folder being where their disks would be; None: it can."""
    if sys.platform != "linux":
        return LocalError(f"no machines on {sys.platform}", "use Linux")
    if os.geteuid() != 0:
        return LocalError(
            "machines need root",
            'run it as root, or with sudo env "PATH=$PATH" before it; then all that concerns them, too',
        )
    return _without_programs() or _without_groups() or _without_namespaces() or _without_overlays(folder)


def _without_programs() -> LocalError | None:
    lacking = sorted({package for name, package in _PROGRAMS.items() if not find(name)})
    return LocalError("machines need " + ", ".join(lacking), "install them") if lacking else None


def _without_groups() -> LocalError | None:
    lacking = cgroups.missing()
    return LocalError(f"machines need control groups: {lacking}", "use cgroup v1 or v2") if lacking else None


def _without_namespaces() -> LocalError | None:
    lacking = [name for name in _NAMESPACES if _fails("unshare", f"--{name}", "--fork", "true")]
    if not lacking:
        return None
    return LocalError(
        f"no new namespaces here: {', '.join(lacking)}", "use a computer of your own, no container"
    )


def _without_overlays(folder: Path | None) -> LocalError | None:
    """Tried where the disks will be: some file systems take no overlay, another overlay among them."""
    with tempfile.TemporaryDirectory(dir=_existing(folder)) as trial:
        for name in ("lower", "upper", "work", "merged"):
            Path(trial, name).mkdir()
        options = f"lowerdir={trial}/lower,upperdir={trial}/upper,workdir={trial}/work"
        mount = ("mount", "-t", "overlay", "overlay", "-o", options, f"{trial}/merged")
        if _fails("unshare", "--mount", *mount):
            return LocalError(
                f"no overlayfs in {Path(trial).parent}", "set SHIPLIFT_STATE to a folder on ext4 or xfs"
            )
    return None


def _existing(folder: Path | None) -> Path | None:
    while folder and not folder.exists():
        folder = folder.parent
    return folder


def _fails(program: str, *arguments: str) -> bool:
    return subprocess.run([tool(program), *arguments], capture_output=True, check=False).returncode != 0
