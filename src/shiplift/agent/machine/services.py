"""The machine's service manager: systemd, or whatever answers to `systemctl` in its place.

This is the one seam between an agent and the init of its machine. Work is started apart from the agent, in a
unit of its own: an agent that is stopped, upgraded or killed takes nothing with it. Where there is no service
manager, it is started as a process with a session of its own; never where there is one that does not answer
just now: such a process would be held by all that holds the agent.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from shiplift.agent.errors import CommandError
from shiplift.agent.machine import commands

WORK_UNIT = "shiplift-work"
_SECONDS, _RESTART_SECONDS = 30.0, 180.0
_SYSTEMD = Path("/run/systemd/system")
"""There as long as systemd is the machine's init, whatever state it is in."""
_UNDER_WAY = re.compile(r"\balready\b.*\bin progress\b")
_PID = re.compile(r"\bMainPID=(\d+)")
_LOADED = re.compile(r"\bLoadState=(\S+)")


@dataclass(frozen=True)
class Unit:
    """A service as its manager knows it."""

    loaded: bool = False
    pid: int = 0
    """Its main process; 0 where none runs."""


def managed() -> bool:
    """Whether this machine has a service manager."""
    return _SYSTEMD.is_dir()


def unit(name: str) -> Unit:
    """Unknown units, and all of them where nobody manages any, are not loaded."""
    asked = ["systemctl", "show", "--property=LoadState,MainPID", f"{name}.service"]
    try:
        answer = commands.run(asked, seconds=_SECONDS, check=False)
    except CommandError:
        return Unit()
    pid, state = _PID.search(answer.out), _LOADED.search(answer.out)
    if answer.code or pid is None:
        return Unit()
    return Unit(state is None or state[1] == "loaded", int(pid[1]))


def restart(name: str) -> None:
    """By what its unit file says now."""
    commands.run(["systemctl", "daemon-reload"], seconds=_SECONDS)
    commands.run(["systemctl", "restart", f"{name}.service"], seconds=_RESTART_SECONDS)


def reboot() -> None:
    """Asked for; the machine goes down when what may hold it up lets it. One that does so already is left."""
    asked = commands.run(["systemctl", "reboot"], seconds=_SECONDS, check=False)
    if asked.code and not _UNDER_WAY.search(asked.err):
        raise CommandError(asked.failure)


def start_apart(argv: Sequence[str]) -> None:
    """Start it so that it outlives who asked; its end is nobody's business here. A service manager that does
    not start it is asked again with the next loop."""
    if managed():
        # a unit that was left behind failed would keep its name
        commands.run(["systemctl", "reset-failed", f"{WORK_UNIT}.service"], seconds=_SECONDS, check=False)
        commands.run(["systemd-run", f"--unit={WORK_UNIT}", "--collect", "--quiet", *argv], seconds=_SECONDS)
    else:
        subprocess.run(["setsid", "--fork", *argv], stdin=subprocess.DEVNULL, cwd="/", check=True)  # noqa: S607
