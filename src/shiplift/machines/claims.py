"""Which machine is whose: the names of a pool's machines, and what two pools claim at once. Pure.

A pool of hosts claims those that it names. A pool that makes its machines claims every name that it could
give one, `<pool>-<number>`, since it may grow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from shiplift.api.machines import MachinePool, Provider


class DoubleClaim(NamedTuple):
    """Two pools, and what both claim."""

    what: str
    one: str
    other: str

    def __str__(self) -> str:
        return f"MachinePools {self.one} and {self.other} both claim {self.what}"


def machine_name(pool: str, number: int) -> str:
    """The name of a machine that a pool makes."""
    return f"{pool}-{number}"


def number_of(machine: str, pool: str) -> int | None:
    """Which of that pool it is, by its name."""
    text = machine.removeprefix(f"{pool}-")
    proper = text != machine and text.isascii() and text.isdigit() and text == str(int(text))
    return int(text) if proper else None


def double_claims(pools: Iterable[MachinePool]) -> Iterator[DoubleClaim]:
    """In the order of the pools."""
    listed = list(pools)
    called: dict[str, str] = {}
    for pool in listed:
        name = pool.metadata.name
        for what in _claimed(pool):
            if (other := called.setdefault(what, name)) != name:
                yield DoubleClaim(what, other, name)
    making = {one.metadata.name for one in listed if one.spec.provider is Provider.KWOK}
    for what, name in called.items() if making else ():
        machine = what.removeprefix(_MACHINE)
        owner = machine.rpartition("-")[0]
        if machine != what and owner in making and number_of(machine, owner) is not None:
            yield DoubleClaim(what, name, owner)


_MACHINE = "machine "


def _claimed(pool: MachinePool) -> Iterator[str]:
    for host in pool.spec.static.hosts if pool.spec.static else ():
        yield f"{_MACHINE}{host.name}"
        yield f"address {host.address} port {host.port}"
