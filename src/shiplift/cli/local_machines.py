"""`shiplift local up --machines`: real machines on this computer, beside the clusters of simulated nodes."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from shiplift.cli.output import say
from shiplift.local.errors import LocalError

if TYPE_CHECKING:
    from shiplift.local.machines import Machines


def find(name: str) -> Machines | None:
    """The set of that name, if there is one."""
    machines = _machines(name)
    return machines if machines.exists else None


def names() -> list[str]:
    from shiplift.local.machines import names as known

    return known()


def up(name: str, count: int | None, kubernetes: str, *, bare: bool) -> None:
    """Make the set, and a cluster of it unless it is to be bare; with no count, start what is off."""
    machines, began = _machines(name), time.monotonic()
    if count is None:
        machines.up(len(machines.hosts), say)
    else:
        machines.up(count, say, "" if bare else version_for(machines, kubernetes))
    if bare and kubernetes:
        machines.offer(kubernetes, say=say)
    say(f"machines {name} are up after {time.monotonic() - began:.1f} s")
    say(f"hint: shiplift local ssh{_named(name)} m1 logs in as root")


def version_for(machines: Machines, asked: str) -> str:
    """Machines that are added to a cluster are of its version, unless somebody says another."""
    from shiplift.local.machines import programs as known

    there = machines.state.kubernetes if machines.exists else ""
    return asked or there or known.NEWEST


def pools(machines: Machines, kubernetes: str) -> str:
    """What `shiplift bootstrap` takes."""
    from shiplift.local.machines import pools as made
    from shiplift.local.machines import programs as known

    if machines.state.kubernetes:
        raise LocalError(
            f"machines {machines.name!r} are a cluster already", "shiplift local up --bare makes bare ones"
        )
    known.base_of(kubernetes)
    return made.text(machines, kubernetes)


def ssh(machines: Machines, machine: str, command: Sequence[str]) -> NoReturn:
    """This process becomes ssh."""
    machines.host(machine)
    program = shutil.which("ssh")
    if program is None:
        raise LocalError("there is no ssh on this computer", "apt install openssh-client")
    os.execv(program, [program, "-F", str(machines.ssh_config), machine, *command])  # noqa: S606 - no shell is meant


def _named(name: str) -> str:
    return "" if name == "default" else f" --name {name}"


def environment(machines: Machines) -> tuple[Path, Path]:
    """The kubeconfig, and the folder of a kubectl of the same version."""
    from shiplift.local.machines import programs as known

    return kubeconfig(machines), known.folder_of(machines.state.kubernetes)


def kubeconfig(machines: Machines) -> Path:
    if not machines.state.kubernetes:
        raise LocalError(
            f"machines {machines.name!r} are bare: there is no cluster",
            "leave --bare out of shiplift local up",
        )
    return machines.kubeconfig


def server(machines: Machines) -> str:
    """Of the cluster that they are; bare machines have only a network."""
    known = machines.state
    return f"https://{known.network.address('m1')}:6443" if known.kubernetes else known.network.subnet


def programs(version: str) -> list[str]:
    """Where those of a version are, the newest if none is given; got if they are not here yet."""
    from shiplift.local.machines import programs as known

    folder = known.find(version or known.NEWEST, say)
    return [str(folder / name) for name in (*known.NAMES, known.PAUSE)]


def states(machines: Machines) -> dict[str, str]:
    """Each machine: is it healthy?"""
    return {
        host.name: "healthy" if host.answers else "not healthy" if host.running else "not running"
        for host in (machines.depot, *machines.hosts)
    }


def check_alone(machines: int | None, own: Mapping[str, object], others: Mapping[str, object]) -> None:
    """Machines are no simulated nodes: what is asked of the ones is not done to the others."""
    if machines is None:
        if given := [flag for flag, value in own.items() if value]:
            raise LocalError(f"{given[0]} is for --machines", "say how many machines there shall be")
        return
    given = [flag for flag, value in others.items() if value]
    if given:
        raise LocalError(f"--machines and {given[0]} do not go together", "machines are real: leave one out")


def _machines(name: str) -> Machines:
    from shiplift.local.machines import Machines

    return Machines(name)
