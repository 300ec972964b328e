"""What a person wants to know of a cluster at one moment.

Every count is taken from the same rows, so the parts always add up: the pods of all nodes, those that
have no node yet and those on nodes that are not known are together the pods of the cluster. Pods
that have finished count nowhere.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class NodeState(StrEnum):
    """How a node is, in one word; the worst that holds."""

    READY = "ready"
    CORDONED = "cordoned"
    NOT_READY = "not ready"
    UNREACHABLE = "unreachable"
    LEAVING = "leaving"


class PodState(StrEnum):
    """How a pod is, in one word."""

    READY = "ready"
    STARTING = "starting"
    UNPLACED = "unplaced"
    FAILING = "failing"
    LEAVING = "leaving"


class WorkloadState(StrEnum):
    """How a workload is, in one word; it waits while no node takes some pod of it."""

    READY = "ready"
    STARTING = "starting"
    WAITING = "waiting"
    FAILING = "failing"
    IDLE = "idle"


class Pods(msgspec.Struct, frozen=True):
    """How many pods are in which state; the fields are in the order of the states."""

    ready: int = 0
    starting: int = 0
    unplaced: int = 0
    failing: int = 0
    leaving: int = 0

    @property
    def total(self) -> int:
        return self.ready + self.starting + self.unplaced + self.failing + self.leaving

    def of(self, state: PodState) -> int:
        return getattr(self, state.value)

    def __add__(self, other: Pods) -> Pods:
        return Pods(
            self.ready + other.ready,
            self.starting + other.starting,
            self.unplaced + other.unplaced,
            self.failing + other.failing,
            self.leaving + other.leaving,
        )


class NodeView(msgspec.Struct, frozen=True):
    name: str
    pool: str
    zone: str
    version: str
    ready: bool
    cordoned: bool
    state: NodeState
    seconds: int
    """For how long it has been ready, or not ready."""
    pods: Pods


class VersionView(msgspec.Struct, frozen=True):
    """All nodes of one kubelet version."""

    version: str
    nodes: int
    ready: int
    pods: Pods


class PoolView(msgspec.Struct, frozen=True):
    """All nodes of one pool; `versions` holds the highest first."""

    name: str
    zones: tuple[str, ...]
    versions: tuple[str, ...]
    nodes: int
    ready: int
    pods: Pods


class OnVersion(msgspec.Struct, frozen=True):
    """The pods of a workload on nodes of this version."""

    version: str
    pods: Pods


class Budget(msgspec.Struct, frozen=True):
    """A PodDisruptionBudget, and how many pods it lets go now."""

    name: str
    allows: int


class WorkloadView(msgspec.Struct, frozen=True):
    namespace: str
    kind: str
    name: str
    ready: int
    desired: int
    state: WorkloadState
    versions: tuple[OnVersion, ...]
    budgets: tuple[Budget, ...]
    """More than one on the same pods, and none of them can ever be evicted."""
    pods: Pods


class Totals(msgspec.Struct, frozen=True):
    nodes: int
    ready_nodes: int
    cordoned_nodes: int
    workloads: int
    ready_workloads: int
    pods: Pods


class ClusterView(msgspec.Struct, frozen=True):
    """The whole cluster; nodes and workloads in the order in which people read names."""

    server_version: str
    versions: tuple[VersionView, ...]
    pools: tuple[PoolView, ...]
    nodes: tuple[NodeView, ...]
    workloads: tuple[WorkloadView, ...]
    totals: Totals
    stale: tuple[str, ...]
    """Kinds that may have changed since: the API server does not answer."""

    @property
    def settled(self) -> bool:
        """Every node and every workload is as it should be."""
        totals = self.totals
        whole = totals.ready_nodes == totals.nodes and totals.ready_workloads == totals.workloads
        return whole and totals.pods.ready == totals.pods.total and not self.stale
