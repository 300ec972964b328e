"""`shiplift local up --machines`: real machines on this computer, beside the clusters of simulated nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

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


def up(name: str, count: int | None) -> None:
    """Make the set; with no count, start what is off."""
    machines = _machines(name)
    machines.up(count or len(machines.hosts), say)
    say(f"hint: ssh -F {machines.ssh_config} m1 logs in as root")


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


def check_alone(machines: int | None, others: dict[str, object]) -> None:
    """Machines are no simulated nodes: what is asked of those is not done to these."""
    if machines is None:
        return
    given = [flag for flag, value in others.items() if value]
    if given:
        raise LocalError(f"--machines and {given[0]} do not go together", "machines are real: leave one out")


def _machines(name: str) -> Machines:
    from shiplift.local.machines import Machines

    return Machines(name)
