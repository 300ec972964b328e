"""What really became of nodes and of what runs on them: it takes nobody's word for it, not the operator's.

The API server tells the changes of all nodes in one order, and those of all pods in one: how many nodes were
away at one moment, and whether a workload was below its budget at one, are matters of fact.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec

from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.facts.nodes import Node, is_control_plane
from shiplift.facts.pods import Pod
from shiplift.facts.workloads import PodDisruptionBudget

R = TypeVar("R", bound=Row)
_KINDS: dict[type[Row], Kind] = {
    Node: kinds.NODE,
    Pod: kinds.POD,
    PodDisruptionBudget: kinds.POD_DISRUPTION_BUDGET,
}
"""What is followed."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """How the change of the nodes went."""

    source: str
    target: str
    changed: Mapping[str, int]
    """How often each node came to another version."""
    workers: int
    away: int
    """How many workers were away at once, at most."""
    allowed: int
    """How many of them might be."""
    control_planes: int
    control_planes_away: int
    moves: int
    """How many pods were given a node since it began."""
    below: tuple[str, ...]
    """PodDisruptionBudgets that had fewer healthy pods than they need, at some moment."""

    @property
    def once_each(self) -> bool:
        return all(times == 1 for times in self.changed.values())

    @property
    def broken(self) -> bool:
        too_many = self.away > self.allowed or self.control_planes_away > 1
        return bool(self.below) or too_many or not self.once_each

    @property
    def told(self) -> tuple[tuple[str, str], ...]:
        times = "each once" if self.once_each else "not each once"
        below = (
            f"not kept: {', '.join(self.below)}" if self.below else "kept: no workload was ever below its own"
        )
        planes = f"{self.control_planes_away} of {self.control_planes} control planes"
        return (
            ("nodes", f"{len(self.changed)} changed in place from {self.source} to {self.target}: {times}"),
            ("away", f"at most {self.away} of {self.workers} workers and {planes} at once"),
            ("budgets", below),
            ("moves", f"{self.moves} times a pod was given another node"),
            ("left", "nothing: no cordon, order or desired version of ours"),
        )


class NodeWitness:
    """Follows every change of a node, a pod and a budget from the first on; to be subscribed to a store."""

    def __init__(self, source: str, target: str, allowed: int) -> None:
        """From which version to which, and how many workers may be away at once."""
        self._source, self._target, self._allowed = source, target, allowed
        self._one_at_a_time = threading.Lock()
        self._rows: dict[Kind, dict[str, Row]] = {kind: {} for kind in _KINDS.values()}
        self._needed: dict[str, tuple[PodDisruptionBudget, int]] = {}
        self._changed: Counter[str] = Counter()
        self._away: Counter[bool] = Counter()
        self._moves = 0
        self._below: dict[str, None] = {}
        self._begun = self._closed = False

    def begin(self) -> None:
        """What happens from now on is the operator's doing; budgets need what they need now."""
        with self._one_at_a_time:
            self._needed = {one.name: (one, one.desired_healthy) for one in self._all(PodDisruptionBudget)}
            self._begun = True

    def heard(self, kind: Kind, old: Row | None, new: Row | None) -> None:
        with self._one_at_a_time:
            if self._closed or kind not in self._rows:
                return
            self._follow(kind, old, new)
            if self._begun and kind == kinds.NODE:
                self._look_at_nodes(old, new)
            elif self._begun and kind == kinds.POD:
                self._look_at_pods(old, new)

    def verdict(self) -> Verdict:
        """The last word: nothing is written down any more."""
        with self._one_at_a_time:
            self._closed = True
        planes = Counter(is_control_plane(node) for node in self._all(Node))
        return Verdict(
            source=self._source,
            target=self._target,
            changed={node.name: self._changed[node.name] for node in self._all(Node)},
            workers=planes[False],
            away=self._away[False],
            allowed=self._allowed,
            control_planes=planes[True],
            control_planes_away=self._away[True],
            moves=self._moves,
            below=tuple(self._below),
        )

    def _follow(self, kind: Kind, old: Row | None, new: Row | None) -> None:
        if old is not None:
            self._rows[kind].pop(old.uid, None)
        if new is not None:
            self._rows[kind][new.uid] = new

    def _look_at_nodes(self, old: Row | None, new: Row | None) -> None:
        if isinstance(old, Node) and isinstance(new, Node):
            self._changed[new.name] += old.kubelet_version != new.kubelet_version
        away = Counter(is_control_plane(one) for one in self._all(Node) if one.unschedulable or not one.ready)
        self._away |= away

    def _look_at_pods(self, old: Row | None, new: Row | None) -> None:
        self._moves += isinstance(new, Pod) and bool(new.node) and not (isinstance(old, Pod) and old.node)
        healthy = [one for one in self._all(Pod) if one.ready and not one.deleting]
        for budget, needed in self._needed.values():
            if sum(_covers(budget, pod) for pod in healthy) < needed:
                self._below[budget.name] = None

    def _all(self, rows: type[R]) -> Iterable[R]:
        return [row for row in self._rows[_KINDS[rows]].values() if isinstance(row, rows)]


def _covers(budget: PodDisruptionBudget, pod: Pod) -> bool:
    return pod.namespace == budget.namespace and budget.selects(pod.labels)
