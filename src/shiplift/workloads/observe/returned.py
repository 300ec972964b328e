"""Workloads that have arrived and of which pods are on old nodes again: somebody sent them there, or nothing
kept them off.

They stay arrived for those that depend on them. They count as back until they are whole on target nodes
again, and until a surge that moved them is over. After a restart the status names those that were moved when
it was written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from shiplift.api.workloads import WorkloadStatus
from shiplift.workloads.identity import WorkloadId, workload_id
from shiplift.workloads.model import Order, Placement, Tally


class Counted(Protocol):
    """What is asked of the sums over the cluster."""

    tallies: dict[WorkloadId, Tally]
    away: set[WorkloadId]
    """Workloads with pods on old nodes."""
    recounted: Collection[WorkloadId]
    """Workloads that were counted since the last look."""


class Returned:
    """Remembers them; each look costs as much as has changed since the last one."""

    def __init__(self) -> None:
        self._order: Order | None = None
        self._back: set[WorkloadId] = set()

    def look(
        self,
        order: Order,
        counted: Counted,
        placements: Mapping[str, Placement],
        told: Iterable[WorkloadStatus],
    ) -> frozenset[WorkloadId]:
        """Those that are back; `told` are the lines of the status."""
        if self._order is None:
            self._back.update(workload_id(one.kind.value, one.namespace, one.name) for one in told)
        away = counted.away
        news = away if order is not self._order else [id_ for id_ in counted.recounted if id_ in away]
        if news:
            self._back.update(order.met.intersection(news))
        self._order = order
        if self._back:
            self._back = {id_ for id_ in self._back & order.met if _is_back(id_, counted, placements)}
        return frozenset(self._back)


def _is_back(id_: WorkloadId, counted: Counted, placements: Mapping[str, Placement]) -> bool:
    tally = counted.tallies.get(id_)
    return tally is not None and not tally.skipped and not _is_whole(tally, placements)


def _is_whole(tally: Tally, placements: Mapping[str, Placement]) -> bool:
    placement = placements.get(tally.id.namespace)
    record = placement.records.get(tally.id.owner_key) if placement else None
    return tally.complete and (record is None or record.surge is None)
