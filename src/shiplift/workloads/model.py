"""What this layer sees of a cluster, and the closed list of its reasons."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping
from datetime import datetime
from enum import Enum
from typing import NamedTuple

import msgspec

from shiplift.api.placements import WorkloadPlacementSpec
from shiplift.api.workloads import (
    MIGRATION_STARTS,
    DrainedNode,
    Mode,
    OrderException,
    WorkloadMigration,
    WorkloadMigrationSpec,
    WorkloadMigrationStatus,
    WorkloadState,
)
from shiplift.api.workloads import Edge as EdgeSpec
from shiplift.drain.own import NOT_IN_A_POD, Own
from shiplift.engine.conditions import Reason as AnyReason
from shiplift.engine.contested import Changes
from shiplift.engine.decision import Decision
from shiplift.engine.graph import Graph, Progress
from shiplift.engine.step import Outcomes
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import NO_LABELS
from shiplift.facts.pods import Pod
from shiplift.facts.selectors import Selector
from shiplift.facts.workloads import Deployment, HorizontalPodAutoscaler, PodDisruptionBudget, StatefulSet
from shiplift.room.occupancy import Room
from shiplift.workloads.identity import WorkloadId, owned_by
from shiplift.workloads.names import FINALIZER
from shiplift.workloads.record import Record
from shiplift.workloads.steps import MarkNode


class Reason(AnyReason):
    """Why the migration, or one workload, is where it is."""

    # the migration
    NO_UPGRADE = "NoUpgrade"
    """All nodes in scope run one version; nothing of ours is in the cluster."""
    NO_NODES = "NoNodes"
    """No node is in scope, so nothing can be said of where workloads run."""
    STARTING = MIGRATION_STARTS
    """The target is being written down before anything is done."""
    PREPARING = "Preparing"
    """Nodes are being marked and workloads held."""
    MOVING = "Moving"
    """Workloads are on their way."""
    WAITING_FOR_NODES = "WaitingForNodes"
    """Nodes of the target version are not there yet, or old ones are not gone yet."""
    CLEANING_UP = "CleaningUp"
    """What we left in the cluster is being taken out."""
    ABORTED = "Aborted"
    """Somebody asked to stop; everything is undone."""
    DELETED = "Deleted"
    """The WorkloadMigration is being deleted; everything is undone."""
    PAUSED = "Paused"
    """Somebody asked to start nothing more."""
    STALE_VIEW = "StaleView"
    """What we see may be old, so nothing is moved; what of ours it may say is not undone."""
    UNREADABLE = "Unreadable"
    """The WorkloadMigration cannot be read."""
    NO_VERSION_ORDER = "NoVersionOrder"
    """No version is the highest: a person must name the target."""
    INJECT_UNAVAILABLE = "InjectUnavailable"
    """Mode Inject was asked for, and its admission policies are not installed."""
    DAEMON_SETS = "DaemonSetsDoNotTolerate"
    """In mode Template some DaemonSets would get no new pods on the target nodes."""
    MISSING_RIGHT = "MissingRight"
    """In mode Template the operator may not change the pod templates of workloads."""
    TOO_LARGE = "TooLarge"
    """More workloads are in scope than the status can keep track of."""
    STOPPED = "Stopped"
    """Something blocks, and the policy for it is Stop."""

    # one workload
    WAITS_FOR_DEPENDENCY = "WaitsForDependency"
    MISSING_DEPENDENCY = "MissingDependency"
    IN_CYCLE = "InCycle"
    TOLERATES_ALL = "ToleratesEverything"
    """In mode Template nothing would keep its new pods off old nodes."""
    ITS_TURN = "ItsTurn"
    """All that it waits for have moved; what it takes to move it is being put in place."""
    TOO_MANY = "TooManyWorkloads"
    """Its namespace has more workloads than a placement can name."""
    NOT_IN_FORCE = "PlacementNotInForce"
    """The API server does not yet go by the placement."""
    HELD_BUDGET = "BudgetStillHeld"
    """Its PodDisruptionBudget is being given back."""
    BINARY_SWAPPED = "BinarySwapped"
    """A quorum service swaps the binary of all its pods: none of them is moved meanwhile."""
    ROLLOUT_RUNNING = "RolloutRunning"
    """Its owner is rolling it out: its new pods go to target nodes by themselves."""
    EVICTING = "Evicting"
    NOT_READY = "PodsNotReady"
    PENDING = "PodsPending"
    TERMINATING = "PodsTerminating"
    SOAKING = "Soaking"
    BUDGET_EXHAUSTED = "BudgetExhausted"
    NEVER_EVICTABLE = "NeverEvictable"
    TWO_BUDGETS = "TwoBudgets"
    BUDGET_NOT_COUNTED = "BudgetNotCounted"
    """Its budget allows nothing, because the budget's controller cannot count what it covers."""
    NO_SLOT = "NoSlot"
    UNKNOWN_ARCHITECTURE = "UnknownArchitecture"
    """Its image was never seen to run on the architecture of target nodes."""
    SURGING = "Surging"
    SURGE_IMPOSSIBLE = "SurgeImpossible"
    SURGE_FAILED = "SurgeFailed"
    """Its replica more came to nothing, and was taken back."""
    REFUSED = "Refused"
    """The API server refused what we tried."""
    OPTED_OUT = "OptedOut"
    MOVED = "Moved"
    CONSOLIDATING = "Consolidating"
    """It makes room on an old node."""

    DRAIN_DEADLINE = "DrainDeadline"
    """Somebody else drains its node, and will not wait much longer."""

    GOES_LAST = "OperatorGoesLast"
    """It is the operator itself, and others are still to move."""

    # the brake
    POD_NOT_STEERED = "PodNotSteered"
    """A pod was made without our rule although the placement that names its workload was in force."""
    NODE_NOT_MARKED = "NodeNotMarked"
    """An old node has lacked its mark for too long; or, in mode Template, a node cannot be tainted."""
    TEMPLATE_KEEPS_OFF = "TemplateKeepsOff"
    """Its template itself keeps its pods off target nodes."""
    MADE_AGAIN_TOO_OFTEN = "MadeAgainTooOften"
    """Its new pods keep off target nodes again and again."""
    TEMPLATE_PUT_BACK = "TemplatePutBack"
    """Mode Template: somebody takes our toleration off its template again and again."""
    EVICTED_TOO_OFTEN = "EvictedTooOften"
    """Its pods come back to old nodes again and again."""


class Role(Enum):
    """What a node is to a migration."""

    TARGET = "target"
    OFF = "off"
    OUTSIDE = "outside"


class Target(msgspec.Struct, frozen=True):
    """Where workloads are to be; without a version nothing is to be moved."""

    version: str = ""
    mode: Mode | None = None
    reason: Reason = Reason.NO_UPGRADE
    message: str = ""
    stalled: bool = False


class Scope(msgspec.Struct, frozen=True):
    """What the counting depends on besides the cluster."""

    target: Target = Target()
    selector: Selector = Selector(NO_LABELS)
    excluded: frozenset[str] = frozenset()
    emptying: str = ""
    opted_out: frozenset[str] = frozenset()
    """Excluded namespaces of which we have records: their workloads are known, and none is moved."""


class Fleet(msgspec.Struct, frozen=True):
    """The nodes, as the target makes them."""

    roles: Mapping[str, Role] = {}
    versions: Mapping[str, int] = {}
    """How many nodes in scope run each version."""
    labels: Mapping[str, MarkNode] = {}
    """Nodes that lack a label of their role, or carry a mark of ours that they should not."""
    taints: Mapping[str, MarkNode] = {}
    """Nodes that lack a taint of their role besides."""
    unmarked: frozenset[str] = frozenset()
    """Old nodes without the label that released pods keep off."""
    cordoned: frozenset[str] = frozenset()
    """Old nodes that somebody has cordoned."""
    drained_by_others: frozenset[str] = frozenset()
    """Those of them that no NodeRollout has: rollouts leave held workloads alone, others may not."""
    targets: int = 0
    off: int = 0
    strange: frozenset[str] = frozenset()
    """Architectures of target nodes that no old node has; none where no old node is left."""


class Joined(NamedTuple):
    """A target node: when it was made, and whether it is Ready."""

    created: int
    ready: bool


class Tally(msgspec.Struct, frozen=True, gc=False):
    """One workload and where its pods are. Pods that have ended do not count."""

    id: WorkloadId
    row: Deployment | StatefulSet
    pods: tuple[Pod, ...]
    """All of its pods that are not on their way out."""
    away: tuple[Pod, ...]
    """Its pods on nodes of another version: those to move."""
    pending: tuple[Pod, ...]
    """Its pods that are on no node yet."""
    leaving: int
    """Pods that are terminating or being evicted, or whose node is gone."""
    ready: int
    last_ready: int
    """When the last of them became Ready, as far as we saw it."""
    rolling: bool
    """A rollout of its owner is under way."""
    complete: bool
    """Every replica is there, Ready, and none is away, pending or leaving."""
    budgets: tuple[str, ...]
    """The PodDisruptionBudgets, by uid, that cover its pods as its template makes them."""
    autoscaler: HorizontalPodAutoscaler | None
    skipped: bool
    evicted: tuple[str, ...]
    """Its pods, by uid, that somebody is evicting at this moment."""
    evicting: tuple[Pod, ...] = ()
    """Leaving pods that look as if they stayed: we are evicting them, and nothing shows it yet."""
    alike: Pod | None = None
    """Any of its pods, though it may be leaving: missing pods will be like it."""
    apart: Mapping[str, tuple[str, ...]] = {}
    """The budgets of those pods, by uid, whose own labels are covered otherwise than the template's."""
    leaving_target: int = 0
    """Of those that are leaving, the ones that terminate on target nodes."""


class Absent(msgspec.Struct, frozen=True):
    """A workload that the WorkloadOrder `order` (its namespace and name) says something of."""

    order: str
    workload: WorkloadId
    like: WorkloadId | None = None
    """What may be meant."""

    @property
    def message(self) -> str:
        meant = f"; did you mean {self.like}?" if self.like else ""
        return f"{self.workload} does not exist, so its dependsOn has no effect{meant}"

    def __str__(self) -> str:
        return f"WorkloadOrder {self.order}: {self.message}"


class Order(msgspec.Struct, frozen=True):
    """Which workload waits for which, and how far that has come."""

    graph: Graph[WorkloadId]
    progress: Progress[WorkloadId]
    ready: frozenset[WorkloadId]
    """Workloads that may go now: not met, and waiting for nothing."""
    met: frozenset[WorkloadId]
    open: frozenset[WorkloadId]
    """Ready or met."""
    ours: frozenset[WorkloadId]
    """All workloads that take part."""
    depth: Mapping[WorkloadId, int]
    problems: tuple[str, ...]
    cycles: tuple[EdgeSpec, ...]
    missing: tuple[EdgeSpec, ...]
    gone: frozenset[WorkloadId] = frozenset()
    """Workloads that had arrived and were deleted, and that others depend on: they stay arrived."""
    absent: tuple[Absent, ...] = ()
    """Workloads that a WorkloadOrder lets wait and that are not there."""
    circular: frozenset[tuple[WorkloadId, WorkloadId]] = frozenset()
    """All dependencies that are part of a cycle, as dependent and dependency."""
    absent_of: Mapping[str, tuple[Absent, ...]] = {}
    """All that are absent, by the WorkloadOrder's namespace and name."""
    problems_of: Mapping[str, tuple[str, ...]] = {}
    """All problems, by what has them: `WorkloadOrder shop/main`."""
    like: Mapping[WorkloadId, WorkloadId] = {}
    """What may be meant by dependencies that do not exist, of the first of them."""


class Placement(msgspec.Struct, frozen=True):
    """One namespace's WorkloadPlacement, with its records read."""

    row: Custom
    spec: WorkloadPlacementSpec
    records: Mapping[str, Record]
    broken: Mapping[str, str]
    listed: frozenset[WorkloadId] = frozenset()
    """The workloads that its turns name."""
    released: frozenset[WorkloadId] = frozenset()
    """The listed workloads that are released."""
    tolerating: Mapping[WorkloadId, str] = {}
    """Mode Template: for which target each was released."""
    surging: frozenset[WorkloadId] = frozenset()
    """The workloads whose surge is recorded."""
    binding: bool = False
    """Whether a record says, or may say, what has to be undone before it is lost."""

    @property
    def is_misguarded(self) -> bool:
        """Whether it lacks our finalizer, or has it without need."""
        return (FINALIZER in self.row.finalizers) != self.binding

    def is_in_force(self, seen: Mapping[str, int]) -> bool:
        """Whether the API servers were seen, by uid and generation, to go by the placement as it stands."""
        return seen.get(self.row.uid, 0) >= self.row.generation


class Placements(msgspec.Struct, frozen=True):
    """What all placements say together."""

    listed: frozenset[WorkloadId] = frozenset()
    released: Mapping[str, frozenset[WorkloadId]] = {}
    """By the target that they are for."""
    namespaces: Mapping[str, frozenset[str]] = {}
    """Likewise."""
    surging: frozenset[WorkloadId] = frozenset()
    misguarded: frozenset[str] = frozenset()
    """Namespaces whose placement lacks our finalizer, or has it without need."""
    going: frozenset[str] = frozenset()
    """Namespaces whose placement somebody has deleted, and that has our finalizer."""


class Effort(Enum):
    """What is done to a workload, and done again where somebody undoes it: so it is counted. The value is the
    field of the status that counts it: of its line, but for what is told of workloads that were moved too."""

    MOVED = "evictions"
    MADE_ROOM = "made_room"
    MADE_AGAIN = "made_again"
    GIVEN_AGAIN = "put_back"


IN_LINES = (Effort.MOVED, Effort.MADE_ROOM, Effort.MADE_AGAIN)
"""What the lines of workloads count."""


class Evicted(msgspec.Struct, frozen=True):
    """How often each was done to each workload."""

    moved: Mapping[WorkloadId, int] = {}
    made_room: Mapping[WorkloadId, int] = {}
    made_again: Mapping[WorkloadId, int] = {}
    given_again: Mapping[WorkloadId, int] = {}
    """Our toleration, to a template."""

    def of(self, effort: Effort) -> Mapping[WorkloadId, int]:
        match effort:
            case Effort.MOVED:
                return self.moved
            case Effort.MADE_ROOM:
                return self.made_room
            case Effort.MADE_AGAIN:
                return self.made_again
            case Effort.GIVEN_AGAIN:
                return self.given_again

    @property
    def total(self) -> int:
        """Evictions, whatever for."""
        return sum(self.made_room.values()) + sum(self.moved.values())

    def __bool__(self) -> bool:
        return any(self.of(effort) for effort in Effort)


class Stray(msgspec.Struct, frozen=True):
    """A pod that was made without our rule although the placement that names its workload was in force."""

    workload: WorkloadId
    pod: str


def _none_scales(_id: WorkloadId) -> None:
    return None


def _none_picked(_budget: PodDisruptionBudget) -> Iterable[Pod]:
    return ()


_NONE_UNREADABLE: Mapping[str, Unreadable] = {}


class Unreadable(msgspec.Struct, frozen=True):
    """An object that is there and of which no row can be made: unknown, so what depends on it waits."""

    kind: Kind
    namespace: str
    name: str
    why: str

    def __str__(self) -> str:
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind.kind} {name} cannot be read ({self.why}); repair it, or delete it"


class View(msgspec.Struct, frozen=True):
    """Everything a decision is made from."""

    migration: WorkloadMigration | None
    target: Target
    fleet: Fleet
    tallies: Mapping[WorkloadId, Tally]
    order: Order
    orders: tuple[Custom, ...]
    """The WorkloadOrders."""
    placements: Mapping[str, Placement]
    all_placements: Placements
    budgets: Mapping[str, PodDisruptionBudget]
    """All PodDisruptionBudgets, by uid."""
    covers: Mapping[str, Mapping[WorkloadId, None]]
    """The workloads of which each covers a pod."""
    holds: tuple[PodDisruptionBudget, ...]
    """PodDisruptionBudgets that we made, and users' budgets that we hold."""
    room: Room
    """What fits on the target nodes."""
    old_room: Callable[[str], Room]
    """What fits on the old ones but the one named, where one is."""
    in_force: Mapping[str, int]
    """For each placement, by uid, the generation that the API servers were last seen to go by."""
    changes: Changes
    """Changes that we have made to what is not ours."""
    stale: tuple[Kind, ...]
    outcomes: Outcomes
    unreadable: tuple[Unreadable, ...] = ()
    strays: tuple[Stray, ...] = ()
    """Until every API server has proven again that it steers pods."""
    unmarked: Mapping[str, float] = {}
    """Old nodes that lack their mark, or lost it a moment ago, and for how many seconds."""
    unasked: float = 0.0
    """For how many seconds no API server has been asked which placements it goes by."""
    evicted: Evicted = Evicted()
    """What was done to workloads and is in no status yet."""
    missing_rights: tuple[str, ...] = ()
    """Rights that the mode needs and the operator does not have, each as `verb resource.group`."""
    seen_ready: Mapping[str, int] = {}
    """When we saw pods, by uid, become Ready; of others the kubelet's word counts."""
    ran: Collection[tuple[str, str]] = ()
    """Images that were seen to run, each after the architecture; known while nodes of several are there."""
    joined: Callable[[], Iterable[Joined]] = tuple
    """The target nodes."""
    unscheduled: Collection[WorkloadId] = ()
    """Workloads with pods that the scheduler found no node for."""
    picked: Callable[[PodDisruptionBudget], Iterable[Pod]] = _none_picked
    """All pods that a budget selects, whoever owns them."""
    others: tuple[Pod, ...] = ()
    """Pods that are not moved (of Jobs, of workloads that are left alone, of nobody), and that the taint of
    mode Template keeps off target nodes: those on old nodes, and those on none."""
    autoscaler: Callable[[WorkloadId], HorizontalPodAutoscaler | None] = _none_scales
    """What scales a workload, whether or not the workload is there."""
    returned: frozenset[WorkloadId] = frozenset()
    """Workloads that have arrived, and of which pods are on old nodes again or on their way from there."""
    own: Own = NOT_IN_A_POD
    """The operator's own pods; known while workloads are moved, and to the operator alone."""

    @property
    def own_workload(self) -> WorkloadId | None:
        """The operator itself, where it is a workload of this cluster."""
        namespace = self.own.name.partition("/")[0]
        return owned_by(namespace, self.own.workload) if self.own.workload else None

    def ready_at(self, pod: Pod) -> int:
        """When the pod became Ready, by our own clock where we saw it."""
        return self.seen_ready.get(pod.uid, pod.ready_since)

    def unreadable_in(self, *of: Kind) -> Mapping[str, Unreadable]:
        """By namespace one object that cannot be read: of these kinds, or of any."""
        if not self.unreadable:
            return _NONE_UNREADABLE
        return {one.namespace: one for one in self.unreadable if one.namespace and (not of or one.kind in of)}

    @property
    def nodes(self) -> Container[str]:
        """All nodes, by name."""
        return self.fleet.roles

    @property
    def spec(self) -> WorkloadMigrationSpec:
        return self.migration.spec if self.migration else WorkloadMigrationSpec()

    @property
    def status(self) -> WorkloadMigrationStatus:
        """What was written down so far."""
        return self.migration.status if self.migration else WorkloadMigrationStatus()


class Line(msgspec.Struct, frozen=True):
    """Where one workload is, what it waits for, and what would unblock it."""

    state: WorkloadState
    reason: Reason
    message: str


class Migrating(Decision, frozen=True, kw_only=True):
    """What follows from one view, with what there is to tell about it."""

    view: View
    now: datetime
    reason: Reason
    message: str = ""
    stalled: bool = False
    moving: bool = False
    """Whether the state is Upgrade."""
    met: tuple[str, ...] = ()
    lines: Mapping[WorkloadId, Line] = {}
    """Of the workloads that may go."""
    exceptions: tuple[OrderException, ...] = ()
    emptying: str = ""
    draining: tuple[DrainedNode, ...] = ()
    """Nodes that somebody else drains, and since when; where that matters."""
    forewarnings: tuple[str, ...] = ()
    """Before the start."""
    notes: tuple[str, ...] = ()
