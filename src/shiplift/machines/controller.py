"""The layer's wiring: what it watches, what wakes it, what it may write, and its metrics."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from datetime import datetime
from typing import cast

from shiplift.engine import clock, contested
from shiplift.engine.barrier import Barrier
from shiplift.engine.decision import Requeue
from shiplift.engine.step import Outcome, Outcomes, Step
from shiplift.facts import kinds
from shiplift.facts.kinds import MACHINE, MACHINE_POOL, NODE, Kind
from shiplift.facts.meta import Row
from shiplift.facts.nodes import Node, is_simulated
from shiplift.kube.part import Context, LayerPart
from shiplift.kube.rbac import rule
from shiplift.kube.statuses import Pace
from shiplift.kube.watch import Watch
from shiplift.machines.in_cluster.act import Actor, Now
from shiplift.machines.in_cluster.decide.decision import decide
from shiplift.machines.in_cluster.model import Keeping, View
from shiplift.machines.in_cluster.names import KEY, NAME
from shiplift.machines.in_cluster.observe import READS, observe
from shiplift.machines.in_cluster.tell.metrics import MachinesCollector
from shiplift.machines.in_cluster.tell.publish import Publisher


class Machines:
    """The layer, for one term of leading."""

    def __init__(self, context: Context, pace: Callable[[], Pace] = Pace, now: Now = clock.now) -> None:
        self._store = context.store
        self._memory, self._now = contested.Memory(), now
        self._actor = Actor(context.client, self._memory, now)
        self._publisher = Publisher(context.client, context.recorder, pace)

    def observe(self, key: str, outcomes: Outcomes) -> View:
        return observe(self._store, outcomes, self._memory.changes)

    def decide(self, view: View, now: datetime) -> Keeping:
        return decide(view, now)

    def act(self, step: Step) -> Outcome:
        return self._actor.act(step)

    def publish(self, key: str, decision: Keeping) -> Iterable[Barrier | Requeue]:
        # machines come and go: what nobody contested is not remembered for ever
        self._memory.forget_old(self._now())
        return self._publisher.publish(decision)


def wakes(kind: Kind, old: Row | None, new: Row | None) -> Iterable[Hashable]:
    """Pools and machines, and what of a node a pool goes by."""
    if kind == NODE and _matter(old) == _matter(new) and (old or new) is not None:
        return ()
    return (KEY,)


def _matter(row: Row | None) -> object:
    if row is None:
        return None
    node = cast("Node", row)
    return node.uid, node.ready, bool(node.deleting), node.labels, node.taints, is_simulated(node)


RULES = (
    rule(NODE.group, [NODE.plural], ["get", "create"]),
    rule(kinds.GROUP, [MACHINE.plural], ["get", "create"]),
    rule(kinds.GROUP, [MACHINE_POOL.plural], ["get"]),
    rule(kinds.GROUP, [f"{one.plural}/status" for one in (MACHINE_POOL, MACHINE)], ["patch"]),
)
"""What is written may be read: to see what became of a write whose answer was lost. Nothing is changed or
removed that is there, but for statuses of our own."""

PART = LayerPart(
    NAME,
    tuple(map(Watch, READS)),
    wakes,
    Machines,
    RULES,
    collector=MachinesCollector,
    undone_without=(MACHINE,),
    written_by_people=(MACHINE_POOL,),
)
