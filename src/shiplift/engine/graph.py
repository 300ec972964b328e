"""The dependency graph: who waits for whom, who said so, and who may go now.

What is kept true: a key is ready only when everything it depends on is met; every edge keeps where it came
from; a cycle is found as the strongly connected component it is, with the edges that close it, and moves as
one or not at all; a dependency that does not exist is named and blocks its dependents only. Nothing here
recurses, and the order of everything returned follows the order of the nodes that were given.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

import msgspec

from shiplift.engine.components import back_edges, components

K = TypeVar("K", bound=Hashable)


class OnCycle(enum.Enum):
    """What becomes of a cycle."""

    COLLAPSE = "Collapse"
    """Its members move together, once everything outside that any of them needs is met."""
    STOP = "Stop"
    """Its members, and all that depend on them, wait for a person."""


class OnMissing(enum.Enum):
    """What becomes of a dependency that does not exist."""

    BLOCK = "Block"
    IGNORE = "Ignore"


class Edge(msgspec.Struct, Generic[K], frozen=True):
    """`dependent` waits for `dependency`; `origin` says where that was written.

    A soft edge is a wish: it gives way where it would close a cycle or name something that does not exist.
    """

    dependent: K
    dependency: K
    origin: str
    soft: bool = False


class Cycle(msgspec.Struct, Generic[K], frozen=True):
    """Keys that wait for each other, all the edges among them, and those that close the circle."""

    members: tuple[K, ...]
    edges: tuple[Edge[K], ...]
    closing: tuple[Edge[K], ...]


class Waves(msgspec.Struct, Generic[K], frozen=True):
    """The order for display: each wave needs only the ones before it; `never` cannot go as things are."""

    waves: tuple[tuple[K, ...], ...]
    never: tuple[K, ...]


class Group(msgspec.Struct, Generic[K], frozen=True):
    """What moves at once: one key, or the members of a cycle; with the edges that lead out of it.

    `missing` are its edges to what does not exist, where those block.
    """

    members: tuple[K, ...]
    needs: tuple[Edge[K], ...]
    missing: tuple[Edge[K], ...] = ()
    stopped: Cycle[K] | None = None


class Graph(Generic[K]):
    """An immutable graph, analysed once; `Progress` walks it."""

    def __init__(
        self,
        nodes: Iterable[K],
        edges: Iterable[Edge[K]],
        *,
        on_cycle: OnCycle = OnCycle.COLLAPSE,
        on_missing: OnMissing = OnMissing.BLOCK,
    ) -> None:
        self.nodes: tuple[K, ...] = tuple(dict.fromkeys(nodes))
        self.unknown: dict[K, list[Edge[K]]] = {}
        """Keys that edges name and that do not exist, with those edges."""
        self.order: dict[K, int] = {node: number for number, node in enumerate(self.nodes)}
        known = self._without_soft_in_cycles(self._sort_out(edges))
        self._edges_of: dict[K, list[Edge[K]]] = {node: [] for node in self.nodes}
        for edge in known:
            self._edges_of[edge.dependent].append(edge)
        self.group_of, members = self._grouped(known)
        found = {group: cycle for group, own in enumerate(members) if (cycle := self._cycle(group, own))}
        self.cycles: tuple[Cycle[K], ...] = self._in_order(found.values())
        stopped = found if on_cycle is OnCycle.STOP else {}
        missing = self._missing() if on_missing is OnMissing.BLOCK else {}
        self.groups: list[Group[K]] = [
            Group(own, self._leading_out(group, own), tuple(missing.get(group, ())), stopped.get(group))
            for group, own in enumerate(members)
        ]
        """Dependencies come before what depends on them."""

    def dependencies(self, key: K) -> tuple[Edge[K], ...]:
        """The edges that this key itself has to wait for."""
        return tuple(self._edges_of[key])

    def waves(self) -> Waves[K]:
        """Everything as early as it can go."""
        wave_of: dict[int, int] = {}
        order: list[list[K]] = []
        never: list[K] = []
        for number, group in enumerate(self.groups):
            below = [wave_of.get(self.group_of[edge.dependency]) for edge in group.needs]
            if group.missing or group.stopped or None in below:
                never += group.members
                continue
            wave = max((number for number in below if number is not None), default=-1) + 1
            wave_of[number] = wave
            order += [[] for _ in range(wave + 1 - len(order))]
            order[wave] += group.members
        return Waves(tuple(self.sorted(wave) for wave in order), self.sorted(never))

    def sorted(self, keys: Iterable[K]) -> tuple[K, ...]:
        """These keys in the order in which the nodes were given."""
        return tuple(sorted(keys, key=self.order.__getitem__))

    def _sort_out(self, edges: Iterable[Edge[K]]) -> list[Edge[K]]:
        known: list[Edge[K]] = []
        order = self.order
        for edge in edges:
            if edge.dependent in order and edge.dependency in order:
                known.append(edge)
                continue
            for key in {edge.dependent: None, edge.dependency: None}:
                if key not in order:
                    self.unknown.setdefault(key, []).append(edge)
        return known

    def _without_soft_in_cycles(self, known: list[Edge[K]]) -> list[Edge[K]]:
        if not any(edge.soft for edge in known):
            return known
        group_of, _ = self._grouped(known)
        return [
            edge for edge in known if not edge.soft or group_of[edge.dependent] != group_of[edge.dependency]
        ]

    def _grouped(self, edges: Iterable[Edge[K]]) -> tuple[dict[K, int], list[tuple[K, ...]]]:
        below: list[list[int]] = [[] for _ in self.nodes]
        for edge in edges:
            below[self.order[edge.dependent]].append(self.order[edge.dependency])
        members = [tuple(self.nodes[number] for number in sorted(group)) for group in components(below)]
        return {node: group for group, own in enumerate(members) for node in own}, members

    def _cycle(self, group: int, members: tuple[K, ...]) -> Cycle[K] | None:
        group_of = self.group_of
        edges = [
            edge for node in members for edge in self._edges_of[node] if group_of[edge.dependency] == group
        ]
        if not edges:
            return None
        pairs = [(self.order[edge.dependent], self.order[edge.dependency]) for edge in edges]
        closing = back_edges([self.order[node] for node in members], pairs)
        return Cycle(members, tuple(edges), tuple(edges[number] for number in closing))

    def _in_order(self, cycles: Iterable[Cycle[K]]) -> tuple[Cycle[K], ...]:
        return tuple(sorted(cycles, key=lambda cycle: self.order[cycle.members[0]]))

    def _leading_out(self, group: int, members: tuple[K, ...]) -> tuple[Edge[K], ...]:
        group_of = self.group_of
        edges = self._edges_of
        return tuple([edge for node in members for edge in edges[node] if group_of[edge.dependency] != group])

    def _missing(self) -> dict[int, list[Edge[K]]]:
        found: dict[int, list[Edge[K]]] = {}
        for key, edges in self.unknown.items():
            for edge in edges:
                if edge.dependency == key and edge.dependent in self.order and not edge.soft:
                    found.setdefault(self.group_of[edge.dependent], []).append(edge)
        return found


class Progress(Generic[K]):
    """Who is met and who may go, kept up to date one key at a time. What is met stays met.

    A dependency that was met and has since been deleted counts as met, so its end blocks nobody.
    """

    def __init__(self, graph: Graph[K], met: Iterable[K] = ()) -> None:
        self._graph = graph
        self._met = set(met)
        self._dependents: dict[K, list[int]] = {}
        self._unmet: list[int] = []
        for number, group in enumerate(graph.groups):
            waits = [edge.dependency for edge in (*group.needs, *group.missing)]
            waits = [key for key in waits if key not in self._met]
            self._unmet.append(len(waits) + (group.stopped is not None))
            for key in waits:
                self._dependents.setdefault(key, []).append(number)
        free = (group for group, waits in zip(graph.groups, self._unmet, strict=True) if waits == 0)
        self._ready = {key for group in free for key in group.members if key not in self._met}

    @property
    def ready(self) -> tuple[K, ...]:
        """Keys that may go now: not met themselves, and waiting for nothing."""
        return self._graph.sorted(self._ready)

    def met(self, key: K) -> bool:
        return key in self._met

    def meet(self, key: K) -> tuple[K, ...]:
        """Note that the key is met and return those that may go because of it."""
        if key in self._met:
            return ()
        self._met.add(key)
        self._ready.discard(key)
        freed: list[K] = []
        for number in self._dependents.pop(key, ()):
            self._unmet[number] -= 1
            if self._unmet[number] == 0:
                freed += [member for member in self._graph.groups[number].members if member not in self._met]
        self._ready.update(freed)
        return self._graph.sorted(freed)

    def waits_for(self, key: K) -> tuple[Edge[K], ...]:
        """The edges that keep the key from going, its own first; in a stopped cycle also those that close it."""
        group = self._graph.groups[self._graph.group_of[key]]
        open_edges = [edge for edge in (*group.needs, *group.missing) if edge.dependency not in self._met]
        open_edges.sort(key=lambda edge: edge.dependent != key)
        return (*open_edges, *(group.stopped.closing if group.stopped else ()))
