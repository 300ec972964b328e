"""What this layer sees of a cluster, what it concludes, and the closed list of its reasons.

What is known of a node that is being changed stands in `NodeRollout.status.nodes` (its record), written
before anything is done to the node; how far it is, the Node itself says. So whoever leads next goes on from
there.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from typing import Protocol

import msgspec

from shiplift.agent.protocol import Agent, Order, Readiness
from shiplift.agent.protocol import Outcome as Answer
from shiplift.api.nodes import (
    Blocker,
    NodeRollout,
    NodeRolloutSpec,
    NodeRolloutStatus,
    NodeStatus,
    RolloutPass,
)
from shiplift.drain.own import NOT_IN_A_POD, Own
from shiplift.engine.claims import Claims
from shiplift.engine.conditions import Reason as AnyReason
from shiplift.engine.contested import Changes
from shiplift.engine.decision import Decision
from shiplift.engine.step import Outcomes
from shiplift.facts.kinds import NODE, NODE_ROLLOUT, Kind
from shiplift.facts.nodes import Node


class Reason(AnyReason):
    """Why a rollout, or one node, is where it is."""

    # a rollout
    STARTING = "Starting"
    """Its path is being written down before anything is done."""
    ROLLING = "Rolling"
    """Nodes are being changed."""
    COMPLETE = "Complete"
    """Every node in scope runs what it should."""
    PAUSED = "Paused"
    """Somebody asked to begin no more nodes."""
    ABORTING = "Aborting"
    """Somebody asked to stop; agents that have claimed a change finish it first."""
    ABORTED = "Aborted"
    DELETED = "Deleted"
    """It is being deleted; its nodes are being given back."""
    STOPPED = "Stopped"
    """Too many nodes have failed, or a drain is blocked and the policy for it is Stop."""
    WINDOW_CLOSED = "WindowClosed"
    """No window is open, or what is left of it is too short for a node."""
    WINDOW_TOO_SHORT = "WindowTooShort"
    """A window is shorter than a node takes."""
    NO_NODES = "NoNodes"
    """Its selector and its pools match no node."""
    OVERLAP = "Overlap"
    """Another rollout names a node of its scope, and was there first."""
    VERSION_REFUSED = "VersionRefused"
    """The version is below what runs, skips a minor, or is ahead of an API server."""
    SOAKING = "Soaking"
    """The canary nodes are being watched."""
    NEEDS_SURGE = "NeedsSurge"
    """Every node holds pods whose turn has not come: one more node is needed before any is cordoned."""
    STALE_VIEW = "StaleView"
    """What we see may be old, so nothing is begun."""
    UNREADABLE = "Unreadable"
    """Something that matters cannot be read."""
    NODES_NOT_TRUSTED = "NodesNotTrusted"
    """The policy that keeps a node's credentials from giving orders is gone: nothing is begun."""
    NOT_CLAIMED = "ControlPlaneNotClaimed"
    """The control plane cannot be claimed: claims cannot be read, or one is of a node that is gone."""
    CANNOT_BE_DONE = "CannotBeDone"
    """What is to be done to every node in flight is refused."""
    TOO_MANY_AWAY = "TooManyAway"
    """As many workers are down, quarantined or in other hands as may be away: none can be begun."""
    NO_HEALTHY_CONTROL_PLANE = "ControlPlaneUnhealthy"
    """A control-plane node is down: no other is touched."""

    # one node
    CHOSEN = "Chosen"
    """Its turn has come: it is written down, and cordoned next."""
    IN_LINE = "InLine"
    """It is written down for the slot of a node that is being given back, and nothing is done to it yet."""
    GIVING_BACK = "GivingBack"
    """Nothing was changed on it, and our cordon is taken back next."""
    HOOK_RUNNING = "HookRunning"
    HOOK_FAILED = "HookFailed"
    DRAINING = "Draining"
    DRAIN_BLOCKED = "DrainBlocked"
    """Something keeps a pod on it: named."""
    DRAIN_TIMED_OUT = "DrainTimedOut"
    WAITS_FOR_AGENT = "WaitsForAgent"
    """Its agent has not claimed the order yet."""
    CHANGING = "Changing"
    """Its agent has claimed the order and works."""
    VERIFYING = "Verifying"
    """Its agent is through; what it says is being looked at."""
    AGENT_UNHEARD = "AgentUnheard"
    """It has an order, and nothing was heard of its agent for a while; it is waited for."""
    AGENT_SILENT = "AgentSilent"
    """Its agent did not claim the order in time."""
    AGENT_FAILED = "AgentFailed"
    """Its agent says that it could not do it."""
    TIMED_OUT = "TimedOut"
    """The change took longer than `nodeTimeout`."""
    WRONG_VERSION = "WrongVersion"
    """Its agent says that it is done, and the node runs something else."""
    NOT_READY = "NotReady"
    """It was changed and is not Ready, or does not renew its Lease."""
    QUARANTINED = "Quarantined"
    """It failed and could not be put back: it stays cordoned until somebody looks at it."""
    OPTED_OUT = "OptedOut"
    CONTESTED = "Contested"
    """Somebody else keeps taking back what we do to it."""
    DOWN_BEFORE = "DownBefore"
    """It was down before it was begun, and its agent does not answer."""


PASSES = {
    RolloutPass.PREPARE: "agents see that packages can be had, and pull images; nothing is changed",
    RolloutPass.CONTROL_PLANE: "etcd is copied, then the control plane is upgraded, one node at a time",
    RolloutPass.CONTROL_PLANE_KUBELETS: "packages of control-plane nodes, one node at a time",
    RolloutPass.WORKERS: "packages of workers, a few nodes at a time",
    RolloutPass.DONE: "every node runs what it should",
}
"""What happens in each pass, in words."""


class Member(msgspec.Struct, frozen=True):
    """A node, and what its annotations say in the protocol's words; read once for each version of its row."""

    row: Node
    control_plane: bool = False
    pool: str = ""
    """The MachinePool that it belongs to."""
    current: Mapping[str, str] = {}
    """What its agent says that it has, by software."""
    desired: Mapping[str, str] = {}
    order: Order | None = None
    readiness: Readiness | None = None
    answer: Answer | None = None
    agent: Agent | None = None
    problem: str = ""
    """Why an annotation of it cannot be read; nothing is then believed of its agent."""
    cordoned_by: str = ""
    """The rollout that has cordoned it."""
    cordoned_before: bool | None = None
    """Whether somebody else had cordoned it before, as its annotation beside ours says; None: it says not."""
    opted_out: bool = False
    quarantined_by: str = ""
    """The rollout, over by now, that has left it cordoned."""
    was_quarantined: bool = False
    """Whether somebody has uncordoned it since, and the mark of that is still there."""
    leaving: bool = False
    """Its machine is on its way out."""

    @property
    def name(self) -> str:
        return self.row.name

    @property
    def uid(self) -> str:
        return self.row.uid

    @property
    def down(self) -> bool:
        """Whether it serves nobody, whoever's doing that is."""
        return not self.row.ready or bool(self.row.deleting) or self.leaving


def kept(one: Blocker) -> str:
    """Which pod stays, what keeps it, and what would let it go; a budget is named once."""
    named = not one.budget or one.budget in one.message
    keeper = "" if named else f" by PodDisruptionBudget {one.budget}"
    return f"pod {one.pod} is kept{keeper}" + (f": {one.message}" if one.message else "")


class Evictable(msgspec.Struct, frozen=True):
    """A pod that may be asked to go now."""

    namespace: str
    name: str
    uid: str
    version: int
    budget: str = ""
    """The uid of the budget that covers it."""


class Noted(msgspec.Struct, frozen=True):
    """A pod that is there and Ready, and that its budget, which lets none go, counts as going."""

    namespace: str
    budget: str
    budget_uid: str
    pod: str
    pod_uid: str
    ready_since: int
    """In seconds since 1970."""


class Drain(msgspec.Struct, frozen=True):
    """What is left to do before a node is empty."""

    left: int = 0
    """Pods that are there and have to go."""
    now: tuple[Evictable, ...] = ()
    """Pods that may be asked to go now."""
    blockers: tuple[Blocker, ...] = ()
    """What keeps pods; held workloads are named as such."""
    never: str = ""
    """Why no wait helps, in words; empty where one may."""
    must_not: str = ""
    """The first pod that must not go, as things are, in words: it has no controller, say."""
    detaching: int = 0
    """Volumes that are still attached, though their pods are gone."""
    blocked: tuple[Evictable, ...] = ()
    """Pods that only a budget keeps, held workloads apart: those that `onBlocked: Force` ends."""

    noted: tuple[Noted, ...] = ()
    """What budgets that keep pods have to forget; of what several nodes wait for, the first has it."""
    own: str = ""
    """What it means that a pod of the operator itself is to go, in words; empty where none is."""
    only_late: bool = False
    """Whether nothing is in the way but pods that end and take too long: nobody on a dead node ends them."""

    @property
    def over(self) -> bool:
        return not self.left and not self.detaching


class HookState(Enum):
    """How the Job of a hook is."""

    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"
    """It cannot be read; the message says why."""


class Hooked(msgspec.Struct, frozen=True):
    """A Job of a hook of ours."""

    namespace: str
    name: str
    uid: str
    version: int
    state: HookState
    message: str = ""


class Migration(msgspec.Struct, frozen=True):
    """What the layer `workloads` is doing, as its objects tell."""

    target: str = ""
    """The version that workloads move to; empty where none do."""
    emptying: str = ""
    """The node that it is emptying to make room."""
    holding: Mapping[str, str] = {}
    """Nodes that have pods whose turn has not come, or that are being moved: one of them, in words."""
    untold: bool = False
    """Whether it was asked for, and nobody has told yet whose turn it is."""


class LeaseSeen(msgspec.Struct, frozen=True):
    """What was seen of a node's Lease since its agent was through."""

    attempt: int = 0
    """How often it was looked at."""
    advancing: bool = False
    """Whether it was renewed in between."""


class Unreadable(msgspec.Struct, frozen=True):
    """An object that is there and that no row could be made of."""

    kind: Kind
    name: str
    why: str

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.name} cannot be read: {self.why}"


class Demands(Protocol):
    """What nodes that are not begun would take of budgets."""

    def of(self, node: str) -> Mapping[str, int]:
        """How many pods of a node, by name, each budget, by uid, would have to let go."""
        ...

    def left(self, budget: str) -> int:
        """How many pods more a budget lets go."""
        ...

    def stuck(self, node: str, spec: NodeRolloutSpec) -> bool:
        """Whether a pod of a node, by name, can never go, as things are."""
        ...


class View(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster at one moment."""

    rollouts: tuple[NodeRollout, ...] = ()
    """In the order in which they were made."""
    members: Mapping[str, Member] = {}
    """All nodes, by name."""
    api_servers: Mapping[str, str] = {}
    """The version of each API server that there is, by where it is: the one function behind which
    control-plane versions are facts."""
    drains: Mapping[str, Drain] = {}
    """By uid, of nodes that a rollout has a record of."""
    demands: Demands | None = None
    own: Own = NOT_IN_A_POD
    """The operator's own pods; known while there is a rollout."""
    migration: Migration = Migration()
    leases: Mapping[str, LeaseSeen] = {}
    """By uid of the node, of nodes being verified."""
    watched: Mapping[str, datetime] = {}
    """By uid of the node, of those in flight: since when this operator has seen them as they are."""
    heard: Mapping[str, datetime] = {}
    """By uid of the node, of those with an order: when this operator last heard of their agents, or since
    when it has listened."""
    unnoticed: Mapping[str, datetime | None] = {}
    """By uid of the node, of those that we have cordoned and Kubernetes' own controllers have not tainted:
    until when they are waited for; None where that was in vain."""
    unheard: frozenset[str] = frozenset()
    """By uid of the node, of those: of whose agents it has heard nothing for as long as it has listened."""
    hooks: Mapping[tuple[str, str], Hooked] = {}
    """Jobs of ours, by namespace and name."""
    claims: Claims | None = ()
    """Of the control plane; None where they cannot be read: then no control-plane node is begun."""
    distrust: str = ""
    """Why what is on a Node may be an order that a node has given itself; empty where it is not."""
    changes: Changes = {}
    stale: tuple[Kind, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    outcomes: Outcomes = Outcomes()

    @property
    def unreadable_rollouts(self) -> bool:
        return any(one.kind == NODE_ROLLOUT for one in self.unreadable)

    def unreadable_node(self, name: str) -> str:
        """Why a node of that name, which is there, cannot be read; empty where it can be, or is gone."""
        return next((str(one) for one in self.unreadable if (one.kind, one.name) == (NODE, name)), "")


class Told(msgspec.Struct, frozen=True):
    """What follows for one rollout."""

    rollout: NodeRollout
    status: NodeRolloutStatus
    """The whole status, to be stored before the steps of the next round are decided."""
    reason: Reason
    message: str
    stalled: bool = False


class Rolling(Decision, frozen=True):
    """What follows for all rollouts: the steps of those whose records are stored, and what to tell."""

    told: tuple[Told, ...] = ()
    now: datetime | None = None


Records = Mapping[str, NodeStatus]
"""What is written down of nodes, by uid."""
