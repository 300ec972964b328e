"""What a gate is: open, or closed by a line that says what a workload waits for and what is done about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from shiplift.api.workloads import Mode, WorkloadState
from shiplift.engine.step import Step
from shiplift.facts.pods import Pod
from shiplift.workloads.decide.books import Books
from shiplift.workloads.model import Line, Reason, Tally
from shiplift.workloads.record import Record

PAUSED = "paused; `shiplift resume` goes on"


class Closed(msgspec.Struct, frozen=True):
    """What a workload waits for, and what is done about it."""

    line: Line
    steps: tuple[Step, ...] = ()
    asked: bool = False
    """Whether the line is to tell how its step was answered, where it was taken before."""
    record: Record | None = None
    """What has to be written down first."""
    check: bool = False
    """Whether the API servers are to be asked if they go by its placement."""
    unplaced: bool = False
    """Whether its turn has come and it stays held, since no target node can take a pod of it."""
    due: tuple[float, ...] = ()
    """In how many seconds to look again, where no event announces it."""


def closed(state: WorkloadState, reason: Reason, message: str) -> Closed:
    return Closed(Line(state, reason, message))


def _always(_books: Books) -> bool:
    return True


class Gate(msgspec.Struct, frozen=True):
    """One gate; `open` says in words what is true where it is open."""

    open: str
    closed: Callable[[Books, Tally], Closed | None]
    before_release: bool = False
    """Whether a workload whose release is written down has passed it for good."""
    concerns: Callable[[Books], bool] = _always
    """Whether any workload can find it closed in this decision: there are many workloads."""
    mode: Mode | None = None
    """The only mode that has it, where not both have."""
    known_to_operator: tuple[Reason, ...] = ()
    """Where only the operator can tell, since it depends on what it has seen and done: the reasons that it
    gives where the gate is closed."""

    def is_of(self, mode: Mode | None) -> bool:
        """Whether workloads meet it in that mode."""
        return self.mode in (None, mode)


class PodGate(NamedTuple):
    """A gate of one pod; `open` says in words what is true where it is open."""

    open: str
    closed: Callable[[Books, Tally, Pod], Closed | None]
