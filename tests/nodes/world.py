"""A cluster in memory for the layer `nodes`: Nodes, pods, budgets, rollouts, claims, Jobs, on virtual time.

The API server's part of it applies steps with their preconditions; what agents and nature do is in `players`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from benchmarks.rows import make
from shiplift.agent import protocol
from shiplift.agent.protocol import CHANGES_ALLOWED
from shiplift.api.base import ObjectMeta
from shiplift.api.marks import CORDONED_BEFORE, CORDONED_BY, QUARANTINED_BY
from shiplift.api.nodes import Blocker, NodeRollout, NodeRolloutSpec, NodeState
from shiplift.drain.filters import CORDON
from shiplift.engine.claims import Claim as OpenClaim
from shiplift.engine.claims import Target
from shiplift.engine.step import Outcomes, Step
from shiplift.facts import kinds
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.nodes.memory import Noticing, Watched
from shiplift.nodes.model import (
    Drain,
    Evictable,
    Hooked,
    HookState,
    LeaseSeen,
    Member,
    Migration,
    View,
)
from shiplift.nodes.names import FINALIZER, controllers_after
from shiplift.nodes.observe.api_servers import api_servers
from shiplift.nodes.observe.members import member
from shiplift.nodes.observe.rollouts import beats, states
from shiplift.nodes.steps import (
    Allow,
    CheckLease,
    Claim,
    Cordon,
    DeleteHook,
    Evict,
    Force,
    MakeHook,
    NodeStep,
    Release,
    SetFinalizer,
    Withdraw,
)
from shiplift.nodes.tell.report import WEIGHT

OLD, NEW = "v1.36.2", "v1.36.3"
START = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)
_UNDRAINED = frozenset((NodeState.FAILED, NodeState.QUARANTINED, NodeState.SKIPPED, NodeState.SOAKING))


class Refused(Exception):  # noqa: N818 - says what the server said
    """A precondition does not hold: nothing has changed."""


@dataclass
class Machine:
    """A Node, and the machine behind it."""

    name: str
    uid: str
    kubelet: str = OLD
    packages: dict[str, str] = field(default_factory=dict[str, str])
    api_server: str = ""
    annotations: dict[str, str] = field(default_factory=dict[str, str])
    labels: dict[str, str] = field(default_factory=dict[str, str])
    unschedulable: bool = False
    tainted: bool = False
    """Whether the controllers of the cluster have noticed its cordon."""
    ready: bool = True
    boot: int = 1
    version: int = 1
    lease: int = 1
    renews: bool = True
    """Whether its kubelet renews its Lease."""
    fails: str = ""
    """How its agent fails, in a word of `players`."""
    claimed: str = ""
    work: int = 0
    """Seconds of work that are left."""

    @property
    def control_plane(self) -> bool:
        return bool(self.api_server)

    def touch(self) -> None:
        self.version += 1

    def row(self) -> Node:
        return make(
            Node,
            self.name,
            uid=self.uid,
            resource_version=self.version,
            kubelet_version=self.kubelet,
            unschedulable=self.unschedulable,
            taints=(CORDON,) if self.tainted else (),
            ready=self.ready,
            boot_id=f"boot-{self.boot}",
            labels=Labels(self.labels),
            annotations=Labels(self.annotations),
        )

    def member(self) -> Member:
        """As the operator reads it."""
        return msgspec.structs.replace(member(self.row()), control_plane=self.control_plane)


@dataclass
class Pod:
    name: str
    uid: str
    node: str
    budget: str = ""
    leaving: int = 0
    """Seconds until it is gone, once it was asked to go."""


@dataclass
class Memory:
    """What one life of an operator knows."""

    outcomes: Outcomes = field(default_factory=Outcomes)
    changes: dict[str, Any] = field(default_factory=dict[str, Any])
    leases: dict[str, tuple[str, int, int]] = field(default_factory=dict[str, tuple[str, int, int]])
    """Of a node: the token, the first reading, how often it was read."""
    watched: Watched | None = None
    heard: Watched | None = None
    noticing: Noticing | None = None


class World:
    def __init__(self) -> None:
        self.now = START
        self.nodes: dict[str, Machine] = {}
        self.pods: dict[str, Pod] = {}
        self.budgets: dict[str, int] = {}
        """How many pods of a budget may be away at once."""
        self.rollouts: dict[str, NodeRollout] = {}
        self.claims: dict[str, OpenClaim] = {}
        self.jobs: dict[tuple[str, str], Hooked] = {}
        self.failing_hooks: set[str] = set()
        self.never: dict[str, str] = {}
        """Why a node, by name, can never be emptied."""
        self.lost_namespaces: set[str] = set()
        """Where no Job can be made."""
        self.migration = Migration()
        self.server = NEW
        """The version that the API server says which answers; empty where none does."""
        self.controllers, self.led = 1, True
        """How often the leading controller manager has renewed its Lease, and whether one leads."""
        self.changes = 0
        self.listeners: list[Callable[[Step], None]] = []
        self._number = 0

    # --- what people do ---

    def number(self) -> int:
        self._number += 1
        return self._number

    def add_node(self, name: str, *, api_server: str = "", kubelet: str = OLD, **more: Any) -> Machine:
        packages = {one: kubelet[1:] for one in ("kubeadm", "kubelet")} | {"containerd": "1.7.20"}
        node = Machine(name, f"uid-{self.number()}", kubelet, packages, api_server, **more)
        self.nodes[name] = node
        return node

    def add_pod(self, node: str, budget: str = "") -> Pod:
        number = self.number()
        pod = Pod(f"pod-{number}", f"pod-uid-{number}", node, budget)
        self.pods[pod.uid] = pod
        return pod

    def roll_out(self, name: str = "next", **spec: Any) -> NodeRollout:
        given: dict[str, Any] = {"version": NEW, **spec}
        about = ObjectMeta(name=name, uid=f"rollout-{self.number()}", generation=1, resource_version="1")
        rollout = NodeRollout(metadata=about, spec=NodeRolloutSpec(**given))
        self.rollouts[name] = rollout
        return rollout

    def change(self, name: str = "next", **spec: Any) -> None:
        rollout = self.rollouts[name]
        self._store(msgspec.structs.replace(rollout, spec=msgspec.structs.replace(rollout.spec, **spec)))

    def delete(self, name: str = "next") -> None:
        rollout = self.rollouts[name]
        about = msgspec.structs.replace(rollout.metadata, deletion_timestamp=self.now)
        self._store(msgspec.structs.replace(rollout, metadata=about))

    def _store(self, rollout: NodeRollout) -> None:
        about = rollout.metadata
        self.changes += 1
        if about.deletion_timestamp is not None and not about.finalizers:
            del self.rollouts[about.name]
            return
        about = msgspec.structs.replace(about, resource_version=str(int(about.resource_version) + 1))
        self.rollouts[about.name] = msgspec.structs.replace(rollout, metadata=about)

    def publish(self, seen: NodeRollout, status: Any) -> bool:
        """The status, over the version that was seen; whether it was written."""
        known = self.rollouts.get(seen.metadata.name)
        if known is None or known.metadata != seen.metadata or known.status == status:
            return False
        before = self.changes
        self._store(msgspec.structs.replace(known, status=status))
        if WEIGHT.only_progress(known.status, status):
            self.changes = before
        return True

    def touched(self, node: Machine) -> None:
        node.touch()
        self.changes += 1

    # --- what the layer sees ---

    def seconds(self) -> float:
        return self.now.timestamp()

    def view(self, memory: Memory) -> View:
        memory.watched = memory.watched or Watched(self.seconds)
        memory.noticing = memory.noticing or Noticing(self.seconds)
        memory.heard = memory.heard or Watched(self.seconds)
        members = {name: one.member() for name, one in self.nodes.items()}
        recorded = {
            record.uid: record
            for rollout in self.rollouts.values()
            for record in rollout.status.nodes
            if record.state not in _UNDRAINED
        }
        return View(
            rollouts=tuple(self.rollouts.values()),
            members=members,
            api_servers=api_servers(members.values(), lambda: self.server),
            drains={one.uid: self.drain(one.name) for one in members.values() if one.uid in recorded},
            migration=self.migration,
            leases=dict(self._leases(members.values(), memory)),
            unnoticed=memory.noticing.look(self._cordoned(recorded), self.now),
            watched=memory.watched.look(states(self.rollouts.values(), members), self.now),
            heard=memory.heard.look(beats(members.values()), self.now),
            unheard=memory.heard.unchanged,
            hooks=dict(self.jobs),
            claims=tuple(self.claims.values()),
            changes=dict(memory.changes),
            outcomes=memory.outcomes,
        )

    def _cordoned(self, recorded: Iterable[str]) -> dict[str, bool]:
        ours = (one for one in self.nodes.values() if one.uid in recorded and CORDONED_BY in one.annotations)
        return {one.uid: one.tainted for one in ours if one.unschedulable}

    def _leases(self, members: Iterable[Member], memory: Memory) -> Iterable[tuple[str, LeaseSeen]]:
        for one in members:
            known = memory.leases.get(one.uid)
            if known and one.order and known[0] == str(one.order.token):
                yield one.uid, LeaseSeen(known[2], known[1] != self.nodes[one.name].lease)
            after = controllers_after(one.uid)
            if known := memory.leases.get(after):
                yield after, LeaseSeen(known[2], known[1] != self.controllers)

    def drain(self, name: str) -> Drain:
        here = [pod for pod in self.pods.values() if pod.node == name]
        now: list[Evictable] = []
        blocked: list[Evictable] = []
        spent: set[str] = set()
        for pod in here:
            if pod.leaving:
                continue
            asked = Evictable("shop", pod.name, pod.uid, 1, pod.budget)
            if not pod.budget or (self.allowed(pod.budget) and pod.budget not in spent):
                now.append(asked)
                spent.add(pod.budget)
            elif not self.allowed(pod.budget):
                blocked.append(asked)
        blockers = tuple(Blocker(pod=f"shop/{one.name}", budget=f"shop/{one.budget}") for one in blocked)
        never = self.never.get(name, "")
        return Drain(len(here), tuple(now), blockers, never, must_not=never, blocked=tuple(blocked))

    def allowed(self, budget: str) -> int:
        away = sum(bool(one.leaving) or not one.node for one in self.pods.values() if one.budget == budget)
        return max(self.budgets[budget] - away, 0)

    # --- what the API server does with a step ---

    def apply(self, step: Step, memory: Memory) -> None:
        """Raises where a precondition does not hold."""
        for listener in self.listeners:
            listener(step)
        match step:
            case NodeStep():
                self._on_node(step)
            case Evict():
                self._evict(step)
            case CheckLease():
                self._read_lease(step, memory)
            case Claim():
                self._claim(step)
            case MakeHook() | DeleteHook():
                self._hook(step)
            case SetFinalizer():
                self._finalizer(step)
            case _:
                raise AssertionError(step)

    def _on_node(self, step: NodeStep) -> None:
        node = self.nodes.get(step.name)
        if node is None or node.uid != step.uid or node.version != step.version:
            raise Refused(step.describe())
        match step:
            case Cordon():
                node.unschedulable = True
                self._unmark(node)
                node.annotations[CORDONED_BY] = step.rollout
                if step.before is not None:
                    node.annotations[CORDONED_BEFORE] = str(step.before).lower()
            case Allow():
                self._no_order(node)
                node.annotations |= {protocol.desired_key(name): one for name, one in step.desired.items()}
                node.annotations[CHANGES_ALLOWED] = step.order.written()
            case Withdraw():
                self._no_order(node)
            case Release(left_by=str(name)) if name:
                self._unmark(node)
                node.annotations[QUARANTINED_BY] = name
            case Release():
                self._no_order(node)
                node.unschedulable = node.unschedulable and not step.uncordon
                if not step.mark:
                    self._unmark(node)
                if step.uncordon:
                    node.annotations.pop(QUARANTINED_BY, None)
            case _:
                raise AssertionError(step)
        self.touched(node)

    def _unmark(self, node: Machine) -> None:
        for key in (CORDONED_BY, CORDONED_BEFORE):
            node.annotations.pop(key, None)

    def _no_order(self, node: Machine) -> None:
        for key in [key for key in node.annotations if key.endswith("/desired-version")]:
            del node.annotations[key]
        node.annotations.pop(CHANGES_ALLOWED, None)

    def _evict(self, step: Evict) -> None:
        pod = self.pods.get(step.uid)
        if pod is None or pod.leaving:
            return
        if pod.budget and not self.allowed(pod.budget) and not isinstance(step, Force):
            raise Refused(step.describe())
        pod.leaving = 2
        self.changes += 1

    def _read_lease(self, step: CheckLease, memory: Memory) -> None:
        if not step.of_node:
            known = memory.leases.get(step.uid)
            first = known[1] if known and step.attempt else self.controllers
            memory.leases[step.uid] = ("", first, step.attempt + 1)
            return
        node = self.nodes.get(step.name)
        order = protocol.order_of(node.annotations) if node else None
        if node is None or node.uid != step.uid or order is None:
            return
        token = str(order.token)
        known = memory.leases.get(step.uid)
        first = known[1] if known and known[0] == token else node.lease
        memory.leases[step.uid] = (token, first, step.attempt + 1)

    def _claim(self, step: Claim) -> None:
        if step.ended:
            self.claims.pop(step.token, None)
        else:
            target = Target(kinds.NODE, step.node, step.uid, str(step.version))
            self.claims[step.token] = OpenClaim(step.token, target, 1, self.now)
        self.changes += 1

    def _hook(self, step: MakeHook | DeleteHook) -> None:
        self.changes += 1
        if isinstance(step, DeleteHook):
            self.jobs.pop((step.namespace, step.job), None)
        elif step.namespace in self.lost_namespaces:
            raise Refused(f"namespace {step.namespace} is not there")
        elif (step.namespace, step.job) not in self.jobs:
            uid = f"job-{self.number()}"
            self.jobs[step.namespace, step.job] = Hooked(step.namespace, step.job, uid, 1, HookState.RUNNING)

    def _finalizer(self, step: SetFinalizer) -> None:
        rollout = self.rollouts.get(step.rollout)
        if rollout is None or rollout.metadata.uid != step.uid:
            raise Refused(step.describe())
        about = msgspec.structs.replace(rollout.metadata, finalizers=(FINALIZER,) if step.present else ())
        self._store(msgspec.structs.replace(rollout, metadata=about))

    # --- time ---

    def pass_time(self, seconds: float = 1) -> None:
        self.now += timedelta(seconds=seconds)
