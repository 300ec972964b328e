"""How many more workers may be taken away now.

What is kept true: rollouts hold no more workers at once than `maxUnavailable`, and take away one that is up
only while fewer than that are down, being changed or quarantined, for whatever reason. A worker that is down
already is begun in the slot that it takes up anyway. One that is up may be written down for a slot that is
about to be free; it is touched once that is.
"""

from __future__ import annotations

from typing import NamedTuple

from shiplift.api.nodes import NodeRolloutSpec, NodeState
from shiplift.engine import budgets
from shiplift.nodes.decide.scope import Scope, in_flight
from shiplift.nodes.model import Member, Reason, Records


class Slots(NamedTuple):
    """The budget, and what of it is used up."""

    limit: int
    held: int
    """Workers that this rollout has written down, begun or in line."""
    unavailable: int
    """Workers that nobody can count on: these, those that are down, and those of others."""
    names: tuple[str, ...] = ()
    """Of workers that are unavailable though nothing is being done to them."""
    waiting: int = 0
    """Workers that are up and wait in line for a slot."""
    leaving: int = 0
    """Workers that are being given back: their slots are free in a moment."""

    @property
    def for_down(self) -> int:
        """How many workers that are down already may be begun."""
        return max(self.limit - self.held, 0)

    @property
    def for_up(self) -> int:
        """How many workers that are up may be begun, or wait in line for a slot."""
        return max(self.limit + self.leaving - self.unavailable - self.waiting, 0)

    @property
    def free(self) -> int:
        """How many slots there are for workers that are up."""
        return max(self.limit - self.unavailable - self.waiting, 0)

    @property
    def over(self) -> int:
        """How many more are written down or away than may be away."""
        return max(self.unavailable + self.waiting - self.limit, 0)


def away(member: Member) -> bool:
    """Whether a worker is unavailable already, so that beginning it takes nothing more away."""
    return member.down or bool(member.cordoned_by)


def slots(
    spec: NodeRolloutSpec, scope: Scope, records: Records, busy: frozenset[str], leaving: int = 0
) -> Slots:
    """One look at every worker."""
    total = held = unavailable = waiting = 0
    names: list[str] = []
    for member in scope.workers:
        total += 1
        record = records.get(member.uid)
        if record is not None and in_flight(record):
            held += 1
            in_line = record.reason == Reason.IN_LINE and not away(member)
            waiting, unavailable = waiting + in_line, unavailable + (not in_line)
        elif (
            away(member)
            or member.uid in busy
            or (record is not None and record.state is NodeState.QUARANTINED)
        ):
            unavailable += 1
            names.append(member.name)
    elsewhere = sum(_is_held(one, records) for one in (*scope.opted_out, *scope.outside))
    limit = budgets.max_unavailable(spec.max_unavailable, total, at_least_one=True)
    return Slots(limit, held + elsewhere, unavailable + elsewhere, tuple(names[:3]), waiting, leaving)


def _is_held(member: Member, records: Records) -> bool:
    """Whether a worker is held that the rollout is no longer about: until it is given back."""
    record = records.get(member.uid)
    return record is not None and in_flight(record) and not member.control_plane
