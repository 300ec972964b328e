"""Boots one machine, boots it again when it restarts itself, and ends when it is off.

The kernel ends a machine whose keeper is gone, and every process of a machine whose first process is gone.
A restart is the machine's own doing (`systemctl reboot`): its first process then ends by SIGHUP.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import msgspec

from shiplift.local import process
from shiplift.local.machines import blueprint, cgroups, inside, syscalls
from shiplift.local.machines.blueprint import Blueprint, Disks
from shiplift.local.machines.syscalls import Namespace
from shiplift.local.private import write_private
from shiplift.local.process import Process

_OWN = Namespace.MOUNT | Namespace.PID | Namespace.UTS | Namespace.IPC | Namespace.CGROUP
NETWORKS = Path("/run/netns")


def keep(disks: Disks) -> None:
    """From boot to boot, until the machine is off."""
    plan = blueprint.read(disks)
    while True:
        disks.boot_id.write_text(f"{uuid.uuid4()}\n")
        if not _once(plan, disks):
            return


def _once(plan: Blueprint, disks: Disks) -> bool:
    """One boot; whether the machine wants another."""
    keeper = os.getpid()
    pid = os.fork()
    if pid == 0:
        _guarded(lambda: _outside(plan, disks, keeper))
    _, status = os.waitpid(pid, 0)
    disks.init.unlink(missing_ok=True)
    return os.WIFEXITED(status) and os.WEXITSTATUS(status) == signal.SIGHUP


def _outside(plan: Blueprint, disks: Disks, keeper: int) -> NoReturn:
    """Still of this computer by its process number, already in the machine's network and groups."""
    syscalls.die_with_parent()
    if os.getppid() != keeper:
        os._exit(1)
    syscalls.enter(NETWORKS / plan.network, Namespace.NETWORK)
    cgroups.join(plan.cgroups)
    syscalls.unshare(_OWN)
    pid = os.fork()
    if pid == 0:
        _guarded(lambda: _inside(plan, disks))
    write_private(disks.init, msgspec.json.encode(Process(pid, process.started(pid))))
    _, status = os.waitpid(pid, 0)
    os._exit(os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0)


def _inside(plan: Blueprint, disks: Disks) -> NoReturn:
    syscalls.die_with_parent()
    os.setsid()
    inside.become(plan, disks)


def _guarded(work: Callable[[], NoReturn]) -> NoReturn:
    """A forked child never returns into its parent's code."""
    try:
        work()
    except BaseException:
        traceback.print_exc()
    os._exit(1)


if __name__ == "__main__":
    keep(Disks(Path(sys.argv[1])))
