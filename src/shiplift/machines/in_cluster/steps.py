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

    def describe(self) -> str:
        return f"write down machine {self.name} of pool {self.pool}"


class MakeNode(Step, frozen=True):
    """The Node of a simulated machine that is written down."""

    machine: str
    machine_uid: str
    pool: str
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

    def describe(self) -> str:
        return f"make simulated node {self.machine} of pool {self.pool}"
