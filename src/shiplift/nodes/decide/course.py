"""One rollout at one moment: its nodes, its path, which pass is running, and what became of its records."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import msgspec

from shiplift.api.nodes import NodeRollout, NodeRolloutSpec, NodeRolloutStatus, RolloutPass, Snapshot
from shiplift.engine.step import Step
from shiplift.nodes.decide import failing, wanted
from shiplift.nodes.decide.path import Leg, Path
from shiplift.nodes.decide.scope import Scope, in_flight
from shiplift.nodes.model import Member, Reason, Records, View


class Line(NamedTuple):
    """What a rollout is doing or waiting for, and what there is to do about it."""

    reason: Reason
    message: str
    stalled: bool = False
    due: datetime | None = None
    steps: tuple[Step, ...] = ()
    snapshot: Snapshot | None = None
    soaking_since: datetime | None = None
    done: bool = False
    """Whether nothing is left to do."""


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one rollout when it is decided what to begin."""

    view: View
    rollout: NodeRollout
    now: datetime
    scope: Scope
    path: Path
    refusal: str = ""
    """Why there is no path."""
    leg: Leg | None = None
    """The pass that is running; None where every node is as it should be."""
    unfit: tuple[Member, ...] = ()
    """Nodes that it has yet to change."""
    records: Records = {}
    """As they should be stored."""
    done: frozenset[str] = frozenset()
    """Nodes that have all that is wanted, by uid."""
    busy: frozenset[str] = frozenset()
    """Nodes that another rollout is at."""
    overlap: str = ""
    leaving: int = 0
    """Workers that are being given back now."""

    @property
    def spec(self) -> NodeRolloutSpec:
        return self.rollout.spec

    @property
    def try_again(self) -> str:
        """What lets a node that has failed be tried again."""
        name = self.rollout.metadata.name
        return f"once that is mended, `shiplift resume rollout/{name}` tries it again"

    @property
    def status(self) -> NodeRolloutStatus:
        return self.rollout.status

    @property
    def group(self) -> tuple[Member, ...]:
        """The nodes that the running pass is about."""
        if self.leg is None:
            return ()
        return self.scope.workers if self.leg.pass_ is RolloutPass.WORKERS else self.scope.control_planes

    @property
    def flying(self) -> list[str]:
        """Nodes to which something is being done, by uid."""
        return [uid for uid, one in self.records.items() if in_flight(one)]

    @property
    def unbegun(self) -> bool:
        """Whether no pass has begun: also where there was nothing to do at first, and now there is."""
        idle = self.status.running_pass is RolloutPass.DONE and self.status.start_time is None
        return idle or self.status.running_pass is None

    @property
    def over(self) -> int:
        """How many nodes have all that is wanted, and were given back."""
        return len(self.done.difference(self.flying))

    @property
    def failures(self) -> int:
        return sum(failing.counts(one) for one in self.records.values())


def leg_of(
    view: View, spec: NodeRolloutSpec, path: Path, scope: Scope
) -> tuple[Leg | None, tuple[Member, ...]]:
    """The first pass that has nodes to change, and these."""
    for leg in path.legs:
        group = scope.workers if leg.pass_ is RolloutPass.WORKERS else scope.control_planes
        if unfit := tuple(one for one in group if not wanted.fit(view, spec, leg, one)):
            return leg, unfit
    return None, ()


def done(view: View, spec: NodeRolloutSpec, path: Path, scope: Scope) -> frozenset[str]:
    """Nodes that have all that is wanted, by uid."""
    last = {leg.pass_: leg for leg in path.legs}
    of_workers = last.get(RolloutPass.WORKERS)
    found = [one for one in scope.workers if of_workers and wanted.fit(view, spec, of_workers, one)]
    legs = [leg for pass_, leg in last.items() if pass_ is not RolloutPass.WORKERS]
    found += [
        one for one in scope.control_planes if legs and all(wanted.fit(view, spec, leg, one) for leg in legs)
    ]
    return frozenset(one.uid for one in found)
