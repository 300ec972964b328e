"""What bootstrap sees of machines, what it concludes, and the closed list of its reasons.

Before there is a cluster all state is on the machines: a mark says which cluster a machine belongs to and
where that cluster begins, a journal has every command, written down before it began. What is installed, and
whether a machine is part of a cluster, is looked at and never remembered.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

import msgspec

from shiplift.api.machines import MachinePhase, Role
from shiplift.engine.conditions import Reason as AnyReason
from shiplift.engine.decision import Decision
from shiplift.engine.step import Outcomes
from shiplift.machines.pools import Candidate, Wanted

LAPTOP = "laptop"
"""Who leads: this computer, or any other on which bootstrap is run."""


class Reason(AnyReason):
    """Why a machine, or the whole, is where it is."""

    # all of it
    BOOTSTRAPPING = "Bootstrapping"
    """Machines are being prepared, or join."""
    COMPLETE = "Complete"
    """Every machine that is asked for is part of the cluster."""
    INCOMPLETE = "Incomplete"
    """What could be done is done; some machines are not part of the cluster."""
    PAUSED = "Paused"
    """No cluster is there, and the pools of its control planes are paused."""
    NO_HOST_ANSWERS = "NoHostAnswers"
    CONTROL_PLANE_SILENT = "ControlPlaneSilent"
    """Whether a cluster has begun already is not known: a host that may have begun it does not answer."""
    FIRST_SILENT = "FirstSilent"
    """The machine on which the cluster begins does not answer, and no other is part of it yet."""
    FIRST_UNKNOWN = "FirstUnknown"
    """The machine on which the cluster begins is in no pool."""
    TWO_CLUSTERS = "TwoClusters"
    """Two machines belong to different clusters."""
    OTHER_CLUSTER = "OtherCluster"
    """A machine is part of a cluster that is not this one."""
    CLUSTER_LEADS = "ClusterLeads"
    """The mark of a machine says that the cluster leads it: bootstrap does nothing there."""
    OTHER_POOL = "OtherPool"
    """A machine was taken for another pool, or under another name."""
    ONE_MACHINE_TWICE = "OneMachineTwice"
    """Two hosts are one machine."""
    TOO_LITTLE_MEMORY = "TooLittleMemory"
    NOT_ROOT = "NotRoot"
    NO_APT = "NoApt"
    """Its system has no apt, so that nothing can be installed."""
    MARK_UNREADABLE = "MarkUnreadable"
    JOURNAL_UNREADABLE = "JournalUnreadable"
    ENDPOINT_CHANGED = "EndpointChanged"
    AHEAD = "AheadOfControlPlane"
    """The cluster was made with another controlPlaneEndpoint, or without one."""

    # one machine
    WAITS = "Waits"
    """Others come first: named."""
    CLAIMING = "Claiming"
    INSTALLING = "Installing"
    RESTARTING = "Restarting"
    INITIALISED = "Initialised"
    INIT_RUNNING = "InitRunning"
    INIT_CUT_OFF = "InitCutOff"
    """`kubeadm init` did not come to its end and has left something behind: it is never begun again."""
    CLUSTER_GONE = "ClusterGone"
    """The cluster began on a machine that was given back since, and no other is part of it."""
    JOINING = "Joining"
    JOIN_CUT_OFF = "JoinCutOff"
    """A control plane's `kubeadm join` did not come to its end and has left something behind."""
    NODE_MISSING = "NodeMissing"
    """It has joined, and its node is not there yet, or is another machine's."""
    NOT_READY = "NotReady"
    READY = "Ready"
    JOINED = "Joined"
    """It is part of the cluster; whether its node is Ready was not waited for."""
    SILENT = "Silent"
    """It does not answer."""
    COMMAND_FAILED = "CommandFailed"
    STEP_FAILED = "StepFailed"
    REMOVAL_NOT_DONE = "RemovalNotDone"
    """There are more machines than the pool asks for: bootstrap removes none."""


class Purpose(StrEnum):
    """What a recorded command is for."""

    AGENT = "agent"
    SOFTWARE = "software"
    RESTART = "restart"
    INIT = "init"
    NETWORK = "network"
    JOIN = "join"


class CommandState(StrEnum):
    RECORDED = "recorded"
    """Written down, and not begun."""
    RUNNING = "running"
    ENDED = "ended"
    LOST = "lost"
    """Begun, and neither running nor ended: whoever looked after it is gone, as after a power cut."""


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """One command as the journal of its machine has it."""

    id: str
    """`<purpose>-<attempt>`."""
    number: int
    """Its place in the journal."""
    run: str
    """The run of bootstrap that wrote it down."""
    started: datetime
    deadline: datetime
    boot: str
    """The boot id of the machine when it was written down."""
    state: CommandState
    code: int | None = None
    timed_out: bool = False
    digest: str = ""
    """Of what it was begun with, where it depends on something that a user may change."""
    tail: str = ""
    """The end of what it said."""

    @property
    def purpose(self) -> str:
        return self.id.rpartition("-")[0]

    @property
    def attempt(self) -> int:
        return int(self.id.rpartition("-")[2])

    @property
    def well(self) -> bool:
        return self.state is CommandState.ENDED and self.code == 0

    @property
    def failed(self) -> bool:
        return self.state is CommandState.ENDED and self.code != 0


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """Whose a machine is: written once, never changed."""

    cluster: str
    """The id of the cluster, chosen when it began."""
    first: str
    """The name of the machine on which the cluster begins."""
    name: str
    pool: str
    role: Role
    leads: str = LAPTOP
    """Who leads: whoever runs bootstrap, until the cluster takes over."""


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A node of the cluster, as a control plane tells it."""

    name: str
    machine_id: str
    ready: bool


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a machine said of itself."""

    machine_id: str
    boot_id: str
    memory_mib: int
    root: bool = True
    apt: bool = True
    packages: Mapping[str, str] = {}
    """Versions of installed packages."""
    kubeadm: bool = False
    """Whether kubeadm has left anything behind: certificates, manifests, credentials, data of etcd."""
    joined: bool = False
    """Whether its kubelet has credentials for a cluster."""
    ca: str = ""
    """The certificate of the cluster's CA."""
    server: str = ""
    """Where the cluster's API server is, as an administrator reaches it; on control planes only."""
    mark: Mark | None = None
    mark_error: str = ""
    """Why its mark cannot be read."""
    commands: tuple[Command, ...] = ()
    journal_error: str = ""
    """Which entry of its journal cannot be read, and why: what that was about is not known."""
    nodes: tuple[Node, ...] | None = None
    """The nodes of the cluster; None where it is no control plane, or its API server did not answer."""

    @property
    def begun(self) -> bool:
        """Whether kubeadm was, or is to be, at work on it."""
        entering = (Purpose.INIT, Purpose.JOIN)
        return self.kubeadm or self.joined or any(self.last(one.value) for one in entering)

    def last(self, purpose: str) -> Command | None:
        found = [one for one in self.commands if one.purpose == purpose]
        return max(found, key=lambda one: one.attempt, default=None)


class Silent(msgspec.Struct, frozen=True):
    """A host that did not answer."""

    why: str
    since: datetime
    """Since when, in this run."""
    final: bool = False
    """Whether waiting cannot help: another host key, or no login."""
    seen: Facts | None = None
    """What it last said in this run."""
    hint: str = ""
    """What would help, where that can be told."""

    @property
    def told(self) -> str:
        return f"{'cannot be used' if self.final else 'does not answer'}: {self.why}"


class View(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known at one moment."""

    wanted: Wanted
    hosts: Mapping[str, Facts | Silent]
    run: str
    """The id of this run."""
    fresh: str
    """The id of the cluster, should a new one begin."""
    outcomes: Outcomes = Outcomes()
    api_silent_since: datetime | None = None
    """Since when, in this run, no control plane tells the nodes of the cluster; None where one does."""

    def facts(self, name: str) -> Facts | None:
        """What a machine says now."""
        found = self.hosts.get(name)
        return found if isinstance(found, Facts) else None

    def known(self, name: str) -> Facts | None:
        """What it says, or last said in this run."""
        found = self.hosts.get(name)
        return found.seen if isinstance(found, Silent) else found

    def silent(self, name: str) -> Silent | None:
        found = self.hosts.get(name)
        return found if isinstance(found, Silent) else None

    @property
    def nodes(self) -> tuple[Node, ...] | None:
        """What the first control plane says that answers."""
        told = (one.nodes for one in self.hosts.values() if isinstance(one, Facts))
        return next((one for one in told if one is not None), None)


class Founding(msgspec.Struct, frozen=True):
    """Which cluster it is, and where it begins."""

    cluster: str
    first: str
    begun: bool
    """Whether that is on record on a machine."""


class Told(msgspec.Struct, frozen=True):
    """Where one machine is."""

    machine: Candidate
    phase: MachinePhase
    reason: Reason
    message: str
    hint: str = ""


class Bootstrapping(Decision, frozen=True):
    """What follows for all machines."""

    told: tuple[Told, ...] = ()
    reason: Reason = Reason.BOOTSTRAPPING
    message: str = ""
    hint: str = ""
    over: bool = False
    """Whether there is nothing left to do or to wait for."""
    notes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        return self.over and self.reason is Reason.COMPLETE
