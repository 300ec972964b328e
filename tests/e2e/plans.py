"""The table: which fault strikes at which step, and what has to come of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from tests.e2e import faults
from tests.e2e.faults import Fault
from tests.e2e.scene import REVISION, Step
from tests.machines.rig import NEW, PROGRAMS

PLANE, WORKER = "m1", "m2"


class End(Enum):
    """What a plan comes to."""

    WELL = "well"
    """The node runs what it should and is given back."""
    NAMED = "named"
    """The rollout says what is wrong with which node, and that is uncordoned or quarantined."""


@dataclass(frozen=True)
class Plan:
    """One line of the table."""

    fault: Fault
    step: Step
    end: End = End.WELL
    says: str = ""
    """What has to be said of it, as a pattern; for plans that end named."""
    spec: Mapping[str, Any] = field(default_factory=lambda: {"version": NEW})
    stays_cordoned: bool = False
    """Whether the node is cordoned in the end, as it was before or as it is quarantined."""
    machine: str = WORKER
    put_back: Mapping[str, str] = field(default_factory=dict[str, str])
    """Versions that packages have in the end, of a node on which what was before has to be put back."""

    @property
    def name(self) -> str:
        return f"{self.fault.name}: {self.step.value}"


def _named(fault: Fault, step: Step, says: str, *, cordoned: bool = False, **spec: Any) -> Plan:
    return Plan(fault, step, End.NAMED, says, {"version": NEW, **spec}, cordoned)


def _put_back(fault: Fault, step: Step, name: str, before: str, wanted: str) -> Plan:
    """With that package everything that was changed along with it becomes what it was."""
    spec = {"version": NEW, "software": [{"name": name, "version": wanted}]}
    packages = {**dict.fromkeys(PROGRAMS, REVISION), name: before}
    return Plan(fault, step, End.NAMED, r"its versions from before were put back", spec, put_back=packages)


def wrong_packages(wanted: Mapping[str, str], found: Mapping[str, str]) -> str:
    """What packages are, where that is not what was before; `found` has those that are installed whole."""
    wrong = [
        f"{name} {found.get(name, 'not whole')}"
        for name, version in wanted.items()
        if found.get(name) != version
    ]
    return f"not put back: {', '.join(wrong)}" if wrong else ""


def _plane(fault: Fault, version: str) -> Plan:
    """A control plane becomes no older: each of its plans has a version of its own."""
    return Plan(fault, Step.APPLYING, spec={"version": version}, machine=PLANE)


def _short(timeout: str = "60s") -> dict[str, Any]:
    return {"nodeTimeout": timeout}


PLANS: tuple[Plan, ...] = (
    *(
        Plan(faults.AGENT_KILLED, step)
        for step in (Step.PREPARING, Step.DRAINING, Step.CLAIMED, Step.INSTALLING, Step.ANSWERED)
    ),
    Plan(faults.AGENT_OLDER, Step.BEFORE),
    _named(faults.AGENT_NEWER, Step.BEFORE, r"m2.*speaks protocol 2, and the operator 1"),
    Plan(faults.WORK_KILLED, Step.CLAIMED),
    Plan(faults.WORK_KILLED, Step.INSTALLING),
    Plan(faults.POWER_CUT, Step.CLAIMED),
    Plan(faults.POWER_CUT, Step.INSTALLING),
    Plan(faults.REBOOTED, Step.INSTALLING),
    Plan(faults.LOCK_HELD, Step.DRAINING),
    Plan(faults.HALF_WAY, Step.BEFORE),
    _put_back(faults.CANNOT_BE_CONFIGURED, Step.BEFORE, faults.TORN, faults.TORN_OLD, faults.TORN_NEW),
    _named(faults.DISK_FULL, Step.BEFORE, r"no room: fetching packages needs"),
    _named(faults.DISK_FULL, Step.DRAINING, r"m2.*no room: fetching packages needs"),
    Plan(faults.CORDONED, Step.BEFORE, stays_cordoned=True),
    Plan(faults.KEPT_AWHILE, Step.BEFORE),
    _named(
        faults.KEPT,
        Step.BEFORE,
        r"DrainTimedOut.*kept",
        cordoned=True,
        onBlocked="Quarantine",
        drainTimeout="20s",
    ),
    _named(faults.KEPT, Step.BEFORE, r"kept", onBlocked="Stop", drainTimeout="20s"),
    Plan(faults.CABLE_CUT, Step.CLAIMED),
    Plan(faults.CABLE_CUT, Step.INSTALLING),
    *(
        Plan(faults.OPERATOR_KILLED, step)
        for step in (Step.PREPARING, Step.DRAINING, Step.CLAIMED, Step.ANSWERED)
    ),
    Plan(faults.API_AWAY, Step.INSTALLING),
    _named(faults.NO_SOURCES, Step.BEFORE, r"m2 cannot be prepared: \w+ 1\.36\.4 cannot be had"),
    Plan(faults.SOURCES_AWAY, Step.CLAIMED),
    Plan(faults.UNCORDONED, Step.CLAIMED),
    _named(faults.AGENT_GONE, Step.BEFORE, r"does the agent of node m2 run", **_short("30s")),
    _named(faults.AGENT_GONE, Step.DRAINING, r"AgentSilent", **_short("30s")),
    _named(faults.NEVER_BACK, Step.CLAIMED, r"TimedOut", cordoned=True, **_short()),
    _named(faults.CABLE_GONE, Step.INSTALLING, r"TimedOut", cordoned=True, **_short()),
    _plane(faults.AGENT_KILLED, "v1.36.4"),
    _plane(faults.WORK_KILLED, "v1.36.5"),
    _plane(faults.POWER_CUT, "v1.36.6"),
)
