"""Where a machine stands, and what is done about it; the case that a stage looks at."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from shiplift.api.machines import MachinePhase
from shiplift.engine import retries
from shiplift.engine.step import Step
from shiplift.machines.model import Facts, Founding, Reason, View
from shiplift.machines.pools import Candidate

PATIENCE = timedelta(minutes=1)
"""So long a host may be silent that was not asked to restart."""


class Stand(NamedTuple):
    """Where one machine is. It has failed when waiting does not help."""

    phase: MachinePhase
    reason: Reason
    message: str
    hint: str = ""
    steps: tuple[Step, ...] = ()
    failed: bool = False
    done: bool = False

    @property
    def settled(self) -> bool:
        """Nothing more comes of it in this run."""
        return self.failed or self.done


class Case(NamedTuple):
    """One machine that answers, and what it is looked at with."""

    view: View
    now: datetime
    machine: Candidate
    facts: Facts
    founding: Founding

    @property
    def name(self) -> str:
        return self.machine.name

    @property
    def first(self) -> bool:
        return self.name == self.founding.first


def failed(phase: MachinePhase, reason: Reason, message: str, hint: str = "") -> Stand:
    return Stand(phase, reason, message, hint, failed=True)


def acting(view: View, phase: MachinePhase, reason: Reason, step: Step) -> Stand:
    """The step, unless it has failed: then that."""
    if why := retries.failure(view.outcomes, step):
        return failed(phase, Reason.STEP_FAILED, f"{step.describe()}: {why}", "mend that, then run it again")
    return Stand(phase, reason, step.describe(), steps=(step,))
