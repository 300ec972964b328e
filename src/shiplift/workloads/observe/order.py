"""Which workloads may go now: the declared dependencies as a graph, and how far they are met."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from shiplift.api.workloads import Edge as EdgeSpec
from shiplift.api.workloads import WorkloadMigrationSpec
from shiplift.engine.graph import Edge, Graph, OnCycle, OnMissing, Progress
from shiplift.facts.custom import Custom
from shiplift.workloads.identity import WORKLOADS, WorkloadId, workload_id
from shiplift.workloads.model import Absent, Order, Tally, Unreadable
from shiplift.workloads.observe.absent import absent
from shiplift.workloads.observe.dependencies import Declared, gather, source_of

MOST_NAMED = 128


class Ordering:
    """Builds an `Order`, and builds only as much of it again as has changed."""

    def __init__(self) -> None:
        self._declared: tuple[object, ...] = ()
        self._met: tuple[object, ...] = ()
        self._order: Order | None = None

    def order(
        self,
        spec: WorkloadMigrationSpec,
        tallies: Mapping[WorkloadId, Tally],
        orders: Collection[Custom],
        met: tuple[str, ...],
        declarations: int,
        unreadable: tuple[Unreadable, ...] = (),
    ) -> Order:
        """The order for these declarations; `met` names workloads by uid. A workload
        that depends on one that cannot be read waits: it is there, and has not been seen to arrive."""
        unknown = _workloads(unreadable)
        declared = (declarations, spec.on_cycle, spec.on_missing, unknown)
        if self._order is None or declared != self._declared:
            self._order = _analysed(spec, tallies, orders, met, unknown)
        elif met != self._met:
            self._order = _progressed(self._order, tallies, met)
        self._declared, self._met = declared, met
        return self._order


def _analysed(
    spec: WorkloadMigrationSpec,
    tallies: Mapping[WorkloadId, Tally],
    orders: Collection[Custom],
    met: tuple[str, ...],
    unknown: tuple[WorkloadId, ...],
) -> Order:
    ids = sorted(tallies)
    found = gather((Declared(id_, (row := tallies[id_].row).annotations, row.labels) for id_ in ids), orders)
    graph = Graph(
        sorted({*ids, *unknown}),
        found.edges,
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
    return _progressed(
        _Analysis(
            graph,
            {id_: number for number, wave in enumerate(graph.waves().waves) for id_ in wave},
            tuple(f"{one.about}: {one.message}" for one in found.problems[:MOST_NAMED]),
            _named(closing),
            _named(missing),
            nowhere[:MOST_NAMED],
        ),
        tallies,
        met,
    )


class _Analysis(NamedTuple):
    """What does not depend on how far things are."""

    graph: Graph[WorkloadId]
    depth: Mapping[WorkloadId, int]
    problems: tuple[str, ...]
    cycles: tuple[EdgeSpec, ...]
    missing: tuple[EdgeSpec, ...]
    absent: tuple[Absent, ...]


def _progressed(known: Order | _Analysis, tallies: Mapping[WorkloadId, Tally], met: tuple[str, ...]) -> Order:
    arrived = set(met)
    done = {id_ for id_, one in tallies.items() if one.skipped or one.row.uid in arrived}
    progress = Progress(known.graph, done)
    ready, gone = frozenset(tallies.keys() & progress.ready), frozenset(done)
    return Order(
        graph=known.graph,
        progress=progress,
        ready=ready,
        met=gone,
        open=ready | gone,
        ours=frozenset(id_ for id_, one in tallies.items() if not one.skipped),
        depth=known.depth,
        problems=known.problems,
        cycles=known.cycles,
        missing=known.missing,
        absent=known.absent,
    )


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
