"""The hands of an agent on its real machine: what `loop.Hands` asks for, by the machine's own means."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from shiplift.agent.machine import disk, locks, services, versions
from shiplift.agent.machine.journal import Journal
from shiplift.agent.machine.work import LOCK, has_etcd, is_control_plane
from shiplift.agent.model import Machine, Progress, Record, Work
from shiplift.agent.protocol import Operation
from shiplift.agent.settings import KUBECONFIG

MACHINE_ID = Path("/etc/machine-id")
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
RESTART_REQUIRED = Path("/run/reboot-required")
RESTART_SECONDS = 600.0
"""A machine that is told to restart may take its time: what runs on it is ended first."""
_NEVER_RESTARTS = "the machine was told to restart 10 minutes ago, and its boot id is the same still"
_BEGUN_SECONDS = 10.0


class MachineHands:
    """`worker` is the command line that does the work, as a process of its own."""

    def __init__(
        self, journal: Journal, worker: Sequence[str] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._worker = tuple(worker) or own_command("work")
        self._lock = journal.folder / LOCK

    def observe(self, wanted: frozenset[str]) -> Machine:
        record, boot_id = self._journal.record(), disk.text(BOOT_ID)
        software = versions.installed(wanted | versions.COMMON) | versions.control_plane()
        return Machine(
            disk.text(MACHINE_ID),
            boot_id,
            software,
            versions.running_kubelet(),
            RESTART_REQUIRED.exists(),
            can(),
            record,
            Work(Progress.FAILED, _NEVER_RESTARTS) if self._is_stuck(record, boot_id) else self._work(record),
        )

    def keep(self, record: Record) -> None:
        self._journal.keep(record)

    def begin(self, record: Record) -> None:
        """Returns when the work is seen to run, or to have ended; else the next loop begins it again."""
        if locks.is_taken(self._lock):
            return
        services.start_apart(self._worker)
        deadline = time.monotonic() + _BEGUN_SECONDS
        while time.monotonic() < deadline and self._work(record).progress is Progress.ABSENT:
            time.sleep(0.05)

    def restart(self) -> None:
        if (record := self._journal.record()) is not None:
            self._journal.count_restart(record.token, disk.text(BOOT_ID), self._clock())
        os.sync()
        services.reboot()

    def _is_stuck(self, record: Record | None, boot_id: str) -> bool:
        """Told to restart long ago, and still the same boot: it must not be told for ever."""
        if record is None or record.restarted_from != boot_id:
            return False
        told = self._journal.told_to_restart(record.token, boot_id)
        return told is not None and self._clock() - told.since >= RESTART_SECONDS

    def _work(self, record: Record | None) -> Work:
        # the lock first: work that ends between the two looks has a result by then
        if locks.is_taken(self._lock):
            return Work(Progress.RUNNING)
        return (self._journal.result(record.token) if record else None) or Work()


def can() -> frozenset[Operation]:
    """The operations that a machine like this can do."""
    joined = {Operation.UPGRADE_NODE} if KUBECONFIG.exists() else set[Operation]()
    members = {Operation.SNAPSHOT} if has_etcd() else set[Operation]()
    planes = {Operation.UPGRADE_APPLY} if is_control_plane() else set[Operation]()
    return frozenset({Operation.PREPARE, Operation.PACKAGES} | joined | members | planes)


def own_command(verb: str) -> tuple[str, ...]:
    """This very program with another verb: the one file that it was started from, or the package."""
    started = sys.argv[0]
    if started.endswith(".py"):
        return (sys.executable, "-m", "shiplift.agent", verb)
    return (sys.executable, "-I", os.path.abspath(started), verb)
