"""A network of machines: a bridge in a namespace of its own, with cables to this computer and each machine.

This computer gets one link and one address, and no rule of its firewall sees what machines say to each other.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import subprocess
from collections.abc import Generator, Iterable
from pathlib import Path

import msgspec

from shiplift.local.errors import LocalError
from shiplift.local.lock import locked
from shiplift.local.machines.tools import tool

MOST_MACHINES = 20
DEPOT = "depot"
_BRIDGE = "machines"
_FIRST = 10
_LOCK = Path("/run/lock/shiplift-machines.lock")


class _Route(msgspec.Struct):
    dst: str


class Network(msgspec.Struct, frozen=True):
    """The addresses and names of one set of machines; sets differ by their number."""

    number: int

    @property
    def subnet(self) -> str:
        return f"10.171.{self.number}.0/24"

    @property
    def gateway(self) -> str:
        """This computer, as machines see it."""
        return f"10.171.{self.number}.1"

    @property
    def switch(self) -> str:
        """The namespace that the bridge is in."""
        return f"shiplift-{self.number}"

    @property
    def link(self) -> str:
        """This computer's end of its cable."""
        return f"shiplift{self.number}"

    def namespace(self, machine: str) -> str:
        return f"{self.switch}-{machine}"

    def address(self, machine: str) -> str:
        return f"10.171.{self.number}.{_place(machine)}"

    def pods(self, machine: str) -> str:
        """The addresses of the pods of a machine."""
        return f"10.244.{_place(machine)}.0/24"


def machine_names(count: int) -> list[str]:
    return [f"m{index}" for index in range(1, count + 1)]


def make() -> Network:
    """With a number that nobody else on this computer has."""
    with locked(_LOCK):
        taken = list(_routes())
        for number in range(256):
            # not the lowest: what is wrong with a set that ended is not taken for what is wrong with the next
            network = Network((os.getpid() + number) % 256)
            if not _is_taken(network, taken):
                _build(network)
                return network
    raise LocalError("no free network in 10.171.0.0/16", "ip route shows who has it")


def connect(network: Network, machine: str) -> None:
    """A namespace for the machine, with a cable to the bridge and the way to the pods of every other."""
    name, own = network.namespace(machine), network.address(machine)
    _ip("netns", "add", name)
    _ip("link", "add", machine, "netns", network.switch, "type", "veth", "peer", "eth0", "netns", name)
    _batch(network.switch, [f"link set {machine} master {_BRIDGE} up"])
    others = [one for one in machine_names(MOST_MACHINES) if one != machine]
    _batch(
        name,
        [
            "link set lo up",
            f"addr add {own}/24 dev eth0",
            "link set eth0 up",
            f"route add default via {network.gateway}",
            *(f"route add {network.pods(one)} via {network.address(one)}" for one in others),
        ],
    )


def switch(network: Network, machine: str, *, on: bool) -> None:
    """Cut or mend a machine's cable, at the bridge."""
    _ip("-n", network.switch, "link", "set", machine, "up" if on else "down")


def disconnect(network: Network, machine: str) -> None:
    with contextlib.suppress(LocalError):
        _ip("netns", "del", network.namespace(machine))


def remove(network: Network) -> None:
    """All namespaces of the set; with them go bridge, cables and addresses."""
    with contextlib.suppress(LocalError):
        _ip("link", "del", network.link)
    for name in _namespaces():
        if name == network.switch or name.startswith(f"{network.switch}-"):
            _ip("netns", "del", name)


def exists(network: Network) -> bool:
    """False after this computer was restarted: namespaces do not outlive it, what is written down does."""
    return network.switch in _namespaces()


def any_left() -> bool:
    """Whether this computer has a network of machines."""
    return any(name.startswith("shiplift-") for name in _namespaces())


def _build(network: Network) -> None:
    name, link = network.switch, network.link
    _ip("netns", "add", name)
    try:
        _ip("link", "add", link, "type", "veth", "peer", "uplink", "netns", name)
        _batch(
            name,
            [
                "link set lo up",
                f"link add {_BRIDGE} type bridge",
                f"link set {_BRIDGE} up",
                f"link set uplink master {_BRIDGE} up",
            ],
        )
        _ip("addr", "add", f"{network.gateway}/24", "dev", link)
        _ip("link", "set", link, "up")
    except BaseException:
        remove(network)
        raise


def _is_taken(network: Network, taken: Iterable[ipaddress.IPv4Network]) -> bool:
    if network.switch in _namespaces():
        return True
    return any(one.overlaps(ipaddress.IPv4Network(network.subnet)) for one in taken)


def _routes() -> Generator[ipaddress.IPv4Network]:
    for route in msgspec.json.decode(_ip("-j", "-4", "route"), type=list[_Route]):
        if route.dst != "default":
            yield ipaddress.IPv4Network(route.dst, strict=False)


def _namespaces() -> list[str]:
    folder = Path("/run/netns")
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def _place(machine: str) -> int:
    return 2 if machine == DEPOT else _FIRST + int(machine.removeprefix("m"))


def _batch(namespace: str, lines: list[str]) -> None:
    _ip("-n", namespace, "-batch", "-", said="\n".join(lines))


def _ip(*arguments: str, said: str = "") -> str:
    done = subprocess.run([tool("ip"), *arguments], input=said, capture_output=True, text=True, check=False)
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["no reason given"])[0]
        raise LocalError(f"ip {' '.join(arguments)}: {why}", "is this computer allowed to make networks?")
    return done.stdout
