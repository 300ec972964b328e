"""Who may go now: the declared dependencies as a graph, and how far they are met."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shiplift.api.workloads import Edge as EdgeSpec
from shiplift.api.workloads import WorkloadMigrationSpec
from shiplift.engine.graph import Edge, Graph, OnCycle, OnMissing, Progress
from shiplift.facts.custom import Custom
from shiplift.workloads.dependencies import Declared, gather, source_of
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.model import Order, Tally

MOST_NAMED = 256


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
        orders: Iterable[Custom],
        met: tuple[str, ...],
        declarations: int,
    ) -> Order:
        """The order for these declarations; `met` names workloads by uid."""
        declared = (declarations, spec.on_cycle, spec.on_missing)
        if self._order is None or declared != self._declared:
            self._order = _analysed(spec, tallies, orders, met)
        elif met != self._met:
            self._order = _progressed(self._order, tallies, met)
        self._declared, self._met = declared, met
        return self._order


def _analysed(
    spec: WorkloadMigrationSpec,
    tallies: Mapping[WorkloadId, Tally],
    orders: Iterable[Custom],
    met: tuple[str, ...],
) -> Order:
    found = gather(
        (Declared(id_, one.row.annotations, one.row.labels) for id_, one in tallies.items()), orders
    )
    graph = Graph(
        sorted(tallies),
        found.edges,
        on_cycle=OnCycle(spec.on_cycle.value),
        on_missing=OnMissing(spec.on_missing.value),
    )
    depth = {id_: number for number, wave in enumerate(graph.waves().waves) for id_ in wave}
    closing = [edge for cycle in graph.cycles for edge in cycle.closing]
    absent = [
        edge
        for key, edges in graph.unknown.items()
        for edge in edges
        if edge.dependency == key and edge.dependent in graph.number and not edge.soft
    ]
    bare = Order(
        graph=graph,
        progress=Progress(graph),
        ready=frozenset(),
        met=frozenset(),
        depth=depth,
        problems=tuple(f"{one.about}: {one.message}" for one in found.problems[:MOST_NAMED]),
        cycles=_named(closing),
        missing=_named(absent),
    )
    return _progressed(bare, tallies, met)


def _progressed(order: Order, tallies: Mapping[WorkloadId, Tally], met: tuple[str, ...]) -> Order:
    known = set(met)
    done = {id_ for id_, one in tallies.items() if one.skipped or one.row.uid in known}
    progress = Progress(order.graph, done)
    return Order(
        graph=order.graph,
        progress=progress,
        ready=frozenset(progress.ready),
        met=frozenset(done),
        depth=order.depth,
        problems=order.problems,
        cycles=order.cycles,
        missing=order.missing,
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
