"""What this layer does, one change at a time. Every step is harmless when it comes late or twice: what is
made has a name that follows from its pool and its number."""

from __future__ import annotations

from shiplift.api.machines import Provider, Role
from shiplift.engine.step import Step


class MakeMachine(Step, frozen=True):
    """Write a machine down."""

    pool: str
    pool_uid: str
    name: str
    role: Role
    provider: Provider

    @property
    def key(self) -> str:
        return f"make machine {self.pool_uid} {self.name}"

    @property
    def change(self) -> str:
        """Somebody may delete the machine: it is written down again, ever more slowly."""
        return machine_made(self.pool_uid, self.name)

    def describe(self) -> str:
        return f"write down machine {self.name} of pool {self.pool}"


class MakeNode(Step, frozen=True):
    """The Node of a simulated machine that is written down."""

    machine: str
    machine_uid: str
    pool: str
    pool_uid: str
    number: int
    version: str
    labels: dict[str, str]
    taints: tuple[dict[str, str], ...]
    cpu: str
    memory: str
    pods: int

    @property
    def key(self) -> str:
        return f"make node {self.machine_uid}"

    @property
    def change(self) -> str:
        """Somebody may delete the node: it is made again, ever more slowly."""
        return node_made(self.pool_uid, self.machine)

    def describe(self) -> str:
        return f"make simulated node {self.machine} of pool {self.pool}"


def machine_made(pool_uid: str, name: str) -> str:
    """By this name it is remembered that a machine was written down."""
    return f"machine {pool_uid} {name}"


def node_made(pool_uid: str, machine: str) -> str:
    """By this name it is remembered that a node was made, whichever machine has its name now."""
    return f"node {pool_uid} {machine}"
