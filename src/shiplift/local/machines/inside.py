"""Puts the root of a machine together and becomes its first process: runs in the machine's own namespaces.

Nothing that is done here is seen outside, and nothing that runs here later can change the computer's own
kernel settings: they are read-only, but for those of the machine's own network; what kubelet insists on
writing is a file of the machine's.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NoReturn

from shiplift.local.machines import cgroups, syscalls
from shiplift.local.machines.blueprint import Blueprint, Disks
from shiplift.local.machines.syscalls import Mount

INIT = "/sbin/init"
# what kubelet wants them to be; it sets those that are not
KUBELET_SETTINGS = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}
PLAIN = ("containerd", "kubelet", "etcd")
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "kmsg", "fuse")
_QUIET = Mount.NO_SUID | Mount.NO_DEV | Mount.NO_EXEC
_ENVIRONMENT = {
    "container": "shiplift",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
}


def become(blueprint: Blueprint, disks: Disks) -> NoReturn:
    """This process becomes the first one of the machine."""
    syscalls.mount("none", Path("/"), flags=Mount.RECURSIVE | Mount.PRIVATE)
    syscalls.set_hostname(blueprint.name)
    root = disks.merged
    _mount_root(blueprint, disks, root)
    _mount_kernel(root, disks)
    _mount_cgroups(root, tuple(blueprint.cgroups))
    _make_devices(root)
    for target, source in blueprint.shared.items():
        syscalls.bind(Path(source), _folder(root / target.lstrip("/")), read_only=True)
    _pivot(root)
    os.execve(INIT, [INIT], _ENVIRONMENT)  # noqa: S606  the machine's own, after the pivot


def _mount_root(blueprint: Blueprint, disks: Disks, root: Path) -> None:
    places = {"lowerdir": blueprint.root, "upperdir": disks.changes, "workdir": disks.work}
    options = ",".join(f"{name}={_escaped(place)}" for name, place in places.items())
    syscalls.mount("overlay", root, "overlay", options=options)
    for name in PLAIN:
        syscalls.bind(disks.plain(name), _folder(root / "var/lib" / name))
    for name, mode in (("run", "755"), ("tmp", "1777")):
        syscalls.mount("tmpfs", root / name, "tmpfs", Mount.NO_SUID | Mount.NO_DEV, f"mode={mode}")


def _mount_kernel(root: Path, disks: Disks) -> None:
    proc, settings = root / "proc", root / "proc/sys"
    syscalls.mount("proc", proc, "proc", _QUIET)
    syscalls.bind(settings, settings)
    syscalls.bind(settings / "net", settings / "net")
    for name in KUBELET_SETTINGS:
        syscalls.bind(disks.settings / name, settings / name)
    syscalls.bind(disks.boot_id, settings / "kernel/random/boot_id", read_only=True)
    (settings / "net/ipv4/ip_forward").write_text("1")
    # only this mount, and not those that were put into it just now
    syscalls.mount("none", settings, flags=Mount.BIND | Mount.REMOUNT | Mount.READ_ONLY)
    if (trigger := proc / "sysrq-trigger").exists():
        syscalls.bind(trigger, trigger, read_only=True)
    syscalls.mount("sysfs", root / "sys", "sysfs", _QUIET | Mount.READ_ONLY)


def _mount_cgroups(root: Path, hierarchies: tuple[str, ...]) -> None:
    """Each as the machine's own cgroup namespace shows it: its own cgroup is the top."""
    top = root / "sys/fs/cgroup"
    if hierarchies == (cgroups.UNIFIED,):
        syscalls.mount("cgroup2", top, "cgroup2", _QUIET)
        return
    syscalls.mount("tmpfs", top, "tmpfs", _QUIET, "mode=755")
    for name in hierarchies:
        if name == cgroups.UNIFIED:
            syscalls.mount("cgroup2", _folder(top / name), "cgroup2", _QUIET)
            continue
        options = "none,name=systemd" if name == "systemd" else name
        syscalls.mount("cgroup", _folder(top / name), "cgroup", _QUIET, options)
        for one in name.split(",") if "," in name else ():
            (top / one).symlink_to(name)


def _make_devices(root: Path) -> None:
    top = root / "dev"
    syscalls.mount("tmpfs", top, "tmpfs", Mount.NO_SUID, "mode=755")
    for name in _DEVICES:
        if os.path.lexists(f"/dev/{name}"):
            (top / name).touch()
            syscalls.bind(Path("/dev", name), top / name)
    for name, target in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        (top / name).symlink_to(target)
    options = "newinstance,ptmxmode=0666,mode=620,gid=5"
    syscalls.mount("devpts", _folder(top / "pts"), "devpts", Mount.NO_SUID | Mount.NO_EXEC, options)
    (top / "ptmx").symlink_to("pts/ptmx")
    syscalls.mount("tmpfs", _folder(top / "shm"), "tmpfs", Mount.NO_SUID | Mount.NO_DEV, "mode=1777")
    syscalls.mount("mqueue", _folder(top / "mqueue"), "mqueue", _QUIET)


def _pivot(root: Path) -> None:
    old = _folder(root / "mnt/old")
    os.chdir(root)
    syscalls.pivot_root(root, old)
    os.chdir("/")
    syscalls.detach(Path("/mnt/old"))
    Path("/mnt/old").rmdir()
    # kubelet's pods must see what is mounted later; a root that is shared already cannot be pivoted to
    syscalls.mount("none", Path("/"), flags=Mount.RECURSIVE | Mount.SHARED)


def _escaped(place: object) -> str:
    """Colons and commas have a meaning to overlayfs."""
    return re.sub(r"([\\:,])", r"\\\1", str(place))


def _folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path
