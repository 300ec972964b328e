"""What the conductor sees of a cluster, what it concludes, and the closed list of its reasons.

Where an upgrade goes and when it began stand in `UpgradeConfig.status`, written before anything is done for
it; how far it is, the objects of the layers say. So whoever leads next goes on from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

import msgspec

from shiplift.api.nodes import NodeRollout
from shiplift.api.operators import OperatorVersion
from shiplift.api.upgrade import UpgradeConfig, UpgradeConfigStatus
from shiplift.api.workloads import WorkloadMigration
from shiplift.engine.conditions import Reason as AnyReason
from shiplift.engine.contested import Changes
from shiplift.engine.decision import Decision
from shiplift.engine.step import Outcomes, Step
from shiplift.facts.kinds import Kind


class Reason(AnyReason):
    """Why an upgrade is where it is."""

    # before the start
    VERSION_REFUSED = "VersionRefused"
    """The version is below what runs, skips a minor, or has no order with what runs."""
    UNKNOWN_VERSION = "UnknownVersion"
    """Nobody says which version an API server has."""
    NOT_DUE = "NotDue"
    """`upgradeAt` is still to come."""
    TOO_LATE = "TooLate"
    """It could not start within `startDeadline`."""
    WINDOW_CLOSED = "WindowClosed"
    WINDOW_UNUSABLE = "WindowUnusable"
    """A window cannot be read."""
    NEEDS_APPROVAL = "NeedsApproval"
    """Somebody has to approve the plan, or has approved another one."""
    PREFLIGHT_FAILED = "PreflightFailed"
    """A check found something that has to be mended first."""
    BUSY = "Busy"
    """A NodeRollout of somebody else is under way."""
    REFRESHING = "Refreshing"
    """The provider of policies is asked once more before the start."""
    STARTING = "Starting"
    """Where it goes is being written down before anything is done."""

    # while it runs
    PAUSED = "Paused"
    POLICY_LOST = "PolicyLost"
    """The policy is gone, and the upgrade is to rest then."""
    CONTROL_PLANE = "ControlPlane"
    """The control plane is being upgraded."""
    NODES = "Nodes"
    """The other nodes are being upgraded."""
    WORKLOADS = "Workloads"
    """Workloads are being moved, or told to move."""
    SERVICES = "Services"
    """Quorum services become what their objects ask for."""
    OPERATORS = "Operators"
    """Operators do."""
    CHECKING = "Checking"
    """All is done; nodes are looked at once more."""
    CLEANING_UP = "CleaningUp"
    """What was made for the upgrade is taken away."""
    RETRYING = "Retrying"
    """What has failed is let go, so that it can be tried again."""
    DONE = "Done"
    """Of one step: it is over."""
    NOTHING_TO_DO = "NothingToDo"
    """Of one step: it was passed over."""
    STEP_FAILED = "StepFailed"
    """A layer has stopped: somebody has to look, and then `retry`."""
    STEP_STALLED = "StepStalled"
    """A layer waits for somebody."""
    NAME_TAKEN = "NameTaken"
    """Somebody else has an object of the name that ours would have."""

    # its end
    UPGRADED = "Upgraded"
    ABORTING = "Aborting"
    ABORTED = "Aborted"
    DELETED = "Deleted"

    STALE_VIEW = "StaleView"
    """What we see may be old, so nothing is done."""
    UNREADABLE = "Unreadable"
    """Something that matters cannot be read."""


class Stage(StrEnum):
    """The steps of an upgrade, in order: each is a condition of its own, true once it is over."""

    VALID = "Valid"
    APPROVED = "Approved"
    DUE = "Due"
    PREFLIGHT = "PreflightPassed"
    CONTROL_PLANE = "ControlPlaneUpgraded"
    NODES = "NodesUpgraded"
    WORKLOADS = "WorkloadsMoved"
    SERVICES = "ServicesUpgraded"
    OPERATORS = "OperatorsUpgraded"
    CHECKED = "Checked"


class Machine(msgspec.Struct, frozen=True):
    """A node, as far as an upgrade goes."""

    name: str
    kubelet: str
    ready: bool = True
    control_plane: bool = False
    left_out: bool = False
    """It has opted out of every rollout."""
    pool: str = ""
    """The pool that it is of, as its cloud says; empty where nobody does."""
    agent: bool = True
    """Whether an agent of ours has ever spoken there."""
    only_master: bool = False
    """By its old label alone it is a control-plane node, which no NodeRollout of ours chooses."""


class ClusterVersion(msgspec.Struct, frozen=True):
    """What OpenShift's cluster-version operator says of itself; versions as it writes them."""

    uid: str
    reached: str = ""
    """The release that it last brought the cluster to."""
    wanted: str = ""
    """The release that it was told."""
    channel: str = ""
    offered: frozenset[str] = frozenset()
    """Releases that it would go to, those with known issues included."""
    message: str = ""
    """What it is doing."""
    failing: str = ""
    """What keeps it from going on; empty where nothing does."""
    not_upgradeable: str = ""
    """Why it goes to no other minor; empty where it does."""
    channel_since: datetime | None = None
    """When somebody wrote the channel last, as the API server noted it."""


class ConfigPool(msgspec.Struct, frozen=True):
    """What OpenShift's machine-config operator says of machines of one kind."""

    name: str
    machines: int = 0
    updated: int = 0
    """Those that have what they should."""
    paused: bool = False
    """Somebody keeps its machines as they are."""
    settled: bool = False
    """It has looked at what is wanted now, and all of them have it."""
    degraded: str = ""
    """What keeps it; empty where nothing does."""

    @property
    def id(self) -> str:
        return f"MachineConfigPool {self.name}"

    @property
    def behind(self) -> bool:
        return not self.settled or self.updated < self.machines


class Later(msgspec.Struct, frozen=True):
    """An object of a layer whose turn comes after the workloads: what it becomes is its own affair."""

    kind: Kind
    namespace: str
    name: str
    uid: str
    wants: str = ""
    """What it asks for, in words; empty where nobody but a layer does."""
    held: str = ""
    """What our mark on it says; empty where there is none."""
    paused: bool = False
    """By its user."""
    under_way: bool = False
    """It is half way, and holding it would leave it there."""
    ready: bool = False
    """It is as its layer wants it."""
    stalled: bool = False
    message: str = ""

    @property
    def id(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


class Unreadable(NamedTuple):
    kind: Kind
    name: str
    why: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name} cannot be read: {self.why}"


class View(msgspec.Struct, frozen=True, kw_only=True):
    """All that a decision is made from."""

    upgrade: UpgradeConfig | None = None
    machines: tuple[Machine, ...] = ()
    api_servers: Mapping[str, str] = {}
    """The versions of API servers by where they are; empty where nobody says it."""
    rollouts: tuple[NodeRollout, ...] = ()
    migration: WorkloadMigration | None = None
    cluster_version: ClusterVersion | None = None
    """Of an upgrade of type OpenShift."""
    config_pools: tuple[ConfigPool, ...] = ()
    trouble: str = ""
    """Why one of these cannot be read."""
    services: tuple[Later, ...] = ()
    """Quorum services."""
    apps: tuple[Later, ...] = ()
    """Operators that somebody asks for."""
    operators: tuple[OperatorVersion, ...] = ()
    """Operators that are installed here; looked at before the start only."""
    never_allowed: tuple[str, ...] = ()
    """What budgets never allow, in words; looked at before the start only."""
    stale: tuple[Kind, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    outcomes: Outcomes = Outcomes()
    changes: Changes = {}
    """What was changed of what somebody else may write too."""


class Line(NamedTuple):
    """What an upgrade is doing or waits for."""

    reason: Reason
    message: str
    stalled: bool = False
    """Only somebody can help."""
    steps: tuple[Step, ...] = ()
    due: datetime | None = None
    """When to look again though nothing has happened."""
    at: Stage | None = None
    """The step that it is about; all before it are over."""
    starts: bool = False
    """The upgrade starts: where it goes is written down now, and nothing is done before that is stored."""
    through: bool = False
    """Every step is over; only traces are left, and they go once this is stored."""
    over: bool = False
    """Nothing of it is left to do."""


class Told(msgspec.Struct, frozen=True):
    """What follows for the upgrade."""

    upgrade: UpgradeConfig
    status: UpgradeConfigStatus
    """The whole status, to be stored before the steps of the next round are decided."""


class Conducted(Decision, frozen=True):
    """What follows: steps, and what to tell."""

    told: Told | None = None
    now: datetime | None = None
