"""`NodeRollout`: changes the software of nodes, a few at a time."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, field

from shiplift.api.base import Column, Resource, Rule, Value, unchanged
from shiplift.api.values import (
    AtLeastOne,
    Count,
    Duration,
    Estimate,
    Hook,
    LabelSelector,
    Line,
    Message,
    Name,
    Operation,
    Progress,
    Reason,
    Software,
    SoftwareState,
    Status,
    Time,
    Token,
    Uid,
    Version,
    Window,
    keyed,
    ordered,
    unique,
)
from shiplift.facts import kinds

MOST_HOOKS = 8
"""Before a node, and after: the API server asks for each whether its author may create Jobs there, and asking
more often than that is dearer than it lets a policy be."""
MOST_DURATIONS = 15
"""So many of the last nodes say how long one takes."""


class OnBlockedDrain(StrEnum):
    """What is done with a node that cannot be drained in time."""

    WAIT = "Wait"
    FORCE = "Force"
    QUARANTINE = "Quarantine"
    STOP = "Stop"


class Reboot(StrEnum):
    """When a changed node is restarted."""

    IF_REQUIRED = "IfRequired"
    ALWAYS = "Always"


class RolloutPass(StrEnum):
    """One pass over the cluster; they follow each other."""

    PREPARE = "Prepare"
    CONTROL_PLANE = "ControlPlane"
    CONTROL_PLANE_KUBELETS = "ControlPlaneKubelets"
    WORKERS = "Workers"
    DONE = "Done"


class RolloutPhase(StrEnum):
    """One word for where a rollout is; derived from its conditions."""

    PENDING = "Pending"
    RUNNING = "Running"
    PAUSED = "Paused"
    STOPPED = "Stopped"
    ABORTING = "Aborting"
    """Its nodes are being given back."""
    DELETING = "Deleting"
    """The same, since somebody deleted it."""
    ABORTED = "Aborted"
    COMPLETE = "Complete"


class NodeState(StrEnum):
    """Where one node is."""

    WAITING = "Waiting"
    CORDONED = "Cordoned"
    DRAINING = "Draining"
    CHANGING = "Changing"
    VERIFYING = "Verifying"
    SOAKING = "Soaking"
    FAILED = "Failed"
    REVERTING = "Reverting"
    QUARANTINED = "Quarantined"
    SKIPPED = "Skipped"


class Canary(Value, frozen=True, kw_only=True):
    """Nodes that go first and are watched for a while."""

    nodes: Annotated[int, Meta(ge=1, le=1000)] = 1
    """How many."""
    node_selector: LabelSelector = LabelSelector()
    """Which nodes may be chosen."""
    soak: Duration = "15m"
    """How long they must stay healthy before the others follow."""


class Hooks(Value, frozen=True, kw_only=True):
    """Jobs around the change of each node."""

    before: Annotated[tuple[Hook, ...], keyed("name", most=MOST_HOOKS)] = ()
    """Before a node is cordoned."""
    after: Annotated[tuple[Hook, ...], keyed("name", most=MOST_HOOKS)] = ()
    """After a node is verified, before it takes pods again."""


class NodePolicy(Value, frozen=True, kw_only=True):
    """How carefully nodes are changed."""

    max_unavailable: AtLeastOne = 1
    """How many workers may be down at once, those included that are down already: a number or a percentage,
    at least 1. The control plane is always one at a time."""
    drain_timeout: Duration | None = None
    """How long a drain may take before `onBlocked` applies; absent means 30m."""
    on_blocked: OnBlockedDrain | None = None
    """What is done with a node that cannot be drained in time; `Force` ignores PodDisruptionBudgets;
    absent means Wait."""
    pod_grace_period: Duration | None = None
    """How long an evicted pod may take to end; absent means as long as each pod itself asks for."""
    delete_empty_dir_data: bool = True
    """Evict pods although their emptyDir volumes are lost."""
    evict_unmanaged: bool = False
    """Evict pods that nobody brings back."""
    node_timeout: Duration = "30m"
    """How long the change of a drained node may take before it counts as failed."""
    max_failures: Annotated[int, Meta(ge=1, le=1000)] = 1
    """After this many failed nodes the rollout stops."""
    reboot: Reboot = Reboot.IF_REQUIRED
    """When a changed node is restarted."""
    canary: Canary | None = None
    """Nodes that go first and are watched for a while."""


class NodeRolloutSpec(NodePolicy, frozen=True, kw_only=True):
    """What the nodes should run."""

    RULES = (
        Rule(
            "has(self.version) || (has(self.software) && size(self.software) > 0)",
            "version or software must be given",
        ),
        Rule("!oldSelf.abort || self.abort", "abort cannot be withdrawn; make a new NodeRollout", ".abort"),
        Rule(
            "!has(self.expectedNodeDuration) || has(self.windows)",
            "expectedNodeDuration goes with windows only",
            ".expectedNodeDuration",
        ),
        Rule(
            "!has(self.software) || self.software.all(one, !(one.name in ['kubeadm', 'kubectl', 'kubelet']))",
            "kubeadm, kubelet and kubectl come with version: it keeps their order and their distance",
            ".software",
        ),
        Rule(
            "!has(self.via) || size(self.via) == 0 || has(self.version)",
            "via goes with version only",
            ".via",
        ),
    )

    version: Version | None = None
    """The Kubernetes version that the nodes should run; may be absent where `software` is given. Once the
    first node was begun, neither can be changed."""
    software: Annotated[tuple[Software, ...], keyed("name", most=32)] = ()
    """Other packages and their versions."""
    node_selector: LabelSelector = LabelSelector()
    """The nodes that take part."""
    pools: Annotated[tuple[Name, ...], unique(most=64)] = ()
    """The machine pools that take part; none means all."""
    windows: Annotated[tuple[Window, ...], ordered(most=32)] = ()
    """When a node may be begun; none means always."""
    expected_node_duration: Duration | None = None
    """How long one node is expected to take; it must fit into what is left of a window.
    Absent means as measured."""
    hooks: Hooks = Hooks()
    """Jobs around the change of each node."""
    paused: bool = False
    """Finish the nodes in flight and begin none."""
    abort: bool = False
    """Stop; agents that have claimed a change finish or revert it first."""
    via: Annotated[tuple[Version, ...], ordered(most=8)] = ()
    """Versions of the control plane on the way, lowest first: it goes minor by minor, so one of each minor
    between what runs and `version`."""


class Blocker(Value, frozen=True, kw_only=True):
    """What keeps a node from being drained."""

    pod: Line
    """The pod that stays: `<namespace>/<name>`."""
    budget: Line = ""
    """The PodDisruptionBudget that keeps it: `<namespace>/<name>`."""
    message: Message = ""
    """What the API server answered: needs how many, has how many."""


class NodeBefore(Value, frozen=True, kw_only=True):
    """What a node was like before it was touched; it is put back from here."""

    unschedulable: bool = False
    """It was cordoned by somebody else, and stays so."""
    quarantined_by: Line = ""
    """The NodeRollout that had quarantined it; it stays so unless it is changed."""
    down: bool = False
    """It was not Ready."""
    boot_id: Line = field(name="bootID", default="")
    """Its boot id; a restart changes it."""
    kubelet_version: Line = ""
    """Its kubelet's version."""
    software: Annotated[tuple[Software, ...], keyed("name", most=32)] = ()
    """The packages to put back if the change fails."""


class NodeStatus(Value, frozen=True, kw_only=True):
    """Where one node is, and what it waits for."""

    name: Name
    """The name of the node."""
    uid: Uid
    """Its uid; a later node of that name is another."""
    state: NodeState
    """Where it is."""
    reason: Reason | None = None
    """Why it is there, in one word."""
    message: Message = ""
    """What it waits for, and what would unblock it."""
    last_transition_time: Time | None = None
    """Since when it has been there."""
    attempt: Annotated[int, Meta(ge=0, le=1000)] = 0
    """How often it was tried."""
    token: Token | None = None
    """What allows the agent to make this change, and no other."""
    before: NodeBefore | None = None
    """What it was like before it was touched."""
    software: Annotated[tuple[SoftwareState, ...], keyed("name", most=32)] = ()
    """What it has and should have."""
    blockers: Annotated[tuple[Blocker, ...], ordered(most=20)] = ()
    """What keeps it from being drained."""
    hooks: Annotated[tuple[Name, ...], unique(most=2 * MOST_HOOKS)] = ()
    """The Jobs of hooks that have succeeded."""
    start_time: Time | None = None
    """When this attempt at it was begun."""
    claimed: bool = False
    """Its agent was seen at work on it: it finishes, or puts back what it had."""
    drain_start_time: Time | None = None
    """When our cordon was first seen on it in this attempt; pods that came later and tolerate that stay."""


class Snapshot(Value, frozen=True, kw_only=True):
    """A copy of etcd, taken before the control plane is touched."""

    machine: Line
    """The machine that has it."""
    path: Annotated[str, Meta(min_length=1, max_length=1024)]
    """Where it is on that machine."""
    creation_time: Time
    """When it was taken."""


class NodeRolloutStatus(Status, frozen=True, kw_only=True):
    """How far the nodes have come."""

    phase: RolloutPhase | None = None
    """One word, derived from the conditions."""
    running_pass: RolloutPass | None = None
    """The pass that is running."""
    message: Message = ""
    """What it is doing or waiting for, in one line."""
    path: Annotated[tuple[Version, ...], ordered(most=32)] = ()
    """Every version of the control plane on the way."""
    progress: Progress = Progress()
    """Nodes that run what they should."""
    unavailable: Count = 0
    """Nodes that are down or being changed."""
    failures: Count = 0
    """Nodes that have failed."""
    start_time: Time | None = None
    """When the first node was begun."""
    complete_time: Time | None = None
    """When the last node was done."""
    next_window_time: Time | None = None
    """When the next window opens."""
    eta: Estimate | None = None
    """When it is expected to end."""
    canary_start_time: Time | None = None
    """When the canary nodes began to soak."""
    snapshot: Snapshot | None = None
    """The copy of etcd from before the start."""
    operation: Operation | None = None
    """The change of the control plane that is running."""
    nodes: Annotated[tuple[NodeStatus, ...], ordered(most=1000)] = ()
    """Nodes in flight, failed, quarantined or left out; those done or waiting are only counted."""
    pass_start_time: Time | None = None
    """When the running pass began."""
    durations: Annotated[tuple[Count, ...], ordered(most=MOST_DURATIONS)] = field(
        name="durationSeconds", default=()
    )
    """How many seconds each of the last nodes took."""


def _once_started(field: str) -> Rule:
    begun = "has(oldSelf.status) && has(oldSelf.status.startTime)"
    return Rule(
        f"!({begun}) || {unchanged(field, 'self.spec', 'oldSelf.spec')}",
        f"{field} cannot be changed once the first node was begun; delete it and make a new NodeRollout",
        f".spec.{field}",
    )


class NodeRollout(Resource, frozen=True, kw_only=True):
    """Brings nodes to a version of their software: cordon, drain, change, verify, uncordon."""

    KIND = kinds.NODE_ROLLOUT
    SHORT_NAMES = ("nr",)
    COLUMNS = (
        Column("Version", ".spec.version"),
        Column("Phase", ".status.phase"),
        Column("Pass", ".status.runningPass"),
        Column("Nodes", ".status.progress.summary"),
        Column("Failed", ".status.failures", "integer"),
        Column("Paused", ".spec.paused", "boolean"),
        Column("ETA", ".status.eta.likely", wide=True),
        Column("Message", ".status.message", wide=True),
    )
    RULES = (_once_started("version"), _once_started("software"), _once_started("via"))

    spec: NodeRolloutSpec
    """What the nodes should run."""
    status: NodeRolloutStatus = NodeRolloutStatus()
    """How far they have come."""
