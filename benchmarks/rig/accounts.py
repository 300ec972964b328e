"""What one contender did to the pods, from what was seen of them, event by event in the server's own order.

All of it comes from one watch of pods, so that "before" and "after" are the API server's, not ours. A
workload counts as moved once every pod of it is Ready on a new node and no other is left; from then on, for
good. A pod that is bound to a new node while a dependency of its workload has not moved violates the order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec


class Workload(Protocol):
    """What the account has to know of a workload; its pods carry its name as label `app`."""

    @property
    def name(self) -> str: ...

    @property
    def replicas(self) -> int: ...

    @property
    def least_healthy(self) -> int:
        """What its budget wants healthy at all times."""
        ...

    @property
    def depends_on(self) -> tuple[str, ...]: ...


class Seen(msgspec.Struct, frozen=True):
    """One pod at one moment; `gone` when it was deleted for good."""

    at: float
    uid: str
    app: str
    node: str
    pending: bool
    ready: bool
    deleting: bool
    gone: bool = False

    @property
    def healthy(self) -> bool:
        return self.ready and not self.deleting


class Account(msgspec.Struct, frozen=True):
    """What a contender did. Times are in seconds, summed over workloads or pods."""

    moves_per_pod: float
    order_violations: int
    under_pdb_s: float
    held_pending_s: float
    ready: tuple[float, ...] = ()
    """How long after the start each pod that came later was first Ready."""


class Ledger:
    """Replays events. Rows seen before `begin` are how it was at the start."""

    def __init__(self, workloads: Sequence[Workload], is_new: Iterable[str]) -> None:
        self._workloads = {one.name: one for one in workloads}
        self._dependents: dict[str, list[str]] = defaultdict(list)
        for one in workloads:
            for other in one.depends_on:
                self._dependents[other].append(one.name)
        self._new_nodes = frozenset(is_new)
        self._pods: dict[str, dict[str, Seen]] = {one.name: {} for one in workloads}
        self._initial: set[str] = set()
        self._bound: set[str] = set()
        self._violations: set[str] = set()
        self._ready: dict[str, float] = {}
        self._moved: set[str] = set()
        self._under: set[str] = set()
        self._held: dict[str, int] = {}
        self._now = self._began = 0.0
        self._begun = False
        self._under_s = self._held_s = 0.0

    def begin(self, at: float) -> None:
        """From here on it counts."""
        self._initial = {uid for pods in self._pods.values() for uid in pods}
        self._now = self._began = at
        self._begun = True
        for name in self._workloads:
            self._assess(name)

    def add(self, seen: Seen) -> None:
        if seen.app not in self._workloads:
            return
        if seen.gone:
            self._pods[seen.app].pop(seen.uid, None)
        else:
            self._pods[seen.app][seen.uid] = seen
        if self._begun:
            self._pass_to(seen.at)
            if seen.uid not in self._initial:
                self._note_later(seen)
            self._assess(seen.app)

    def at_target(self) -> bool:
        """Whether everything is where it should be now."""
        return all(self._is_moved(name) for name in self._workloads)

    def left(self) -> list[str]:
        """Workloads that are not where they should be."""
        return [name for name in self._workloads if not self._is_moved(name)]

    def close(self, at: float) -> Account:
        self._pass_to(at)
        return Account(
            moves_per_pod=len(self._bound) / max(1, len(self._initial)),
            order_violations=len(self._violations),
            under_pdb_s=self._under_s,
            held_pending_s=self._held_s,
            ready=tuple(sorted(self._ready.values())),
        )

    def _pass_to(self, at: float) -> None:
        passed, self._now = max(0.0, at - self._now), max(at, self._now)
        self._under_s += passed * len(self._under)
        self._held_s += passed * sum(self._held.values())

    def _note_later(self, seen: Seen) -> None:
        """A pod that was not there at the start: a move."""
        if seen.node and seen.uid not in self._bound and not seen.gone:
            self._bound.add(seen.uid)
            if seen.node in self._new_nodes and not self._may_move(seen.app):
                self._violations.add(seen.uid)
        if seen.healthy and not seen.gone:
            self._ready.setdefault(seen.uid, seen.at - self._began)

    def _assess(self, name: str) -> None:
        one, pods = self._workloads[name], self._pods[name].values()
        if name not in self._moved and self._is_moved(name):
            self._moved.add(name)
            for dependent in self._dependents[name]:
                self._assess(dependent)
        healthy = sum(pod.healthy for pod in pods)
        (self._under.add if healthy < one.least_healthy else self._under.discard)(name)
        waiting = 0 if self._may_move(name) else sum(pod.pending for pod in pods)
        self._held[name] = waiting

    def _is_moved(self, name: str) -> bool:
        pods = self._pods[name].values()
        return len(pods) == self._workloads[name].replicas and all(
            pod.healthy and pod.node in self._new_nodes for pod in pods
        )

    def _may_move(self, name: str) -> bool:
        return all(other in self._moved for other in self._workloads[name].depends_on)
