"""What became of a declared order: the status of each WorkloadOrder. It tells of what that order itself
declares, whatever others do, and of all of it: names are cut where they are written, not where they are
compared."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import cast

from shiplift.api.conditions import stated
from shiplift.api.orders import WorkloadOrder, WorkloadOrderStatus
from shiplift.api.workloads import Edge, EdgeSource
from shiplift.engine import conditions
from shiplift.engine.conditions import Reason, Statement
from shiplift.facts.custom import Custom
from shiplift.workloads.identity import WorkloadId, referenced
from shiplift.workloads.model import Absent, Order

_MOST = 256


class OrderReason(Reason):
    """Why an order can be followed, or not."""

    FOLLOWED = "Followed"
    """Every workload that it names is there, and none waits for itself."""
    MISSING = "Missing"
    """It names workloads that do not exist."""
    CYCLE = "Cycle"
    """Workloads that it names depend on each other."""
    PROBLEM = "Problem"
    """Something in it cannot be followed."""


def order_status(row: Custom, order: Order, now: datetime) -> WorkloadOrderStatus:
    """The status of one WorkloadOrder, from the whole graph."""
    declared = cast("WorkloadOrder", row.object)
    name = f"{row.namespace}/{row.name}"
    missing, cycles = _missing(row, order), _circular(row, order)
    absent = order.absent_of.get(name, ())
    problems = order.problems_of.get(f"WorkloadOrder {name}", ())
    nowhere = _nowhere(absent, dict.fromkeys(dependency for _, dependency in missing), order)
    statements = _statements(nowhere, cycles, problems)
    return WorkloadOrderStatus(
        observed_generation=row.generation,
        conditions=stated(declared.status.conditions, statements, generation=row.generation, now=now),
        workloads=len(declared.spec.workloads),
        dependencies=sum(len(one.depends_on) for one in declared.spec.workloads),
        missing=_told(missing),
        absent=tuple(str(one.workload)[:256] for one in absent[:_MOST]),
        cycles=_told(cycles),
    )


Pair = tuple[WorkloadId, WorkloadId]
"""Dependent and dependency."""


def _missing(row: Custom, order: Order) -> list[Pair]:
    """Its dependencies that do not exist, of workloads that do."""
    unknown, there = order.graph.unknown, order.graph.number
    if not unknown:
        return []
    return [
        (dependent, dependency)
        for dependent, dependency in _declared(row)
        if dependency in unknown and dependent in there and dependency not in order.gone
    ]


def _circular(row: Custom, order: Order) -> list[Pair]:
    """Its dependencies that are part of a cycle: any of them may be the one too many."""
    return [pair for pair in _declared(row) if pair in order.circular] if order.circular else []


def _declared(row: Custom) -> Iterator[Pair]:
    """What it declares of workloads of its own namespace: of others it does not speak."""
    declared = cast("WorkloadOrder", row.object)
    for one in declared.spec.workloads:
        dependent = referenced(one, row.namespace)
        if dependent.namespace == row.namespace:
            yield from ((dependent, referenced(other, row.namespace)) for other in one.depends_on)


def _told(pairs: Sequence[Pair]) -> tuple[Edge, ...]:
    return tuple(
        Edge(
            dependent=str(dependent)[:256],
            dependency=str(dependency)[:256],
            source=EdgeSource.WORKLOAD_ORDER,
        )
        for dependent, dependency in pairs[:_MOST]
    )


def _nowhere(absent: Sequence[Absent], missing: Collection[WorkloadId], order: Order) -> str:
    """What is named and is not there: the first that should wait, the first that is waited for, how many
    more; empty where all is there."""
    first = [one.message for one in absent[:1]]
    for dependency in [*missing][:1]:
        meant = f"; did you mean {order.like[dependency]}?" if dependency in order.like else ""
        first.append(f"{dependency} does not exist{meant}")
    left = len(absent) + len(missing) - len(first)
    return _sentence(first) + (f" (and {left} more)" if left else "")


def _sentence(texts: Iterable[str]) -> str:
    return "; ".join(texts).replace("?; ", "? ")


def _statements(nowhere: str, cycles: Iterable[Pair], problems: Iterable[str]) -> tuple[Statement, ...]:
    if nowhere:
        return conditions.stalled(OrderReason.MISSING, nowhere)
    for dependent, dependency in cycles:
        return conditions.stalled(OrderReason.CYCLE, f"{dependent} and {dependency} wait for each other")
    for text in problems:
        return conditions.stalled(OrderReason.PROBLEM, text)
    return conditions.ready(OrderReason.FOLLOWED)
