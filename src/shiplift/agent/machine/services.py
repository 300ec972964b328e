"""The machine's service manager: systemd, or whatever answers to `systemctl` in its place.

This is the one seam between an agent and the init of its machine. Work is started apart from the agent, in a
unit of its own: an agent that is stopped, upgraded or killed takes nothing with it. Where no service manager
answers, it is started as a process with a session of its own.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from shiplift.agent.errors import CommandError
from shiplift.agent.machine import commands

WORK_UNIT = "shiplift-work"
_SECONDS, _RESTART_SECONDS = 30.0, 180.0
_MANAGED = ("running", "degraded", "starting", "initializing", "maintenance")
_PID = re.compile(r"\bMainPID=(\d+)")
_LOADED = re.compile(r"\bLoadState=(\S+)")


@dataclass(frozen=True)
class Unit:
    """A service as its manager knows it."""

    loaded: bool = False
    pid: int = 0
    """Its main process; 0 where none runs."""


def managed() -> bool:
    """Whether a service manager answers on this machine."""
    try:
        answer = commands.run(["systemctl", "is-system-running"], seconds=_SECONDS, check=False)
    except CommandError:
        return False
    return answer.out.strip() in _MANAGED


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
    """Asked for; the machine goes down a moment later."""
    commands.run(["systemctl", "reboot"], seconds=_SECONDS)


def start_apart(argv: Sequence[str]) -> None:
    """Start it so that it outlives who asked; its end is nobody's business here."""
    if managed():
        # a unit that was left behind failed would keep its name
        commands.run(["systemctl", "reset-failed", f"{WORK_UNIT}.service"], seconds=_SECONDS, check=False)
        commands.run(["systemd-run", f"--unit={WORK_UNIT}", "--collect", "--quiet", *argv], seconds=_SECONDS)
    else:
        subprocess.run(["setsid", "--fork", *argv], stdin=subprocess.DEVNULL, cwd="/", check=True)  # noqa: S607
