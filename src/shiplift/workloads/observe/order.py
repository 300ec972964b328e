"""Which workloads may go now: the declared dependencies as a graph, and how far they are met.

Nobody waits for a workload of an excluded namespace: it is there, and is not moved. One that has arrived
counts as arrived also when it is deleted later; its name is in the status for as long as somebody needs it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import msgspec

from shiplift.api.workloads import Edge as EdgeSpec
from shiplift.api.workloads import WorkloadMigrationSpec
from shiplift.engine.graph import Edge, Graph, OnCycle, OnMissing, Progress
from shiplift.facts.custom import Custom
from shiplift.workloads.identity import WORKLOADS, WorkloadId, named, workload_id
from shiplift.workloads.model import Absent, Order, Tally, Unreadable
from shiplift.workloads.observe.absent import absent, like
from shiplift.workloads.observe.dependencies import Declared, Problem, gather, source_of

MOST_NAMED = 128


class Arrived(msgspec.Struct, frozen=True):
    """What the status says of who has arrived."""

    met: tuple[str, ...] = ()
    """By uid."""
    relied_on: tuple[str, ...] = ()
    """By name: those that others depend on."""


class Ordering:
    """Builds an `Order`, and builds only as much of it again as has changed."""

    def __init__(self) -> None:
        self._declared: tuple[object, ...] = ()
        self._arrived = Arrived()
        self._analysis: _Analysis | None = None
        self._order: Order | None = None

    def order(
        self,
        spec: WorkloadMigrationSpec,
        tallies: Mapping[WorkloadId, Tally],
        orders: Collection[Custom],
        arrived: Arrived,
        declarations: int,
        unreadable: tuple[Unreadable, ...] = (),
        left_alone: Collection[WorkloadId] = (),
    ) -> Order:
        """The order for these declarations. A workload that depends on one that cannot be read waits: it is
        there, and has not been seen to arrive. Nobody waits for those that are left alone."""
        unknown = _workloads(unreadable)
        declared = (declarations, spec.on_cycle, spec.on_missing, unknown)
        if self._analysis is None or declared != self._declared:
            self._analysis = _analysed(spec, tallies, orders, unknown, frozenset(left_alone))
            self._order = None
        if self._order is None or arrived != self._arrived:
            self._order = _progressed(self._analysis, tallies, arrived)
        self._declared, self._arrived = declared, arrived
        return self._order


def _analysed(
    spec: WorkloadMigrationSpec,
    tallies: Mapping[WorkloadId, Tally],
    orders: Collection[Custom],
    unknown: tuple[WorkloadId, ...],
    left_alone: frozenset[WorkloadId],
) -> _Analysis:
    ids = sorted(tallies)
    found = gather((Declared(id_, (row := tallies[id_].row).annotations, row.labels) for id_ in ids), orders)
    edges = [one for one in found.edges if one.dependency not in left_alone] if left_alone else found.edges
    graph = Graph(
        sorted({*ids, *unknown}),
        edges,
        on_cycle=OnCycle(spec.on_cycle.value),
        on_missing=OnMissing(spec.on_missing.value),
    )
    closing = [edge for cycle in graph.cycles for edge in cycle.closing]
    missing = [
        edge
        for key, edges in graph.unknown.items()
        for edge in edges
        if edge.dependency == key and edge.dependent in graph.number and not edge.soft
    ]
    nowhere = absent(orders, graph.number, spec.exclude_namespaces)
    return _Analysis(
        graph,
        {id_: number for number, wave in enumerate(graph.waves().waves) for id_ in wave},
        tuple(f"{one.about}: {one.message}" for one in found.problems[:MOST_NAMED]),
        _named(closing),
        missing,
        nowhere[:MOST_NAMED],
        frozenset((edge.dependent, edge.dependency) for cycle in graph.cycles for edge in cycle.edges),
        _by_order(nowhere),
        _by_subject(found.problems),
        like((edge.dependency for edge in missing), graph.number),
    )


class _Analysis(NamedTuple):
    """What does not depend on how far things are."""

    graph: Graph[WorkloadId]
    depth: Mapping[WorkloadId, int]
    problems: tuple[str, ...]
    cycles: tuple[EdgeSpec, ...]
    missing: list[Edge[WorkloadId]]
    """Dependencies that do not exist."""
    absent: tuple[Absent, ...]
    circular: frozenset[tuple[WorkloadId, WorkloadId]]
    absent_of: Mapping[str, tuple[Absent, ...]]
    problems_of: Mapping[str, tuple[str, ...]]
    like: Mapping[WorkloadId, WorkloadId]


def _by_order(nowhere: Iterable[Absent]) -> Mapping[str, tuple[Absent, ...]]:
    found: dict[str, list[Absent]] = {}
    for one in nowhere:
        found.setdefault(one.order, []).append(one)
    return {order: tuple(those) for order, those in found.items()}


def _by_subject(problems: Iterable[Problem]) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for one in problems:
        found.setdefault(one.about, []).append(f"{one.about}: {one.message}")
    return {about: tuple(texts) for about, texts in found.items()}


def _progressed(known: _Analysis, tallies: Mapping[WorkloadId, Tally], arrived: Arrived) -> Order:
    met = set(arrived.met)
    done = {id_ for id_, one in tallies.items() if one.skipped or one.row.uid in met}
    gone = frozenset(_gone(known.graph, arrived.relied_on)) if known.missing else frozenset[WorkloadId]()
    progress = Progress(known.graph, done | gone if gone else done)
    ready, there = frozenset(tallies.keys() & progress.ready), frozenset(done)
    return Order(
        graph=known.graph,
        progress=progress,
        ready=ready,
        met=there,
        open=ready | there,
        ours=frozenset(id_ for id_, one in tallies.items() if not one.skipped),
        depth=known.depth,
        problems=known.problems,
        cycles=known.cycles,
        missing=_named(_still_missing(known.missing, gone, done)),
        gone=gone,
        absent=known.absent,
        circular=known.circular,
        absent_of=known.absent_of,
        problems_of=known.problems_of,
        like=known.like,
    )


def _still_missing(
    missing: Iterable[Edge[WorkloadId]], gone: Collection[WorkloadId], done: Collection[WorkloadId]
) -> list[Edge[WorkloadId]]:
    """Those that somebody waits for: who has arrived needs nobody any more."""
    return [edge for edge in missing if edge.dependency not in gone and edge.dependent not in done]


def _gone(graph: Graph[WorkloadId], relied_on: Iterable[str]) -> Iterable[WorkloadId]:
    """Those that have arrived and are not there any more."""
    return (id_ for id_ in map(named, relied_on) if id_ in graph.unknown)


def _workloads(unreadable: tuple[Unreadable, ...]) -> tuple[WorkloadId, ...]:
    kinds = {kind: name for name, kind in WORKLOADS.items()}
    return tuple(
        workload_id(kinds[one.kind], one.namespace, one.name) for one in unreadable if one.kind in kinds
    )


def _named(edges: list[Edge[WorkloadId]]) -> tuple[EdgeSpec, ...]:
    return tuple(
        EdgeSpec(
            dependent=str(edge.dependent)[:256],
            dependency=str(edge.dependency)[:256],
            source=source_of(edge.origin),
        )
        for edge in edges[:MOST_NAMED]
    )
