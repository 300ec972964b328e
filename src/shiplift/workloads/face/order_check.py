"""Whether orders can be followed, before anything moves: what they name is there, and nothing waits for
itself.

Orders are judged together with everything else that is declared in the cluster, as the operator does: a cycle
may lead through an annotation that somebody else wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import cast

import msgspec

from shiplift.api.orders import WorkloadOrder
from shiplift.engine.graph import Cycle, Edge, Graph
from shiplift.facts.custom import Custom
from shiplift.workloads.identity import WorkloadId, referenced
from shiplift.workloads.observe.absent import near
from shiplift.workloads.observe.dependencies import Declared, gather

_LONGEST_CYCLE = 8


class Finding(msgspec.Struct, frozen=True):
    """Something in an order that cannot be followed."""

    order: str
    message: str
    hint: str = ""


class Checked(msgspec.Struct, frozen=True):
    """One order: how much it says, and what is wrong with it."""

    order: str
    workloads: int
    dependencies: int
    findings: tuple[Finding, ...]


def check(orders: Sequence[Custom], others: Iterable[Custom], declared: Iterable[Declared]) -> list[Checked]:
    """Each of the orders, in a cluster that has these other orders and these workloads."""
    workloads = list(declared)
    there = [one.id for one in workloads]
    found = gather(workloads, [*orders, *others])
    cycles = Graph(there, found.edges).cycles
    return [_checked(row, there, found.problems_of(_name(row)), cycles) for row in orders]


def _checked(
    row: Custom, there: Sequence[WorkloadId], problems: Iterable[str], cycles: Iterable[Cycle[WorkloadId]]
) -> Checked:
    order = cast("WorkloadOrder", row.object)
    name = _name(row)
    findings = [
        *_absent(row, name, there),
        *(Finding(name, text) for text in problems),
        *(_cycle(name, one) for one in cycles if any(edge.origin == name for edge in one.edges)),
    ]
    return Checked(
        name,
        len(order.spec.workloads),
        sum(len(one.depends_on) for one in order.spec.workloads),
        tuple(findings),
    )


def _absent(row: Custom, name: str, there: Sequence[WorkloadId]) -> Iterator[Finding]:
    known, order = set(there), cast("WorkloadOrder", row.object)
    for one in order.spec.workloads:
        dependent = referenced(one, row.namespace)
        if dependent not in known:
            yield Finding(
                name, f"{dependent} does not exist: its dependsOn has no effect", _like(dependent, there)
            )
        for other in one.depends_on:
            dependency = referenced(other, row.namespace)
            if dependency not in known:
                text = f"{dependent} waits for {dependency}, which does not exist"
                yield Finding(name, text, _like(dependency, there))


def _like(wanted: WorkloadId, there: Iterable[WorkloadId]) -> str:
    meant = near(wanted, there)
    return f"did you mean {meant}?" if meant else ""


def _cycle(name: str, cycle: Cycle[WorkloadId]) -> Finding:
    way = _way(cycle)
    last = way[0] if len(way) <= _LONGEST_CYCLE else "…"
    text = " -> ".join(map(str, [*way[:_LONGEST_CYCLE], last]))
    origins = sorted({edge.origin for edge in cycle.edges})
    return Finding(
        name, f"a cycle: {text} (said by {', '.join(origins)})", "take one of these dependencies out"
    )


def _way(cycle: Cycle[WorkloadId]) -> list[WorkloadId]:
    """One way round: from the first member along its dependencies until somebody comes again."""
    following: dict[WorkloadId, Edge[WorkloadId]] = {}
    for edge in cycle.edges:
        following.setdefault(edge.dependent, edge)
    way = [cycle.members[0]]
    while (after := following[way[-1]].dependency) not in way:
        way.append(after)
    return way[way.index(after) :]


def _name(row: Custom) -> str:
    return f"WorkloadOrder {row.namespace}/{row.name}"
