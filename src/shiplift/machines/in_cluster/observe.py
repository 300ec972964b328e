"""Gathers what there is to know of pools, machines and nodes: from the store alone."""

from __future__ import annotations

from shiplift.engine.contested import Changes
from shiplift.engine.step import Outcomes
from shiplift.facts.kinds import MACHINE, MACHINE_POOL, NODE
from shiplift.facts.nodes import Node
from shiplift.kube.store import Snapshot, Store
from shiplift.machines.in_cluster.model import View

READS = (MACHINE_POOL, MACHINE, NODE)


def observe(store: Store, outcomes: Outcomes, changes: Changes) -> View:
    return view_of(store.snapshot(*READS), outcomes, changes)


def view_of(snapshot: Snapshot, outcomes: Outcomes, changes: Changes) -> View:
    doubted = {one.kind for one in outcomes.unsettled}
    stale = snapshot.stale(*READS)
    return View(
        pools=tuple(sorted(snapshot.customs(MACHINE_POOL), key=lambda row: row.name)),
        machines={row.name: row for row in snapshot.customs(MACHINE)},
        nodes={row.name: row for row in snapshot.all(Node)},
        unreadable={(kind, name): why for kind in READS for name, why in snapshot.undecodable(kind).items()},
        stale=tuple(kind for kind in READS if kind in stale or kind in doubted),
        outcomes=outcomes,
        changes=dict(changes),
    )
