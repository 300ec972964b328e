"""What bootstrap does to machines. Every step is harmless when it comes late or twice."""

from __future__ import annotations

from shiplift.engine.step import Operation, Started, Step
from shiplift.machines.model import Mark, Purpose


class Claim(Step, frozen=True):
    """Write on a machine which cluster it belongs to; a machine that has a mark keeps it."""

    machine: str
    mark: Mark

    @property
    def key(self) -> str:
        return f"claim {self.machine}"

    def describe(self) -> str:
        if self.mark.first == self.machine:
            return f"take machine {self.machine} for pool {self.mark.pool}: the cluster begins there"
        return f"take machine {self.machine} for pool {self.mark.pool}"


class Record(Step, frozen=True):
    """Write a command down on its machine, before it begins; one that is there stays as it is."""

    machine: str
    purpose: Purpose
    started: Started
    digest: str = ""

    @property
    def key(self) -> str:
        return f"record {self.machine} {self.started.id}"

    def describe(self) -> str:
        return f"write down on machine {self.machine} that {self.started.id} begins"


class Run(Operation, frozen=True):
    """Begin a command that is written down, or find it again."""

    machine: str
    purpose: Purpose
    what: str
    """For people: what it does."""
    via: str = ""
    """The control plane that lets it join."""
    again: bool = False
    """Whether what an earlier attempt has left behind is cleared away first."""

    @property
    def key(self) -> str:
        return run_key(self.machine, self.started.id)

    def describe(self) -> str:
        return self.what


def run_key(machine: str, command: str) -> str:
    """By which the outcome of beginning a command is remembered."""
    return f"run {machine} {command}"
