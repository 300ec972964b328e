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
_NEVER = -1
"""The wave of what cannot go."""


class OnCycle(enum.Enum):
    """What becomes of a cycle."""

    COLLAPSE = "Collapse"
    """Its members move together, once everything outside that any of them needs is met; who needs one of them
    waits for all."""
    STOP = "Stop"
    """Its members, and all that depend on them, wait for a person."""


class OnMissing(enum.Enum):
    """What becomes of a dependency that does not exist."""

    BLOCK = "Block"
    IGNORE = "Ignore"


class Edge(msgspec.Struct, Generic[K], frozen=True, gc=False):
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


class Graph(Generic[K]):
    """An immutable graph, analysed once; `Progress` walks it.

    Inside, keys are numbers: the hash of a key is the dearest thing here, and an edge pays for it just twice.
    """

    def __init__(
        self,
        nodes: Iterable[K],
        edges: Iterable[Edge[K]],
        *,
        on_cycle: OnCycle = OnCycle.COLLAPSE,
        on_missing: OnMissing = OnMissing.BLOCK,
    ) -> None:
        self.nodes: tuple[K, ...] = tuple(dict.fromkeys(nodes))
        self.number: dict[K, int] = {node: number for number, node in enumerate(self.nodes)}
        self.unknown: dict[K, list[Edge[K]]] = {}
        """Keys that edges name and that do not exist, with those edges."""
        self._edges, self._ends = _without_soft_in_cycles(*self._sort_out(edges))
        members = components(self._ends)
        self._group_of = _numbered(members, len(self.nodes))
        together = on_cycle is OnCycle.COLLAPSE
        self._rings = {number: own for number, own in enumerate(members) if together and len(own) > 1}
        missing = self._missing() if on_missing is OnMissing.BLOCK else {}
        self.groups: list[Group[K]] = [
            self._grouped(number, own, missing) for number, own in enumerate(members)
        ]
        """What moves at once, dependencies first."""
        found = {number: self._cycle(own) for number, own in enumerate(self.groups) if self._goes_round(own)}
        self.cycles: tuple[Cycle[K], ...] = tuple(
            sorted(found.values(), key=lambda cycle: self.number[cycle.members[0]])
        )
        self.stopped: dict[int, Cycle[K]] = found if on_cycle is OnCycle.STOP else {}

    def dependencies(self, key: K) -> tuple[Edge[K], ...]:
        """The edges that this key itself has to wait for."""
        return tuple(self._edges[self.number[key]])

    def group(self, key: K) -> int:
        """The number of the group that the key moves with."""
        return self._group_of[self.number[key]]

    def waves(self) -> Waves[K]:
        """Everything as early as it can go."""
        wave_of: list[int] = []
        order: list[list[int]] = []
        never: list[int] = []
        for number, group in enumerate(self.groups):
            below = [wave_of[self._group_of[end]] for end in group.ends]
            if group.missing or number in self.stopped or _NEVER in below:
                wave_of.append(_NEVER)
                never += group.members
                continue
            wave = max(below) + 1 if below else 0
            wave_of.append(wave)
            order += [[] for _ in range(wave + 1 - len(order))]
            order[wave] += group.members
        return Waves(tuple(self.named(wave) for wave in order), self.named(never))

    def named(self, numbers: Iterable[int]) -> tuple[K, ...]:
        """These keys, in the order in which the nodes were given."""
        return tuple(self.nodes[number] for number in sorted(numbers))

    def _sort_out(self, edges: Iterable[Edge[K]]) -> tuple[list[list[Edge[K]]], list[list[int]]]:
        """For each key the edges that leave it, and beside them the numbers of the keys that they lead to."""
        leaving: list[list[Edge[K]]] = [[] for _ in self.nodes]
        ends: list[list[int]] = [[] for _ in self.nodes]
        number = self.number.get
        for edge in edges:
            start, end = number(edge.dependent), number(edge.dependency)
            if start is None or end is None:
                self._note_unknown(edge)
            else:
                leaving[start].append(edge)
                ends[start].append(end)
        return leaving, ends

    def _note_unknown(self, edge: Edge[K]) -> None:
        for key in dict.fromkeys((edge.dependent, edge.dependency)):
            if key not in self.number:
                self.unknown.setdefault(key, []).append(edge)

    def _grouped(self, number: int, members: list[int], missing: dict[int, list[Edge[K]]]) -> Group[K]:
        members.sort()
        if len(members) == 1 and not self._rings and members[0] not in self._ends[members[0]]:
            node = members[0]
            return Group(members, self._edges[node], self._ends[node], missing.get(node, []))
        out = [
            (edge, end)
            for node in members
            for edge, end in zip(self._edges[node], self._ends[node], strict=True)
            if self._group_of[end] != number
        ]
        out += self._fellows(out)
        absent = [edge for node in members for edge in missing.get(node, ())]
        return Group(members, [edge for edge, _ in out], [end for _, end in out], absent)

    def _fellows(self, out: list[tuple[Edge[K], int]]) -> list[tuple[Edge[K], int]]:
        """A cycle is met as it moves, as one: who needs one of its members waits for all of them."""
        named = {end for _, end in out}
        found: dict[int, Edge[K]] = {}
        for edge, end in out:
            for fellow in self._rings.get(self._group_of[end], ()):
                if fellow not in named and fellow not in found:
                    found[fellow] = Edge(edge.dependent, self.nodes[fellow], edge.origin, edge.soft)
        return [(edge, end) for end, edge in found.items()]

    def _missing(self) -> dict[int, list[Edge[K]]]:
        """Hard edges to what does not exist, by the number of their dependent."""
        found: dict[int, list[Edge[K]]] = {}
        for key, edges in self.unknown.items():
            for edge in edges:
                if edge.dependency == key and edge.dependent in self.number and not edge.soft:
                    found.setdefault(self.number[edge.dependent], []).append(edge)
        return found

    def _goes_round(self, group: Group[K]) -> bool:
        return len(group.members) > 1 or group.members[0] in self._ends[group.members[0]]

    def _cycle(self, group: Group[K]) -> Cycle[K]:
        inside = set(group.members)
        back = back_edges(group.members, self._ends)
        edges: list[Edge[K]] = []
        for start in group.members:
            edges += [
                edge for edge, end in zip(self._edges[start], self._ends[start], strict=True) if end in inside
            ]
        closing = tuple(self._edges[start][place] for start, place in sorted(back))
        return Cycle(self.named(group.members), tuple(edges), closing)


class Group(msgspec.Struct, Generic[K], frozen=True, gc=False):
    """What moves at once: one key, or the members of a cycle, as numbers in order.

    `needs` leads out of it, to the keys whose numbers are in `ends`; `missing` leads to what does not exist,
    where that blocks.
    """

    members: list[int]
    needs: list[Edge[K]]
    ends: list[int]
    missing: list[Edge[K]]


def _numbered(groups: list[list[int]], size: int) -> list[int]:
    group_of = [0] * size
    for number, members in enumerate(groups):
        for member in members:
            group_of[member] = number
    return group_of


def _without_soft_in_cycles(
    leaving: list[list[Edge[K]]], ends: list[list[int]]
) -> tuple[list[list[Edge[K]]], list[list[int]]]:
    if not any(edge.soft for own in leaving for edge in own):
        return leaving, ends
    group_of = _numbered(components(ends), len(ends))
    kept = [
        [
            (edge, end)
            for edge, end in zip(own, to, strict=True)
            if not edge.soft or group_of[end] != group_of[node]
        ]
        for node, (own, to) in enumerate(zip(leaving, ends, strict=True))
    ]
    return [[edge for edge, _ in own] for own in kept], [[end for _, end in own] for own in kept]


class Progress(Generic[K]):
    """Who is met and who may go, kept up to date one key at a time. What is met stays met.

    A dependency that was met and has since been deleted counts as met, so its end blocks nobody.
    """

    def __init__(self, graph: Graph[K], met: Iterable[K] = ()) -> None:
        self._graph = graph
        self._met = set(met)
        done = {graph.number[key] for key in self._met if key in graph.number}
        self._waiting_for: list[list[int]] = [[] for _ in graph.nodes]
        self._unmet: list[int] = []
        self._ready: set[int] = set()
        for number, group in enumerate(graph.groups):
            ends = [end for end in group.ends if end not in done] if done else group.ends
            for end in ends:
                self._waiting_for[end].append(number)
            unmet = len(ends) + (number in graph.stopped)
            if group.missing:
                unmet += sum(edge.dependency not in self._met for edge in group.missing)
            self._unmet.append(unmet)
            if not unmet:
                self._ready.update([member for member in group.members if member not in done])

    @property
    def ready(self) -> tuple[K, ...]:
        """Keys that may go now: not met themselves, and waiting for nothing."""
        return self._graph.named(self._ready)

    def met(self, key: K) -> bool:
        return key in self._met

    def meet(self, key: K) -> tuple[K, ...]:
        """Note that the key is met and return those that may go because of it."""
        if key in self._met or key not in self._graph.number:
            return ()
        self._met.add(key)
        number = self._graph.number[key]
        self._ready.discard(number)
        freed: list[int] = []
        for group in self._waiting_for[number]:
            self._unmet[group] -= 1
            if self._unmet[group] == 0:
                freed += [own for own in self._graph.groups[group].members if self._is_open(own)]
        self._ready.update(freed)
        return self._graph.named(freed)

    def _is_open(self, number: int) -> bool:
        return self._graph.nodes[number] not in self._met

    def waits_for(self, key: K) -> tuple[Edge[K], ...]:
        """The edges that keep the key from going, its own first; and what closes a stopped cycle."""
        number = self._graph.group(key)
        group = self._graph.groups[number]
        unmet = [edge for edge in (*group.needs, *group.missing) if edge.dependency not in self._met]
        unmet.sort(key=lambda edge: edge.dependent != key)
        stopped = self._graph.stopped.get(number)
        return (*unmet, *(stopped.closing if stopped else ()))
