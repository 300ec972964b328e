"""What this layer does to a cluster, one write each. Every step is harmless when it comes late or twice."""

from __future__ import annotations

import zlib
from typing import ClassVar

from shiplift.agent.protocol import Order
from shiplift.engine.step import Step
from shiplift.nodes.names import NODE_LEASES

_LEASES_AT_ONCE = 16


def cordon_of(uid: str) -> str:
    """What our cordon of a node is remembered by."""
    return f"cordon {uid}"


class NodeStep(Step, frozen=True):
    """A step on one node, in the version of it that was seen: what somebody changed meanwhile stops it."""

    name: str
    uid: str
    version: int


class Cordon(NodeStep, frozen=True):
    """Let no more pods onto a node, and write on it whose cordon that is; one call."""

    rollout: str
    before: bool | None = None
    """Whether somebody else had cordoned it before; false where that was, and is not so any more."""

    @property
    def key(self) -> str:
        return cordon_of(self.uid)

    @property
    def change(self) -> str:
        return self.key

    def undone_by_others(self) -> str:
        return (
            f"node {self.name}: somebody else takes back our cordon, or our annotation that says whose it is;"
            f" keep them from it while NodeRollout {self.rollout} runs"
        )

    def describe(self) -> str:
        return f"cordon node {self.name}"


class Evict(Step, frozen=True):
    """Ask the API server to end a pod; budgets of its owner are asked."""

    aside: ClassVar[bool] = True
    namespace: str
    name: str
    uid: str
    node: str
    budget: str = ""
    """The uid of the budget that covers it: pods of one budget go one after the other."""
    grace: int | None = None

    @property
    def key(self) -> str:
        return f"evict {self.uid}"

    @property
    def lane(self) -> str:
        return self.budget

    def describe(self) -> str:
        return f"evict pod {self.namespace}/{self.name} from node {self.node}"


class Force(Evict, frozen=True):
    """End a pod whatever its budget says: only where `onBlocked` is `Force` and the drain has timed out."""

    version: int = 0

    @property
    def key(self) -> str:
        return f"force {self.uid}"

    def describe(self) -> str:
        return (
            f"delete pod {self.namespace}/{self.name} from node {self.node}, which its budget does not allow"
        )


class Allow(NodeStep, frozen=True):
    """Say which versions a node should have and let its agent change it: one call."""

    order: Order
    desired: dict[str, str]
    """By software."""

    @property
    def key(self) -> str:
        return f"allow {self.order.token}"

    def describe(self) -> str:
        wanted = ", ".join(f"{name} {version}" for name, version in sorted(self.desired.items()))
        return f"order {self.order.token.operation.value} of node {self.name}" + (
            f": {wanted}" * bool(wanted)
        )


class Withdraw(NodeStep, frozen=True):
    """Take an order back that no agent has claimed, in the version of the node in which none had."""

    token: str

    @property
    def key(self) -> str:
        return f"withdraw {self.token}"

    def describe(self) -> str:
        return f"take the order back from node {self.name}"


class CheckLease(Step, frozen=True):
    """See whether a node, or the leading controller manager, renews its Lease; nothing is changed. Read live,
    for nodes being verified only.

    It takes up to a second, so nobody waits for it; where very many nodes are verified they take turns, so
    that threads are left for evictions.
    """

    aside: ClassVar[bool] = True

    name: str
    uid: str
    attempt: int
    """How often it was looked at since the agent was through."""
    space: str = NODE_LEASES

    @property
    def of_node(self) -> bool:
        return self.space == NODE_LEASES

    @property
    def key(self) -> str:
        return f"lease {self.uid}"

    @property
    def lane(self) -> str:
        return f"lease {zlib.crc32(self.uid.encode()) % _LEASES_AT_ONCE}"

    def describe(self) -> str:
        return f"see whether {'node ' if self.of_node else ''}{self.name} renews its Lease"


class Release(NodeStep, frozen=True):
    """Give a node back: the order off, and ours of the cordon; one call.

    `uncordon` is false where somebody had cordoned it before, or where it is quarantined.
    """

    uncordon: bool
    mark: bool = False
    """Whether our annotation that says whose cordon it is stays: a node that is quarantined keeps it."""
    left_by: str = ""
    """The rollout that ends and leaves it quarantined; empty where none does."""

    @property
    def key(self) -> str:
        return f"release {self.uid}"

    @property
    def takes_back(self) -> str:
        return cordon_of(self.uid)

    def describe(self) -> str:
        if self.left_by:
            return f"leave node {self.name} quarantined"
        return f"{'uncordon' if self.uncordon else 'give back'} node {self.name}"


class MakeHook(Step, frozen=True):
    """Start the Job of a hook for one node, as the account that the hook names."""

    rollout: str
    rollout_uid: str
    node: str
    hook: str
    """Its name in the spec of the rollout."""
    namespace: str
    job: str
    """The name of the Job: of this rollout, hook, node and attempt, so that it is never made twice."""
    after: bool = False
    """Whether it is one of the hooks after a node: one before may have the same name."""

    @property
    def key(self) -> str:
        return f"hook {self.namespace}/{self.job}"

    def describe(self) -> str:
        return f"run hook {self.hook} for node {self.node} as Job {self.namespace}/{self.job}"


class DeleteHook(Step, frozen=True):
    """Remove the Job of a hook whose node is through; those that failed stay for people to look at."""

    namespace: str
    job: str
    uid: str
    version: int

    @property
    def key(self) -> str:
        return f"delete hook {self.uid}"

    def describe(self) -> str:
        return f"remove Job {self.namespace}/{self.job}"


class SetFinalizer(Step, frozen=True):
    """See to it that a NodeRollout is not gone before its nodes are given back; or that it may go."""

    rollout: str
    uid: str
    present: bool

    @property
    def key(self) -> str:
        return f"finalizer {self.uid} {self.present}"

    def describe(self) -> str:
        if self.present:
            return f"put our finalizer on NodeRollout {self.rollout}"
        return f"take our finalizer off NodeRollout {self.rollout}"


class Claim(Step, frozen=True):
    """Write down that one control-plane node is changed now, before it is; or that this has ended."""

    node: str
    uid: str
    version: int
    token: str
    ended: bool = False

    @property
    def key(self) -> str:
        return f"{'end claim' if self.ended else 'claim'} {self.token}"

    def describe(self) -> str:
        verb = "close" if self.ended else "open"
        return f"{verb} the claim on the control plane for node {self.node}"
