"""What the operator sees of pools, what it concludes, and the closed list of its reasons.

A machine is written down as a Machine before anything is made for it, under a name that follows from its pool
and its number. So whoever leads next finds every machine, and makes none twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from typing import NamedTuple, cast

import msgspec

from shiplift.api.machines import Machine, MachinePool, MachinePoolStatus, MachineStatus
from shiplift.engine.conditions import Reason as AnyReason
from shiplift.engine.contested import Changes
from shiplift.engine.decision import Decision
from shiplift.engine.step import Outcomes, Step
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import Kind
from shiplift.facts.nodes import Node


class Reason(AnyReason):
    """Why a pool, or a machine, is where it is."""

    # a pool
    COMPLETE = "Complete"
    """Every machine that is asked for has a node that is Ready."""
    MAKING = "Making"
    """Machines, or their nodes, are being made."""
    JOINING = "Joining"
    """Nodes are not Ready yet."""
    NOT_READY_IN_TIME = "NotReadyInTime"
    """Nodes were not Ready in time: named."""
    LEAVING = "Leaving"
    """Something of an earlier machine is still on its way out."""
    REMOVAL_NOT_DONE = "RemovalNotDone"
    """There are more machines than the pool asks for: none is removed yet."""
    PAUSED = "Paused"
    DELETED = "Deleted"
    """The pool is being deleted: nothing is made for it."""
    LAPTOP_LEADS = "LaptopLeads"
    """Whoever runs `shiplift bootstrap` leads the machines; the cluster does nothing to them."""
    PROVIDER_TO_COME = "ProviderToCome"
    """No machines can be made with that provider yet."""
    CLAIMED_TWICE = "ClaimedTwice"
    """Two pools claim one machine."""
    NAME_TAKEN = "NameTaken"
    """Somebody else's Machine or Node has a name that one of the pool would have."""
    NAME_TOO_LONG = "NameTooLong"
    TOO_LARGE = "TooLarge"
    """More is asked for than a simulated machine, or all of them, can be."""
    LABEL_REFUSED = "LabelRefused"
    """A label or taint that no pool may give."""
    DELETED_BY_OTHERS = "DeletedByOthers"
    """Somebody deletes machines or nodes of it as often as they are made."""
    REFUSED = "Refused"
    """The API server refuses what is to be made."""
    UNREADABLE = "Unreadable"
    """Something that matters cannot be read."""

    # one machine
    CREATING = "Creating"
    """Its node is being made."""
    JOINED = "Joined"
    """Its node is Ready."""
    TOO_MANY = "TooMany"
    """The pool asks for fewer machines."""


class State(Enum):
    """How a pool stands, for its conditions."""

    READY = "ready"
    ON_THE_WAY = "on the way"
    NEEDS_SOMEBODY = "needs somebody"
    NOT_OURS = "not ours"
    """Nobody in the cluster does anything about it."""


class Kept(msgspec.Struct, frozen=True):
    """A machine of a pool."""

    row: Custom
    node: Node | None = None
    wanted: bool = True
    """Whether it is one of those that the pool asks for."""

    @property
    def name(self) -> str:
        return self.row.name

    @property
    def machine(self) -> Machine:
        return cast("Machine", self.row.object)

    @property
    def ready(self) -> bool:
        return self.node is not None and self.node.ready and not self.node.deleting


class View(msgspec.Struct, frozen=True, kw_only=True):
    """All that a decision is made from."""

    pools: tuple[Custom, ...] = ()
    """In the order of their names."""
    machines: Mapping[str, Custom] = {}
    """By name."""
    nodes: Mapping[str, Node] = {}
    """By name."""
    unreadable: Mapping[tuple[Kind, str], str] = {}
    """What is there and cannot be read, by kind and name, and why."""
    stale: tuple[Kind, ...] = ()
    """Kinds of which what we see may be old."""
    outcomes: Outcomes = Outcomes()
    changes: Changes = {}
    """Machines and nodes that were made, and how often."""


class Line(NamedTuple):
    """What a pool is doing or waits for."""

    reason: Reason
    message: str
    state: State = State.NEEDS_SOMEBODY
    steps: tuple[Step, ...] = ()
    due: datetime | None = None
    """When to look again though nothing has happened."""


class PoolTold(msgspec.Struct, frozen=True):
    """What there is to tell of a pool."""

    row: Custom
    status: MachinePoolStatus


class MachineTold(msgspec.Struct, frozen=True):
    """What there is to tell of a machine."""

    row: Custom
    status: MachineStatus


class Keeping(Decision, frozen=True):
    """What follows: steps, and what to tell."""

    pools: tuple[PoolTold, ...] = ()
    machines: tuple[MachineTold, ...] = ()
    """Those of which there is something new to tell, and no more than can be told in one go."""


def pool_of(row: Custom) -> MachinePool:
    return cast("MachinePool", row.object)


def machine_of(row: Custom) -> Machine:
    return cast("Machine", row.object)
