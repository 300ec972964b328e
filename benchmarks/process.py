"""What a Linux process says of itself: CPU used and memory held. The Go informer reads the same."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import msgspec


class Memory(msgspec.Struct, frozen=True):
    """The resident set in bytes: now, and at its highest since the last `reset_peak`."""

    rss: int
    peak: int


def cpu_seconds() -> float:
    """Used since the process was started, user and system; imports included."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def cpu_seconds_of(pid: int) -> float:
    """Used by another process since it was started, user and system."""
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, after_name[11:13])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int | None = None) -> Memory:
    """Of this process, or of another."""
    fields = dict(
        line.split(":", 1)
        for line in Path(f"/proc/{pid or 'self'}/status").read_text().splitlines()
        if line.startswith("Vm")
    )
    return Memory(*(int(fields[name].split()[0]) << 10 for name in ("VmRSS", "VmHWM")))


def reset_peak() -> None:
    """Make VmHWM start again from the present resident set."""
    Path("/proc/self/clear_refs").write_text("5")
