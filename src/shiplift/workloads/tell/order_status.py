"""What became of a declared order: the status of each WorkloadOrder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import cast

from shiplift.api.conditions import stated
from shiplift.api.workloads import Edge, WorkloadOrder, WorkloadOrderStatus
from shiplift.engine import conditions
from shiplift.engine.conditions import Reason, Statement
from shiplift.facts.custom import Custom
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
    origin = f"WorkloadOrder {row.namespace}/{row.name}"
    named = {f"{one.kind} {one.namespace or row.namespace}/{one.name}" for one in declared.spec.workloads}
    missing = tuple(edge for edge in order.missing if edge.dependent in named)[:_MOST]
    cycles = tuple(edge for edge in order.cycles if edge.dependent in named)[:_MOST]
    absent = [one for one in order.absent if one.order == f"{row.namespace}/{row.name}"]
    problems = [text for text in order.problems if text.startswith(f"{origin}:")]
    statements = _statements(absent, missing, cycles, problems)
    return WorkloadOrderStatus(
        observed_generation=row.generation,
        conditions=stated(declared.status.conditions, statements, generation=row.generation, now=now),
        workloads=len(declared.spec.workloads),
        dependencies=sum(len(one.depends_on) for one in declared.spec.workloads),
        missing=missing,
        absent=tuple(str(one.workload)[:256] for one in absent),
        cycles=cycles,
    )


def _statements(
    absent: Sequence[Absent], missing: Iterable[Edge], cycles: Iterable[Edge], problems: Iterable[str]
) -> tuple[Statement, ...]:
    if absent:
        more = f" (and {len(absent) - 1} more)" if len(absent) > 1 else ""
        return conditions.stalled(OrderReason.MISSING, f"{absent[0].message}{more}")
    for edge in missing:
        return conditions.stalled(OrderReason.MISSING, f"{edge.dependency} does not exist")
    for edge in cycles:
        return conditions.stalled(
            OrderReason.CYCLE, f"{edge.dependent} and {edge.dependency} wait for each other"
        )
    for text in problems:
        return conditions.stalled(OrderReason.PROBLEM, text)
    return conditions.ready(OrderReason.FOLLOWED)
