"""The control groups of a machine: a folder of its own in every hierarchy, which it takes for the top.

Two kubelets that share a hierarchy end each other's pods. With version 1 a machine's groups are below those
of the process that makes it, so that limits put on that process hold for its machines.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from shiplift.local.errors import LocalError

UNIFIED = "unified"
_TOP = Path("/sys/fs/cgroup")
# what kubelet, runc and systemd use
_VERSION_1 = ("cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids", "systemd")
_VERSION_2 = ("cpuset", "cpu", "io", "memory", "pids")
_PATIENCE = 60.0


def missing(top: Path = _TOP) -> str:
    """What this computer lacks, or nothing."""
    if (top / "cgroup.controllers").exists():
        absent = set(_VERSION_2) - set((top / "cgroup.controllers").read_text().split())
        return f"cgroup v2 without {', '.join(sorted(absent))}" if absent else ""
    absent = {name for name in _VERSION_1 if not (top / name / "cgroup.procs").exists()}
    return f"cgroup v1 without {', '.join(sorted(absent))}" if absent else ""


def make(name: str) -> dict[str, str]:
    """Groups for the machine of that name (a path below all of ours), one in each hierarchy."""
    if (_TOP / "cgroup.controllers").exists():
        return {UNIFIED: str(_make_unified(_TOP / name))}
    own = _own()
    above = {one: _TOP / one / own.get(one.partition(",")[0], "") for one in hierarchies(_TOP)}
    made = {one: folder / name for one, folder in above.items()}
    for one, folder in made.items():
        folder.mkdir(parents=True, exist_ok=True)
        if "cpuset" in one.split(","):
            _allow_all(folder, above[one])
    return {one: str(folder) for one, folder in made.items()}


def join(groups: dict[str, str]) -> None:
    """This process goes into the groups, and all that it starts."""
    for folder in groups.values():
        Path(folder, "cgroup.procs").write_text(str(os.getpid()))


def end(groups: dict[str, str]) -> None:
    """Every process in the groups, and those that it starts meanwhile."""
    for folder in map(Path, groups.values()):
        _until(lambda folder=folder: _kill(folder), folder)


def wait_empty(groups: dict[str, str]) -> None:
    """Until no process is in the groups, nor in those that were made below them."""
    for folder in map(Path, groups.values()):
        _until(lambda folder=folder: not _processes(folder), folder)


def remove(groups: dict[str, str]) -> None:
    """When their processes are gone; and what is above them, once nothing else is in there."""
    for folder in map(Path, groups.values()):
        _until(lambda folder=folder: not folder.exists() or _remove_tree(folder), folder)
        with contextlib.suppress(OSError):
            folder.parent.rmdir()


def _until(done: Callable[[], bool], folder: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not done():
        if time.monotonic() > deadline:
            raise LocalError(f"{folder} is still in use", "end its processes and run the command again")
        time.sleep(0.02)


def _kill(folder: Path) -> bool:
    """Whether there was nobody."""
    found = _processes(folder)
    for pid in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return not found


def _processes(folder: Path) -> list[int]:
    """Of the group and those below; groups may go while they are looked at."""
    found: list[int] = []
    for one in _tree(folder):
        with contextlib.suppress(OSError):
            found += map(int, (one / "cgroup.procs").read_text().split())
    # 0 is one that cannot be seen from here, and to kill 0 is to kill oneself
    return [pid for pid in found if pid > 0]


def _remove_tree(folder: Path) -> bool:
    try:
        for one in _tree(folder):
            one.rmdir()
    except OSError:
        return False
    return True


def _tree(folder: Path) -> list[Path]:
    """The group and those below it, the lowest first; those that go meanwhile are left out."""
    return [Path(one) for one, _, _ in os.walk(folder, topdown=False)]


def hierarchies(top: Path) -> list[str]:
    """Those of version 1, such as `memory` or `cpu,cpuacct`; and that of version 2 beside them.

    systemd finds the latter as well, if there is one, and uses it.
    """
    present = [name for name in (*_VERSION_1, UNIFIED) if (top / name / "cgroup.procs").exists()]
    return list(dict.fromkeys((top / name).resolve().name for name in present))


def _own() -> dict[str, str]:
    """Where this process is, by hierarchy of version 1."""
    found: dict[str, str] = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        found |= {name.removeprefix("name=") or UNIFIED: path.strip("/") for name in names.split(",")}
    return found


def _allow_all(folder: Path, above: Path) -> None:
    """A new cpuset allows nothing, and takes no process."""
    for one in (folder.parent, folder):
        for name in ("cpuset.cpus", "cpuset.mems"):
            (one / name).write_text((above / name).read_text())


def _make_unified(folder: Path) -> Path:
    """From the top, where processes and groups may be side by side; controllers are handed down."""
    folder.mkdir(parents=True, exist_ok=True)
    for above in (_TOP, folder.parent):
        for name in _VERSION_2:
            (above / "cgroup.subtree_control").write_text(f"+{name}")
    return folder
