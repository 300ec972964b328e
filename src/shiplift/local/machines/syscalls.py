"""The few system calls that make a machine and that Python 3.11 does not have; each raises OSError."""

from __future__ import annotations

import ctypes
import os
import signal
from enum import IntFlag
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
_MNT_DETACH = 2
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}


class Namespace(IntFlag):
    """What a machine has of its own, as unshare(2) names it."""

    MOUNT = 0x00020000
    CGROUP = 0x02000000
    UTS = 0x04000000
    IPC = 0x08000000
    PID = 0x20000000
    NETWORK = 0x40000000


class Mount(IntFlag):
    """Flags of mount(2)."""

    NONE = 0
    READ_ONLY = 1
    NO_SUID = 2
    NO_DEV = 4
    NO_EXEC = 8
    REMOUNT = 32
    BIND = 4096
    RECURSIVE = 16384
    PRIVATE = 1 << 18
    SHARED = 1 << 20


def unshare(namespaces: Namespace) -> None:
    _check(_libc.unshare(ctypes.c_int(namespaces)), "unshare")


def enter(path: Path, namespace: Namespace) -> None:
    """Into the namespace that the file stands for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _check(_libc.setns(descriptor, ctypes.c_int(namespace)), str(path))
    finally:
        os.close(descriptor)


def mount(source: str, target: Path, kind: str = "", flags: Mount = Mount.NONE, options: str = "") -> None:
    done = _libc.mount(
        source.encode(), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), options.encode()
    )
    _check(done, str(target))


def bind(source: Path, target: Path, *, read_only: bool = False) -> None:
    mount(str(source), target, flags=Mount.BIND)
    if read_only:
        mount("none", target, flags=Mount.BIND | Mount.REMOUNT | Mount.READ_ONLY)


def detach(target: Path) -> None:
    _check(_libc.umount2(os.fsencode(target), _MNT_DETACH), str(target))


def pivot_root(new: Path, old: Path) -> None:
    number = _PIVOT_ROOT[os.uname().machine]
    _check(_libc.syscall(ctypes.c_long(number), os.fsencode(new), os.fsencode(old)), str(new))


def set_hostname(name: str) -> None:
    _check(_libc.sethostname(name.encode(), ctypes.c_size_t(len(name))), "sethostname")


def die_with_parent() -> None:
    """The kernel ends this process as soon as the one that forked it is gone."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0), "prctl")


def _check(result: int, what: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
