"""One pool, and what it is judged with: its machines, which of them it asks for, which are still missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import count

import msgspec

from shiplift.api.machines import KwokSettings, MachinePool, MachinePoolSpec, Provider
from shiplift.api.marks import POOL_LABEL
from shiplift.facts.custom import Custom
from shiplift.facts.nodes import Node, is_simulated
from shiplift.machines.claims import DoubleClaim, double_claims, machine_name, number_of
from shiplift.machines.in_cluster.model import Kept, View, pool_of
from shiplift.machines.replicas import choose

_LAST = 1_000_000
"""Machines whose names have no number of their pool come after all others."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one pool."""

    view: View
    now: datetime
    row: Custom
    kept: tuple[Kept, ...] = ()
    """Its machines, in the order of their numbers; none of a pool that the cluster does not lead."""
    missing: tuple[str, ...] = ()
    """The names of machines that it asks for and that are not written down."""
    claims: tuple[DoubleClaim, ...] = ()
    """What it and another pool claim."""
    before: int = 0
    """How many simulated machines older pools ask for."""

    @property
    def name(self) -> str:
        return self.row.name

    @property
    def pool(self) -> MachinePool:
        return pool_of(self.row)

    @property
    def spec(self) -> MachinePoolSpec:
        return self.pool.spec

    @property
    def kwok(self) -> KwokSettings:
        return self.spec.kwok or KwokSettings()

    @property
    def wanted(self) -> tuple[Kept, ...]:
        return tuple(one for one in self.kept if one.wanted)

    @property
    def too_many(self) -> tuple[Kept, ...]:
        return tuple(one for one in self.kept if not one.wanted)


def cases(view: View, now: datetime) -> Iterator[Case]:
    """Every pool, in the order of their names."""
    owned = _owned(view)
    doubles = tuple(double_claims(pool_of(row) for row in view.pools))
    older = _older(view)
    for row in view.pools:
        kept, missing = _kept(view, row, owned.get(row.uid, []))
        yield Case(
            view=view,
            now=now,
            row=row,
            kept=kept,
            missing=missing,
            claims=tuple(one for one in doubles if row.name in (one.one, one.other)),
            before=older.get(row.name, 0),
        )


def own_node(view: View, pool: str, name: str) -> Node | None:
    """The node of a simulated machine; None where there is none, or it is somebody else's."""
    node = view.nodes.get(name)
    return node if node is not None and is_simulated(node) and node.labels.get(POOL_LABEL) == pool else None


def _owned(view: View) -> Mapping[str, list[Custom]]:
    """Machines by the uid of the pool that they are of."""
    found: dict[str, list[Custom]] = defaultdict(list)
    for row in view.machines.values():
        if (owner := row.controller) is not None:
            found[owner.uid].append(row)
    return found


def _older(view: View) -> Mapping[str, int]:
    """For each pool of simulated machines, how many those ask for that were made before it."""
    simulated = [
        row for row in view.pools if pool_of(row).spec.provider is Provider.KWOK and not row.deleting
    ]
    found: dict[str, int] = {}
    total = 0
    for row in sorted(simulated, key=lambda one: (one.created, one.name)):
        found[row.name] = total
        total += pool_of(row).spec.replicas
    return found


def _kept(view: View, pool: Custom, rows: list[Custom]) -> tuple[tuple[Kept, ...], tuple[str, ...]]:
    """Its machines, and the names of those that are missing."""
    if pool_of(pool).spec.provider is not Provider.KWOK:
        return (), ()
    rows = sorted(rows, key=lambda row: (_order(row.name, pool.name), row.name))
    there = {row.name for row in rows}
    free = (name for name in (machine_name(pool.name, one) for one in count()) if name not in there)
    choice = choose([row.name for row in rows], free, pool_of(pool).spec.replicas)
    wanted = set(choice.machines)
    kept = tuple(Kept(row, own_node(view, pool.name, row.name), row.name in wanted) for row in rows)
    return kept, tuple(name for name in choice.machines if name not in there)


def _order(machine: str, pool: str) -> int:
    number = number_of(machine, pool)
    return _LAST if number is None else number
