"""Workloads on their way to another version: who waits for whom, and where each pod is.

Where pods are is told by the pods, what a workload waits for by the migration. Each workload is there once,
under the deepest of those that it needs; a workload has as many marks as it should have pods.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec

from shiplift.api import workloads as api
from shiplift.engine import versions
from shiplift.engine.graph import Edge, Graph
from shiplift.view.cluster import ClusterView, WorkloadState, WorkloadView
from shiplift.view.look import natural
from shiplift.view.values import Share
from shiplift.workloads.face.explanation import Key, Link
from shiplift.workloads.face.migration import MigrationView, Phase, WaitingView


class Stand(StrEnum):
    """Where a workload is, in one word."""

    STARTING = "starting"
    READY = "ready"
    """Nobody has asked it to move."""
    HELD = "held"
    MOVING = "moving"
    BLOCKED = "blocked"
    ARRIVED = "arrived"


_STANDS = {
    api.WorkloadState.HELD: Stand.HELD,
    api.WorkloadState.BLOCKED: Stand.BLOCKED,
    api.WorkloadState.RELEASED: Stand.MOVING,
    api.WorkloadState.MOVING: Stand.MOVING,
}
_FOR_OTHERS = "WaitsForDependency"
"""The reason that the operator gives."""


class Mover(msgspec.Struct, frozen=True):
    """One workload; moved, between and left are together the pods that it should have."""

    key: Key
    branch: str
    """What stands before its name in the tree."""
    state: Stand
    moved: int
    """Ready on the target."""
    between: int
    """Not Ready, or not there."""
    left: int
    """Ready elsewhere."""
    now: str
    """What it does, or waits for."""

    @property
    def name(self) -> str:
        return self.key[2]


class Movement(msgspec.Struct, frozen=True):
    """The whole of it; movers are in the order of the tree."""

    target: str
    migration: MigrationView | None
    movers: tuple[Mover, ...]

    @property
    def workloads(self) -> Share:
        return Share(sum(one.state is Stand.ARRIVED for one in self.movers), len(self.movers))

    @property
    def pods(self) -> Share:
        total = sum(one.moved + one.between + one.left for one in self.movers)
        return Share(sum(one.moved for one in self.movers), total)

    @property
    def moved(self) -> bool:
        """The migration says of all workloads that they have been moved."""
        told = self.migration.workloads if self.migration else Share()
        return told.done == told.total > 0

    @property
    def settled(self) -> bool:
        """The migration has nothing more to move, and nothing to clean up."""
        return self.migration is not None and self.migration.phase is Phase.IDLE

    @property
    def half_way(self) -> bool:
        """The moment that shows most: some have arrived, some move, some wait for these."""
        states = [one.state for one in self.movers]
        mixed = Stand.ARRIVED in states and Stand.MOVING in states and states.count(Stand.HELD) > 1
        return mixed and 3 * self.pods.done >= self.pods.total


def movement(
    cluster: ClusterView, migration: MigrationView | None, links: Iterable[Link], target: str
) -> Movement:
    """How far the workloads of the cluster are on their way to the target."""
    known = {(one.kind, one.namespace, one.name): one for one in cluster.workloads if one.kind != "DaemonSet"}
    edges = [Edge(one.dependent, one.dependency, one.origin, one.soft) for one in links]
    progress = _Progress(known, edges, migration, target)
    movers = [_mover(progress, key, branch, known[key]) for key, branch in _tree(progress.graph)]
    return Movement(target, migration, tuple(movers))


def changes(before: Movement, now: Movement) -> Iterable[str]:
    """A line for each workload that came to another state since; none before there is a migration."""
    if now.migration is None:
        return
    then = {one.key: one.state for one in before.movers}
    for one in now.movers:
        if then.get(one.key) is not one.state:
            more = f", {one.now}" if one.state in (Stand.HELD, Stand.BLOCKED) and one.now else ""
            yield f"{one.name}: {one.state}{more}"


class _Progress:
    """What is known of all when one of them is told."""

    def __init__(
        self,
        known: Mapping[Key, WorkloadView],
        edges: Iterable[Edge[Key]],
        view: MigrationView | None,
        to: str,
    ) -> None:
        self.graph = Graph(known, edges)
        self.begun = view is not None
        self.lines = {one.key: one for one in view.waiting} if view else {}
        self.moved = {key: _moved(one, to) for key, one in known.items()}

    def needs(self, key: Key) -> list[Key]:
        return [edge.dependency for edge in self.graph.dependencies(key)]

    def arrived(self, key: Key) -> bool:
        """Its pods have, and the migration does not say that it has not."""
        share = self.moved[key]
        return self.begun and key not in self.lines and share.done == share.total

    def stand(self, key: Key, row: WorkloadView) -> Stand:
        if line := self.lines.get(key):
            # what it needs is told to have arrived before it is told to go itself
            its_turn = _waits(line) and all(map(self.arrived, self.needs(key)))
            return Stand.MOVING if its_turn else _STANDS[line.state]
        if self.arrived(key):
            return Stand.ARRIVED
        whole = row.state in (WorkloadState.READY, WorkloadState.IDLE)
        return Stand.READY if whole else Stand.STARTING


def _mover(progress: _Progress, key: Key, branch: str, row: WorkloadView) -> Mover:
    share, state = progress.moved[key], progress.stand(key, row)
    left = min(row.ready, row.desired) - share.done
    return Mover(
        key=key,
        branch=branch,
        state=state,
        moved=share.done,
        between=share.total - share.done - left,
        left=left,
        now=_now(progress, key, state),
    )


def _moved(one: WorkloadView, target: str) -> Share:
    ready = sum(on.pods.ready for on in one.versions if target and versions.reaches(on.version, target))
    return Share(min(ready, one.desired), one.desired)


def _waits(line: WaitingView) -> bool:
    """For other workloads, and for nothing else."""
    return line.state is api.WorkloadState.HELD and line.reason == _FOR_OTHERS


def _now(progress: _Progress, key: Key, state: Stand) -> str:
    """Of one that waits for others all of them; of others what is said of them, less their own name."""
    line = progress.lines.get(key)
    if line is None:
        return ""
    if line.state is api.WorkloadState.HELD and state is Stand.MOVING:
        return "its turn has come"
    waits = [
        f"{one[2] if one[1] == line.namespace else f'{one[1]}/{one[2]}'} {progress.moved[one]}"
        for one in progress.needs(key)
        if not progress.arrived(one)
    ]
    if state is Stand.HELD and waits:
        return f"waits for {', '.join(waits)}"
    return line.message.replace(f" of {line}", "")


def _tree(graph: Graph[Key]) -> list[tuple[Key, str]]:
    """Every workload once, with the branch that leads to it."""
    waves = graph.waves()
    wave_of = {key: number for number, wave in enumerate(waves.waves) for key in wave}
    under: defaultdict[Key | None, list[Key]] = defaultdict(list)
    for key in sorted(graph.nodes, key=lambda one: (one[1], natural(one[2]), one[0])):
        below = [edge.dependency for edge in graph.dependencies(key)]
        deepest = max((wave_of[one] for one in below if one in wave_of), default=-1)
        # a wave below its own, so that no circle leads back here
        fits = key in wave_of and 0 <= deepest < wave_of[key]
        under[next(one for one in below if wave_of.get(one) == deepest) if fits else None].append(key)
    return list(_walk(under))


def _walk(under: Mapping[Key | None, list[Key]]) -> Iterable[tuple[Key, str]]:
    """Depth first. Beside each key: its branch, and what stands before the branches of its own."""
    waiting = [(key, "", "") for key in reversed(under.get(None, []))]
    while waiting:
        key, branch, before = waiting.pop()
        yield key, branch
        others = [(one, f"{before}├ ", f"{before}│ ") for one in under.get(key, [])]
        if others:
            others[-1] = (others[-1][0], f"{before}└ ", f"{before}  ")
        waiting += reversed(others)
