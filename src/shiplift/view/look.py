"""From rows to the read model: one pass over the pods, whatever the number of nodes and workloads."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Protocol, TypeVar

from shiplift.api.marks import POOL_LABEL
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Labels, Row, condition
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod
from shiplift.facts.workloads import DaemonSet, Deployment, PodDisruptionBudget, ReplicaSet, StatefulSet
from shiplift.view.cluster import (
    Budget,
    ClusterView,
    NodeState,
    NodeView,
    OnVersion,
    Pods,
    PodState,
    PoolView,
    Totals,
    VersionView,
    WorkloadState,
    WorkloadView,
)

R = TypeVar("R", bound=Row)
Owner = Deployment | StatefulSet | DaemonSet
READS = (
    kinds.NODE,
    kinds.POD,
    kinds.DEPLOYMENT,
    kinds.STATEFUL_SET,
    kinds.DAEMON_SET,
    kinds.REPLICA_SET,
    kinds.POD_DISRUPTION_BUDGET,
)
_ZONE = "topology.kubernetes.io/zone"
_POOL_LABELS = (
    POOL_LABEL,
    "local.shiplift.dev/pool",
    "eks.amazonaws.com/nodegroup",
    "karpenter.sh/nodepool",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
)
_ILL = frozenset(
    {
        "CrashLoopBackOff",
        "ImagePullBackOff",
        "ErrImagePull",
        "InvalidImageName",
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
    }
)


class Rows(Protocol):
    """What is read of a snapshot."""

    def all(self, rows: type[R]) -> Iterable[R]: ...

    def stale(self, *of: Kind) -> tuple[Kind, ...]: ...


def look(rows: Rows, now: int, server_version: str) -> ClusterView:
    """The cluster as these rows have it; `now` is in seconds since 1970."""
    pods = [(pod, pod_state(pod)) for pod in rows.all(Pod) if not pod.finished]
    nodes = _nodes(rows, pods, now)
    workloads = _workloads(rows, pods, {node.name: node.version for node in nodes})
    return ClusterView(
        server_version=server_version,
        versions=_versions(nodes),
        pools=_pools(nodes),
        nodes=nodes,
        workloads=workloads,
        totals=_totals(nodes, workloads, _count(state for _, state in pods)),
        stale=tuple(str(kind) for kind in rows.stale(*READS)),
    )


def pod_state(pod: Pod) -> PodState:
    """The first that holds: a pod that is about to go is leaving, whatever else it is."""
    if pod.deleting:
        return PodState.LEAVING
    if pod.ready:
        return PodState.READY
    if pod.waiting in _ILL:
        return PodState.FAILING
    return PodState.STARTING if pod.node else PodState.UNPLACED


def node_state(node: Node) -> NodeState:
    """The first that holds."""
    if node.deleting:
        return NodeState.LEAVING
    if not node.ready:
        ready = condition(node.conditions, "Ready")
        return NodeState.UNREACHABLE if ready and ready.status == "Unknown" else NodeState.NOT_READY
    return NodeState.CORDONED if node.unschedulable else NodeState.READY


def natural(text: str) -> tuple[tuple[int, str], ...]:
    """Sorts as people do: node-2 before node-10, v1.9 before v1.10."""
    parts = re.findall(r"[0-9]+|[^0-9]+", text)
    return tuple((int(part), "") if part[0] in "0123456789" else (-1, part) for part in parts)


def _nodes(rows: Rows, pods: Iterable[tuple[Pod, PodState]], now: int) -> tuple[NodeView, ...]:
    on: defaultdict[str, list[PodState]] = defaultdict(list)
    for pod, state in pods:
        on[pod.node].append(state)
    views = [_node(node, on.get(node.name, ()), now) for node in rows.all(Node)]
    return tuple(sorted(views, key=lambda node: natural(node.name)))


def _node(node: Node, pods: Iterable[PodState], now: int) -> NodeView:
    ready = condition(node.conditions, "Ready")
    since = ready.since if ready and ready.since else node.created
    return NodeView(
        name=node.name,
        pool=next((node.labels[label] for label in _POOL_LABELS if label in node.labels), ""),
        zone=node.labels.get(_ZONE, ""),
        version=node.kubelet_version,
        ready=node.ready,
        cordoned=node.unschedulable,
        state=node_state(node),
        seconds=max(0, now - since),
        pods=_count(pods),
    )


def _versions(nodes: Iterable[NodeView]) -> tuple[VersionView, ...]:
    grouped: defaultdict[str, list[NodeView]] = defaultdict(list)
    for node in nodes:
        grouped[node.version].append(node)
    return tuple(
        VersionView(version, len(group), sum(node.ready for node in group), _sum(group))
        for version, group in sorted(grouped.items(), key=lambda item: natural(item[0]), reverse=True)
    )


def _pools(nodes: Iterable[NodeView]) -> tuple[PoolView, ...]:
    grouped: defaultdict[str, list[NodeView]] = defaultdict(list)
    for node in nodes:
        grouped[node.pool].append(node)
    return tuple(_pool(name, grouped[name]) for name in sorted(grouped, key=natural))


def _pool(name: str, nodes: list[NodeView]) -> PoolView:
    return PoolView(
        name=name,
        zones=tuple(sorted({node.zone for node in nodes if node.zone}, key=natural)),
        versions=tuple(sorted({node.version for node in nodes}, key=natural, reverse=True)),
        nodes=len(nodes),
        ready=sum(node.ready for node in nodes),
        pods=_sum(nodes),
    )


def _workloads(
    rows: Rows, pods: Iterable[tuple[Pod, PodState]], version_of: Mapping[str, str]
) -> tuple[WorkloadView, ...]:
    over = {row.uid: row.controller.uid for row in rows.all(ReplicaSet) if row.controller}
    owned: defaultdict[str, list[tuple[Pod, PodState]]] = defaultdict(list)
    for pod, state in pods:
        if owner := pod.controller:
            owned[over.get(owner.uid, owner.uid)].append((pod, state))
    budgets: defaultdict[str, list[PodDisruptionBudget]] = defaultdict(list)
    for budget in rows.all(PodDisruptionBudget):
        budgets[budget.namespace].append(budget)
    views = [
        _workload(row, owned.get(row.uid, ()), version_of, budgets.get(row.namespace, ()))
        for kind in (Deployment, StatefulSet, DaemonSet)
        for row in rows.all(kind)
    ]
    return tuple(sorted(views, key=lambda view: (view.namespace, natural(view.name), view.kind)))


def _workload(
    row: Owner,
    owned: Iterable[tuple[Pod, PodState]],
    version_of: Mapping[str, str],
    budgets: Iterable[PodDisruptionBudget],
) -> WorkloadView:
    pods = _count(state for _, state in owned)
    desired = row.desired if isinstance(row, DaemonSet) else row.replicas
    placed: defaultdict[str, list[PodState]] = defaultdict(list)
    for pod, state in owned:
        if pod.node in version_of:
            placed[version_of[pod.node]].append(state)
    labels = labels_of(row.template_labels, [pod for pod, _ in owned], desired)
    return WorkloadView(
        namespace=row.namespace,
        kind=type(row).__name__,
        name=row.name,
        ready=pods.ready,
        desired=desired,
        state=_workload_state(pods, desired),
        versions=tuple(
            OnVersion(name, _count(placed[name])) for name in sorted(placed, key=natural, reverse=True)
        ),
        budgets=tuple(
            Budget(budget.name, budget.disruptions_allowed)
            for budget in budgets
            if any(map(budget.selects, labels))
        ),
        pods=pods,
    )


def labels_of(template: Labels, pods: Collection[Pod], desired: int) -> set[Labels]:
    """The labels by which budgets cover a workload: those of its pods; of pods to come, the template's."""
    found = {pod.labels for pod in pods}
    return found | {template} if len(pods) < desired or not pods else found


def _workload_state(pods: Pods, desired: int) -> WorkloadState:
    if pods.failing:
        return WorkloadState.FAILING
    if pods.ready < desired:
        return WorkloadState.WAITING if pods.unplaced else WorkloadState.STARTING
    return WorkloadState.READY if desired else WorkloadState.IDLE


def _totals(nodes: tuple[NodeView, ...], workloads: tuple[WorkloadView, ...], pods: Pods) -> Totals:
    return Totals(
        nodes=len(nodes),
        ready_nodes=sum(node.ready for node in nodes),
        cordoned_nodes=sum(node.cordoned for node in nodes),
        workloads=len(workloads),
        ready_workloads=sum(one.state in (WorkloadState.READY, WorkloadState.IDLE) for one in workloads),
        pods=pods,
    )


def _count(states: Iterable[PodState]) -> Pods:
    listed = list(states)
    # not a Counter: hashing an enum's member is slow, and there are as many as pods
    return Pods(*map(listed.count, PodState))


def _sum(nodes: Iterable[NodeView]) -> Pods:
    return sum((node.pods for node in nodes), Pods())
