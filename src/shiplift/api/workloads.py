"""`WorkloadMigration`: workloads move to the nodes of a version, in the order of their dependencies."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

import msgspec
from msgspec import Meta, field

from shiplift.api.base import ONLY_ONE, TEXTS, Column, ObjectMeta, Resource, Rule, Value, same_version
from shiplift.api.values import (
    Count,
    Duration,
    Estimate,
    LabelMap,
    LabelSelector,
    Line,
    Message,
    Name,
    Namespace,
    Progress,
    Quantity,
    Reason,
    Status,
    Time,
    Uid,
    VersionOrMinor,
    ordered,
    unique,
)
from shiplift.facts import kinds


class Mode(StrEnum):
    """How pods are brought to the target nodes."""

    AUTO = "Auto"
    INJECT = "Inject"
    TEMPLATE = "Template"


class Hold(StrEnum):
    """When a PodDisruptionBudget keeps others from evicting held workloads."""

    ALWAYS = "Always"
    ON_FOREIGN_DRAIN = "OnForeignDrain"


class OnCycle(StrEnum):
    """What becomes of workloads that depend on each other."""

    COLLAPSE = "Collapse"
    STOP = "Stop"


class OnMissing(StrEnum):
    """What a dependency that does not exist does to its dependents."""

    BLOCK = "Block"
    IGNORE = "Ignore"


class OnBlockedWorkload(StrEnum):
    """What is done about pods that can never be evicted."""

    SURGE = "Surge"
    WAIT = "Wait"
    FORCE = "Force"
    STOP = "Stop"


class OnNoCapacity(StrEnum):
    """What is done when the target nodes are full."""

    WAIT = "Wait"
    CONSOLIDATE = "Consolidate"
    PROVISION = "Provision"
    STOP = "Stop"


class OnUnknownArchitecture(StrEnum):
    """What is done with pods whose images were never seen to run on the architecture of target nodes."""

    WAIT = "Wait"
    MOVE = "Move"


class Cleanup(StrEnum):
    """When tolerations of mode Template are taken off again."""

    IMMEDIATE = "Immediate"
    ON_NEXT_ROLLOUT = "OnNextRollout"


MIGRATION_STARTS = "Starting"
"""The reason of condition Ready of a migration that has not told yet whose turn it is."""


class MigrationState(StrEnum):
    """Whether workloads are being moved."""

    NO_UPGRADE = "NoUpgrade"
    UPGRADE = "Upgrade"


class WorkloadState(StrEnum):
    """Where one workload is."""

    HELD = "Held"
    RELEASED = "Released"
    MOVING = "Moving"
    MET = "Met"
    BLOCKED = "Blocked"
    SKIPPED = "Skipped"


class WorkloadKind(StrEnum):
    """The kinds of workload that are moved."""

    DEPLOYMENT = "Deployment"
    STATEFUL_SET = "StatefulSet"


class EdgeSource(StrEnum):
    """Where a dependency was declared."""

    WORKLOAD_ORDER = "WorkloadOrder"
    DEPENDS_ON = "DependsOn"
    KAPP = "Kapp"
    SYNC_WAVE = "SyncWave"


class WaitForNodes(Value, frozen=True, kw_only=True):
    """What the first move waits for, so that the first new node does not take everything."""

    count: Annotated[int, Meta(ge=0, le=100_000)] = 0
    """Target nodes that have to be Ready, for `progressDeadline` at most; 0 goes by `settle` instead."""
    settle: Duration = "10s"
    """How long no further target node must have come; at most six times as long in all."""


class NodeSize(Value, frozen=True, kw_only=True):
    """What one node has for pods."""

    cpu: Quantity
    """Its allocatable CPU."""
    memory: Quantity
    """Its allocatable memory."""
    pods: Annotated[int, Meta(ge=1, le=10_000)] = 110
    """How many pods it takes."""


class Growing(Value, frozen=True, kw_only=True):
    """A pool of target nodes that an autoscaler makes larger when pods wait for a node."""

    node_selector: LabelMap = field(default_factory=TEXTS)
    """The labels of its nodes, as a pod selects them."""
    size: NodeSize
    """What one more node of it has: a pod that does not fit on it is not evicted for it."""


class WorkloadPolicy(Value, frozen=True, kw_only=True):
    """How carefully workloads are moved."""

    RULES = (
        Rule(
            "self.onNoCapacity != 'Provision' || has(self.growing)",
            "growing must say which pool grows when onNoCapacity is Provision",
            ".growing",
        ),
    )

    mode: Mode = Mode.AUTO
    """`Inject` changes pods as they are created, `Template` adds tolerations to pod templates;
    `Auto` is Inject where the API server can do it."""
    hold: Hold = Hold.ON_FOREIGN_DRAIN
    """When a PodDisruptionBudget keeps others from evicting held workloads."""
    on_cycle: OnCycle = OnCycle.STOP
    """Workloads that depend on each other move as one wave, or stall."""
    on_missing: OnMissing = OnMissing.BLOCK
    """Whether a dependency that does not exist blocks its dependents."""
    on_blocked: OnBlockedWorkload = OnBlockedWorkload.WAIT
    """What is done about pods that can never be evicted; `Force` ignores PodDisruptionBudgets."""
    on_no_capacity: OnNoCapacity = OnNoCapacity.WAIT
    """What is done when the target nodes are full; `Consolidate` moves some pods twice, `Provision` evicts
    pods for which the pool in `growing` will make a node."""
    growing: Growing | None = None
    """The pool that grows; for `onNoCapacity: Provision`."""
    wait_for_nodes: WaitForNodes = WaitForNodes()
    """What the first move waits for."""
    on_unknown_architecture: OnUnknownArchitecture = OnUnknownArchitecture.WAIT
    """Whether pods move to an architecture on which their images were never seen to run."""
    cleanup: Cleanup = Cleanup.ON_NEXT_ROLLOUT
    """When tolerations of mode Template are taken off again; `Immediate` rolls every workload once more."""
    accept_daemon_set_gaps: bool = False
    """Go on in mode Template although some DaemonSets get no new pods on the target nodes meanwhile."""
    soak: Duration = "0s"
    """How long a moved pod must be Ready before its workload counts as moved."""
    progress_deadline: Duration = "10m"
    """After this long without progress a workload is reported as stuck."""
    drain_deadline: Duration | None = None
    """How long somebody else who drains a node waits for it (EKS 15m, GKE 1h): held workloads with pods on it
    are let go before then, in their order, and recorded in `status.exceptions`; absent means never."""


class TolerantPods(Value, frozen=True, kw_only=True):
    """Pods that are not moved, and that may go to target nodes."""

    namespace: Annotated[str, Meta(max_length=63, pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$")] = ""
    """Their namespace; empty means every one."""
    pod_selector: LabelSelector = LabelSelector()
    """Which pods, by their labels; an empty one means all."""


class WorkloadMigrationSpec(WorkloadPolicy, frozen=True, kw_only=True):
    """Where workloads should be and how they get there."""

    RULES = (
        *WorkloadPolicy.RULES,
        Rule(
            f"!oldSelf.abort || self.abort || !{same_version('target')}",
            "abort cannot be withdrawn; give a new target instead",
            ".abort",
        ),
    )

    target: VersionOrMinor | None = None
    """The kubelet version to move to; `1.36` means nodes of that minor or a newer one, whatever their
    suffixes; absent means the highest that is seen."""
    paused: bool = False
    """Finish what is in flight and start nothing."""
    abort: bool = False
    """Stop at once and undo everything; workloads stay where they are."""
    node_selector: LabelSelector = LabelSelector()
    """The nodes that take part."""
    exclude_namespaces: Annotated[tuple[Namespace, ...], unique(most=256)] = ()
    """Namespaces whose workloads are left alone."""
    tolerate: Annotated[tuple[TolerantPods, ...], ordered(most=64)] = ()
    """Pods of Jobs, of workloads that are left alone and of nobody, which the taint of mode Template keeps
    off target nodes: such a pod that finds no node gets a toleration for them."""


class NodesOfVersion(Value, frozen=True, kw_only=True):
    """How many nodes run one version."""

    version: Line
    """The kubelet version."""
    nodes: Count
    """How many nodes in scope run it."""


class WorkloadStatus(Value, frozen=True, kw_only=True):
    """Where one workload is, and what it waits for."""

    kind: WorkloadKind
    """The kind of the workload."""
    namespace: Namespace
    """Its namespace."""
    name: Name
    """Its name."""
    state: WorkloadState
    """Where it is."""
    uid: Uid
    """Its uid; a later workload of that name is another."""
    reason: Reason | None = None
    """Why it is there, in one word."""
    message: Message = ""
    """What it waits for, and what would unblock it."""
    since: Time | None = None
    """How long this has been so."""
    wave: Count = 0
    """How many workloads deep its dependencies are."""
    pods: Progress = Progress()
    """Pods on target nodes."""
    evictions: Count = 0
    """How many of its pods were evicted for this target; begins anew when the migration is paused."""
    made_room: Count = 0
    """How many of its pods were evicted to make room on old nodes; begins anew when the migration is paused,
    and when the node that was emptied for it is no old node any more."""
    made_again: Count = 0
    """How many pending pods of it, which could go to no target node, were deleted for this target, to be made
    again; begins anew when the migration is paused."""
    most_replicas: Count = 0
    """The most replicas that it had since the first of them."""


class PutBack(Value, frozen=True, kw_only=True):
    """A workload whose template was given our toleration again, since somebody takes it off."""

    workload: Line
    """The workload: `<Kind> <namespace>/<name>`."""
    uid: Uid
    """Its uid."""
    times: Count
    """How often it was given again for this target; begins anew when the migration is paused."""


class Wave(Value, frozen=True, kw_only=True):
    """Workloads with the same depth of dependencies."""

    number: Count
    """The depth, from 0."""
    workloads: Progress = Progress()
    """Workloads of it that were moved."""


class Edge(Value, frozen=True, kw_only=True):
    """One dependency that closes a cycle or cannot be met."""

    dependent: Line
    """Who depends: `<Kind> <namespace>/<name>`."""
    dependency: Line
    """On what."""
    source: EdgeSource
    """Where that was declared."""


class OrderException(Value, frozen=True, kw_only=True):
    """A pod that had to move before its turn."""

    pod: Line
    """The pod: `<namespace>/<name>`."""
    workload: Line
    """Its workload: `<Kind> <namespace>/<name>`."""
    reason: Reason
    """Why it could not wait."""
    at: Time
    """When."""


class DrainedNode(Value, frozen=True, kw_only=True):
    """An old node that somebody else drains."""

    node: Name
    """The name of the node."""
    since: Time
    """Since when it was seen to be cordoned."""


class MigrationPace(Value, frozen=True, kw_only=True):
    """What an estimate is made from."""

    since: Time
    """Since when nothing had to happen first."""
    pods: Count = 0
    """Pods that were on target nodes then."""


class MoveOutcome(StrEnum):
    """How a move ended."""

    MOVED = "Moved"
    ABORTED = "Aborted"
    DELETED = "Deleted"
    REPLACED = "Replaced"


class LastMove(Value, frozen=True, kw_only=True):
    """The move that ended last."""

    target: VersionOrMinor
    """The version that workloads were moved to."""
    outcome: MoveOutcome
    """How it ended; `Deleted` means with its WorkloadMigration, `Replaced` by another target or mode."""
    start_time: Time | None = None
    """When it began."""
    complete_time: Time
    """When it ended."""
    workloads: Progress = Progress()
    """Workloads that were moved."""
    pods: Progress = Progress()
    """Pods on target nodes at its end."""
    moves: Count = 0
    """Pods that were evicted for it."""


class WorkloadMigrationStatus(Status, frozen=True, kw_only=True):
    """How far the workloads have come."""

    state: MigrationState = MigrationState.NO_UPGRADE
    """Whether workloads are being moved."""
    target: VersionOrMinor | None = None
    """The version they are moved to."""
    mode: Mode | None = None
    """The mode in use."""
    started_at: Time | None = None
    """When the move to this target began."""
    message: Message = ""
    """What it is doing or waiting for, in one line."""
    versions: Annotated[tuple[NodesOfVersion, ...], ordered(most=64)] = ()
    """The kubelet versions in scope."""
    progress: Progress = Progress()
    """Workloads that were moved."""
    pods: Progress = Progress()
    """Pods on target nodes."""
    moves: Count = 0
    """Pods that were evicted for this target."""
    eta: Estimate | None = None
    """When it is expected to end; absent while something has to happen first."""
    waves: Annotated[tuple[Wave, ...], ordered(most=256)] = ()
    """Workloads by depth of their dependencies."""
    workloads: Annotated[tuple[WorkloadStatus, ...], ordered(most=2000)] = ()
    """Workloads that are not moved yet, those that need somebody first."""
    met: Annotated[tuple[Uid, ...], ordered(most=20000)] = ()
    """The uids of workloads that were moved; once met, met for this target."""
    relied_on: Annotated[tuple[Line, ...], ordered(most=2000)] = ()
    """Workloads that were moved and that others, not moved yet, depend on: they count as moved also when they
    are deleted."""
    put_back: Annotated[tuple[PutBack, ...], ordered(most=500)] = ()
    """Mode Template: workloads whose template somebody puts back, also those that were moved."""
    cycles: Annotated[tuple[Edge, ...], ordered(most=256)] = ()
    """Dependencies that close a cycle."""
    missing: Annotated[tuple[Edge, ...], ordered(most=256)] = ()
    """Dependencies that do not exist."""
    exceptions: Annotated[tuple[OrderException, ...], ordered(most=256)] = ()
    """Pods that had to move before their turn."""
    emptying: Annotated[str, Meta(max_length=253)] = ""
    """The old node that is being emptied to make room, where `onNoCapacity` is Consolidate."""
    draining: Annotated[tuple[DrainedNode, ...], ordered(most=256)] = ()
    """Old nodes that somebody else drains, where `drainDeadline` is given: from then on it counts."""
    notes: Annotated[tuple[Message, ...], ordered(most=64)] = ()
    """What a person should know: declarations that cannot be read, what somebody changed under our hands."""
    forewarnings: Annotated[tuple[Message, ...], ordered(most=16)] = ()
    """What was found before the start: data that stays behind, images never seen on the architecture of
    target nodes."""
    inert_tolerations: Annotated[tuple[Line, ...], ordered(most=2000)] = ()
    """Workloads that keep a toleration of ours, which does nothing, until their template changes."""
    blocked: Count = 0
    """Workloads that do not move before somebody helps, or something else happens."""
    needs: Message = ""
    """What has to happen first; empty while it goes on by itself."""
    pace: MigrationPace | None = None
    """What the estimate is made from; absent while something has to happen first."""
    last: LastMove | None = None
    """The move that ended last."""


class WorkloadMigration(Resource, frozen=True, kw_only=True):
    """Moves workloads to the nodes of the target version, in the order of their dependencies.
    There is one, named `cluster`."""

    KIND = kinds.WORKLOAD_MIGRATION
    SHORT_NAMES = ("wm",)
    COLUMNS = (
        Column("State", ".status.state"),
        Column("Target", ".status.target"),
        Column("Mode", ".status.mode"),
        Column("Workloads", ".status.progress.summary"),
        Column("Pods", ".status.pods.summary"),
        Column("Blocked", ".status.blocked", "integer"),
        Column("Paused", ".spec.paused", "boolean"),
        Column("Reason", ".status.conditions[?(@.type=='Ready')].reason"),
        Column("ETA", ".status.eta.likely", wide=True),
        Column("Needs", ".status.needs", wide=True),
        Column("Message", ".status.message", wide=True),
    )
    RULES = (ONLY_ONE,)

    spec: WorkloadMigrationSpec = WorkloadMigrationSpec()
    """Where workloads should be and how they get there."""
    status: WorkloadMigrationStatus = WorkloadMigrationStatus()
    """How far they have come."""

    @classmethod
    def salvaged(cls, raw: bytes, /) -> Self | None:
        """One that is aborted, or being deleted, is undone whatever else it says."""
        try:
            found = msgspec.json.decode(raw, type=_Ended)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        if not found.spec.abort and found.metadata.deletion_timestamp is None:
            return None
        return cls(metadata=found.metadata, spec=WorkloadMigrationSpec(abort=found.spec.abort))


class _EndedSpec(msgspec.Struct, frozen=True):
    """Whether it was aborted."""

    abort: bool = False


class _Ended(msgspec.Struct, frozen=True):
    """Of a WorkloadMigration only what says that all is to be undone."""

    metadata: ObjectMeta
    spec: _EndedSpec = _EndedSpec()
