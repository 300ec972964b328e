"""The nodes of a rollout to which nothing is being done: what each runs, and what it waits for.

Those to which something is done the rollout has on record; these are told by their own rows.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from shiplift.api.nodes import NodeRollout, RolloutPhase
from shiplift.nodes.face.explanation import matches, runs_what_it_should
from shiplift.nodes.face.rollouts import RolloutsView
from shiplift.nodes.model import Member
from shiplift.view.values import plain

MOST = 50
_THROUGH = "nothing: it runs what it should"
_OVER = (RolloutPhase.COMPLETE, RolloutPhase.ABORTED)


class OtherNode(msgspec.Struct, frozen=True):
    """One node."""

    name: str
    version: str
    waits_for: str


class ExplainedRollout(msgspec.Struct, frozen=True):
    """A rollout as `shiplift status` shows it, and those of its nodes that this has no word of."""

    view: RolloutsView
    others: tuple[OtherNode, ...] = ()


def others(rollout: NodeRollout, members: Iterable[Member]) -> tuple[OtherNode, ...]:
    """Those that are still to be changed first."""
    known = {one.uid for one in rollout.status.nodes}
    found = [_other(rollout, one) for one in members if one.uid not in known and matches(rollout, one)]
    return tuple(sorted(found, key=lambda one: (one.waits_for == _THROUGH, one.name)))


def _other(rollout: NodeRollout, member: Member) -> OtherNode:
    return OtherNode(member.name, plain(member.row.kubelet_version), _waits_for(rollout, member))


def _waits_for(rollout: NodeRollout, member: Member) -> str:
    if member.opted_out:
        return "nothing: it has opted out of rollouts"
    if runs_what_it_should(member, rollout):
        return _THROUGH
    return "nothing: the rollout is over" if rollout.status.phase in _OVER else "its turn"
