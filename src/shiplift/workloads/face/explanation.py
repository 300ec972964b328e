"""One workload in a move: where its pods are, whom it waits for, who waits for it, and what would unblock it.

Rows say where pods and budgets are, the WorkloadMigration says what has been moved. Without a migration the
dependencies and budgets are told all the same, so that an order can be looked at before it counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Protocol, TypeVar

import msgspec

from shiplift.api.placements import Turn, WorkloadPlacement
from shiplift.api.workloads import MigrationState, OnCycle, WorkloadMigration, WorkloadStatus
from shiplift.engine import versions
from shiplift.facts.meta import Labels, Row
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod
from shiplift.facts.workloads import Deployment, PodDisruptionBudget, ReplicaSet, StatefulSet
from shiplift.pdb.verdicts import one_more_helps
from shiplift.view.cluster import PodState
from shiplift.view.look import labels_of, natural, pod_state
from shiplift.view.values import Share, plain
from shiplift.workloads.face.cycles import breaking, ring
from shiplift.workloads.face.migration import WaitingView, waiting_view
from shiplift.workloads.face.passage import Passage
from shiplift.workloads.face.words import EXCLUDED, MOVED, NO_MIGRATION_HERE, NOTHING_MOVES, OPTED_OUT

Key = tuple[str, str, str]
"""A workload: kind, namespace, name."""
Workload = Deployment | StatefulSet
R = TypeVar("R", bound=Row)


class Rows(Protocol):
    """What is read: all workloads and nodes, and of the workload's namespace the rest."""

    def all(self, rows: type[R]) -> Iterable[R]: ...


class Link(msgspec.Struct, frozen=True):
    """`dependent` waits for `dependency`; `origin` says where that was written. A soft one is a wish."""

    dependent: Key
    dependency: Key
    origin: str
    soft: bool = False


class Known(msgspec.Struct, frozen=True):
    """What is known besides rows; no migration where there is none."""

    links: tuple[Link, ...] = ()
    migration: WorkloadMigration | None = None
    placement: WorkloadPlacement | None = None
    opted_out: frozenset[Key] = frozenset()
    holds: frozenset[str] = frozenset()
    """PodDisruptionBudgets that hold it for us, by name."""


class Standing(StrEnum):
    """How far a workload is, for one that waits for it."""

    MOVED = "moved"
    NOT_YET = "not yet"
    MISSING = "does not exist"
    OUTSIDE = "not moved by us"
    IDLE = "-"
    """Nothing is being moved."""


class Neighbour(msgspec.Struct, frozen=True):
    """Another workload, which this one waits for or which waits for this one."""

    kind: str
    namespace: str
    name: str
    standing: Standing
    pods: Share | None
    """Of those that were not moved yet."""
    origin: str
    soft: bool

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


class OnNode(msgspec.Struct, frozen=True):
    """The pods of the workload on one node; without a node the first reason why."""

    node: str
    version: str
    target: bool
    ready: int
    total: int
    note: str


class PodView(msgspec.Struct, frozen=True):
    """One pod that was asked for by name."""

    namespace: str
    name: str
    state: PodState
    node: str
    version: str
    target: bool
    note: str
    """The first reason why it has no node, or is not ready."""


class BudgetView(msgspec.Struct, frozen=True):
    """A PodDisruptionBudget that covers the workload."""

    name: str
    needs: int
    has: int
    allows: int
    holds: bool
    follows: bool = False
    """Whether what it needs grows with the replicas, so that one more lets none go either."""


class Explanation(msgspec.Struct, frozen=True):
    """One workload; `line` is what the operator says of it, where it says something."""

    kind: str
    namespace: str
    name: str
    ready: int
    desired: int
    phase: str
    """Where it is in the move, in words."""
    line: WaitingView | None
    target: str
    turn: Turn | None
    pods: tuple[OnNode, ...]
    needs: tuple[Neighbour, ...]
    needed_by: tuple[Neighbour, ...]
    budgets: tuple[BudgetView, ...]
    unblocked_by: tuple[str, ...]
    pod: PodView | None = None
    """The pod of the workload that was asked for, where one was."""
    passage: Passage | None = None
    """What it has to pass, where that was asked."""


def explanation(rows: Rows, workload: Workload, known: Known, now: int, pod: str = "") -> Explanation:
    """All about that workload, and about the pod of it with that name; `now` is in seconds since 1970."""
    key = key_of(workload)
    progress = _Progress(rows, known)
    nodes = {node.name: node.kubelet_version for node in rows.all(Node)}
    pods = _pods(rows, workload)
    needs = _neighbours(progress, ((link.dependency, link) for link in known.links if link.dependent == key))
    labels = labels_of(workload.template_labels, pods, workload.replicas)
    covering = _covering(rows, workload.namespace, labels)
    budgets = tuple(_budget_view(one, known.holds) for one in covering)
    twice = _together([one for one in covering if one.name not in known.holds], labels)
    status = progress.listed.get(key)
    return Explanation(
        kind=key[0],
        namespace=workload.namespace,
        name=workload.name,
        ready=sum(pod.ready for pod in pods),
        desired=workload.replicas,
        phase=_phase(progress, workload, known),
        line=waiting_view(status, now) if status and progress.moving else None,
        target=progress.target,
        turn=known.placement.spec.turns.get(f"{key[0]}.{key[2]}") if known.placement else None,
        pods=_on_nodes(pods, nodes, progress.target),
        needs=needs,
        needed_by=_neighbours(
            progress, ((link.dependent, link) for link in known.links if link.dependency == key)
        ),
        budgets=budgets,
        unblocked_by=_unblocked_by(progress, workload, known, needs, budgets, twice)
        if progress.moving
        else (),
        pod=next((_pod_view(one, nodes, progress.target) for one in pods if one.name == pod), None),
    )


def key_of(workload: Workload) -> Key:
    return type(workload).__name__, workload.namespace, workload.name


class _Progress:
    """Who has been moved, as the migration says."""

    def __init__(self, rows: Rows, known: Known) -> None:
        migration = known.migration
        self.uids = {key_of(row): row.uid for kind in (Deployment, StatefulSet) for row in rows.all(kind)}
        status = migration.status if migration else None
        self.moving = status is not None and status.state is MigrationState.UPGRADE
        self.target = status.target or "" if status and self.moving else ""
        self.met = frozenset(status.met) if status else frozenset[str]()
        self.relied_on = frozenset(status.relied_on) if status else frozenset[str]()
        """By name: also those that were deleted after they had moved."""
        self.listed: dict[Key, WorkloadStatus] = (
            {(one.kind.value, one.namespace, one.name): one for one in status.workloads} if status else {}
        )
        self.excluded = frozenset(migration.spec.exclude_namespaces) if migration else frozenset[str]()
        self.opted_out = known.opted_out

    def standing(self, key: Key) -> Standing:
        if key not in self.uids:
            return Standing.MOVED if "{} {}/{}".format(*key) in self.relied_on else Standing.MISSING
        if not self.moving:
            return Standing.IDLE
        if self.uids[key] in self.met:
            return Standing.MOVED
        outside = key[1] in self.excluded or key in self.opted_out
        return Standing.OUTSIDE if outside else Standing.NOT_YET


def _phase(progress: _Progress, workload: Workload, known: Known) -> str:
    if key_of(workload) in progress.opted_out:
        return OPTED_OUT
    if workload.namespace in progress.excluded:
        return EXCLUDED
    if known.migration is None:
        return NO_MIGRATION_HERE
    if not progress.moving:
        return NOTHING_MOVES
    listed = progress.listed.get(key_of(workload))
    if workload.uid in progress.met and (listed is None or listed.uid != workload.uid):
        return MOVED
    return listed.state.lower() if listed else "not moved yet"


def _pods(rows: Rows, workload: Workload) -> list[Pod]:
    """Those that it controls, by itself or through its ReplicaSets; what has finished counts nowhere."""
    owners = {workload.uid} | {
        row.uid for row in rows.all(ReplicaSet) if row.controller and row.controller.uid == workload.uid
    }
    pods = (pod for pod in rows.all(Pod) if pod.controller and pod.controller.uid in owners)
    return [pod for pod in pods if not pod.finished]


def _on_nodes(pods: Iterable[Pod], versions: Mapping[str, str], target: str) -> tuple[OnNode, ...]:
    grouped: defaultdict[str, list[Pod]] = defaultdict(list)
    for pod in pods:
        grouped[pod.node].append(pod)
    views = [_on_node(name, grouped[name], versions.get(name, ""), target) for name in grouped]
    return tuple(sorted(views, key=lambda view: (not view.node, natural(view.node))))


def _pod_view(pod: Pod, versions: Mapping[str, str], target: str) -> PodView:
    version = versions.get(pod.node, "")
    return PodView(
        namespace=pod.namespace,
        name=pod.name,
        state=pod_state(pod),
        node=pod.node,
        version=version,
        target=_is_target(version, target),
        note="" if pod.ready else plain(pod.unschedulable or pod.waiting),
    )


def _is_target(version: str, target: str) -> bool:
    return bool(target) and versions.reaches(version, target)


def _on_node(name: str, pods: list[Pod], version: str, target: str) -> OnNode:
    leaving = sum(bool(pod.deleting) for pod in pods)
    notes = [f"{leaving} leaving"] if leaving else []
    notes += dict.fromkeys(pod.unschedulable or pod.waiting for pod in pods if not pod.ready)
    return OnNode(
        node=name,
        version=version,
        target=_is_target(version, target),
        ready=sum(pod.ready for pod in pods),
        total=len(pods),
        note=plain("; ".join(note for note in notes if note)),
    )


def _neighbours(progress: _Progress, links: Iterable[tuple[Key, Link]]) -> tuple[Neighbour, ...]:
    views = [_neighbour(progress, key, link) for key, link in links]
    return tuple(sorted(views, key=lambda one: (one.namespace, natural(one.name), one.kind)))


def _neighbour(progress: _Progress, key: Key, link: Link) -> Neighbour:
    standing, listed = progress.standing(key), progress.listed.get(key)
    pods = Share.of(listed.pods) if listed and standing is Standing.NOT_YET else None
    return Neighbour(*key, standing, pods, plain(link.origin), link.soft)


def _covering(rows: Rows, namespace: str, labels: set[Labels]) -> list[PodDisruptionBudget]:
    """The budgets that cover a pod with any of these labels."""
    found = [
        budget
        for budget in rows.all(PodDisruptionBudget)
        if budget.namespace == namespace and any(map(budget.selects, labels))
    ]
    return sorted(found, key=lambda budget: natural(budget.name))


def _together(budgets: list[PodDisruptionBudget], labels: set[Labels]) -> tuple[str, ...]:
    """Budgets, by name, of which one pod has several; none where each pod has one at most."""
    found = [tuple(one.name for one in budgets if one.selects(own)) for own in labels]
    return min((names for names in found if len(names) > 1), default=())


def _budget_view(budget: PodDisruptionBudget, holds: frozenset[str]) -> BudgetView:
    return BudgetView(
        name=budget.name,
        needs=budget.desired_healthy,
        has=budget.current_healthy,
        allows=budget.disruptions_allowed,
        holds=budget.name in holds,
        follows=not one_more_helps(budget),
    )


def _unblocked_by(
    progress: _Progress,
    workload: Workload,
    known: Known,
    needs: tuple[Neighbour, ...],
    budgets: tuple[BudgetView, ...],
    twice: tuple[str, ...],
) -> tuple[str, ...]:
    """What would have to happen, as far as it can be seen from here."""
    migration = known.migration
    if migration is None or progress.standing(key_of(workload)) is not Standing.NOT_YET:
        return ()
    wanted = ["somebody runs `shiplift resume`: the migration is paused"] if migration.spec.paused else []
    wanted += _wishes(progress, workload, known, needs)
    if wanted:
        return tuple(wanted)
    if twice:
        names = ", ".join(twice)
        return (f"all but one of the PodDisruptionBudgets {names} go: a pod with several cannot be evicted",)
    return tuple(_room(one) for one in budgets if not one.holds and not one.allows)


def _wishes(
    progress: _Progress, workload: Workload, known: Known, needs: tuple[Neighbour, ...]
) -> Iterable[str]:
    """Of whom it waits for; of those in a cycle that nobody breaks, that it is broken."""
    waits = _waits(progress, known)
    own = ring(waits, key_of(workload))
    found = [breaking(own)] if own else []
    for one in needs:
        key = (one.kind, one.namespace, one.name)
        others = ring(waits, key) if one.standing is Standing.NOT_YET else ()
        if others and not own:
            found.append(breaking(others))
        elif not others and one.standing in (Standing.NOT_YET, Standing.MISSING):
            found.append(_wish(one))
    return dict.fromkeys(found)


def _waits(progress: _Progress, known: Known) -> Mapping[Key, Iterable[Key]]:
    """Who waits for whom in such a way that a cycle stops them all."""
    found: defaultdict[Key, list[Key]] = defaultdict(list)
    if known.migration is None or known.migration.spec.on_cycle is not OnCycle.STOP:
        return found
    for link in known.links:
        if not link.soft and progress.standing(link.dependency) is Standing.NOT_YET:
            found[link.dependent].append(link.dependency)
    return found


def _wish(one: Neighbour) -> str:
    if one.standing is Standing.MISSING:
        return f"{one} is created, or no longer named by {one.origin}"
    if one.pods is None or one.pods.done >= one.pods.total:
        return f"{one} is moved"
    left = one.pods.total - one.pods.done
    other = "other " if one.pods.done else ""
    return f"{one} moves its {left} {other}pod{'s' * (left != 1)}"


def _room(one: BudgetView) -> str:
    budget = f"PodDisruptionBudget {one.name}"
    if one.has < one.needs:
        return f"{one.needs - one.has} more of its pods get ready: {budget} needs {one.needs}, has {one.has}"
    if one.follows:
        return f"{budget} is changed: it lets none go, however many replicas there are"
    return (
        f"one more replica gets ready, or {budget} needs fewer: it needs {one.needs}, has {one.has}, "
        "and lets none go"
    )
