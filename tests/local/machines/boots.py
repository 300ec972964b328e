"""Which boot of a machine this is, and waiting for the next one."""

from __future__ import annotations

from shiplift.local.errors import LocalError
from shiplift.local.machines import Host
from tests.until import until


def boot_id(host: Host) -> str:
    return host.read("/proc/sys/kernel/random/boot_id").decode().strip()


def until_restarted(host: Host, before: str) -> None:
    """Runs, in another boot than the one before, and its sshd answers."""
    until(lambda: _boot_now(host) not in (None, before) and host.answers, every=0.2)


def _boot_now(host: Host) -> str | None:
    """Nothing while it goes down or comes up: it can be gone between the look for it and the question."""
    try:
        return boot_id(host)
    except LocalError:
        return None
