"""What may be old, and what is undone all the same.

Nothing is moved or begun while any kind that is read may be old. To undo takes less: each thing of ours is
undone as soon as what says of it is fresh, so that one kind that stays old (its definition was deleted, the
right to list it is gone) keeps nothing else in the cluster. It has to be sure that nothing is to be moved,
and the end is told only when all that may carry something of ours is fresh.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from shiplift.api.workloads import Cleanup
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.workloads.decide import finalizing
from shiplift.workloads.model import Migrating, Placement, Reason, View

_CARRIERS = (kinds.NODE, kinds.POD_DISRUPTION_BUDGET, kinds.WORKLOAD_PLACEMENT)
"""They may carry something of ours, or be ours."""
_RECORDED = (kinds.DEPLOYMENT, kinds.STATEFUL_SET, kinds.HORIZONTAL_POD_AUTOSCALER)
"""What records of ours are about."""
_PODS = (kinds.POD, kinds.REPLICA_SET)
"""By which the marks of a surge are found, and where tolerations are taken off one after the other, that a
rollout is over."""
DISPENSABLE = (
    kinds.NAMESPACE,
    kinds.DAEMON_SET,
    kinds.PERSISTENT_VOLUME,
    kinds.PERSISTENT_VOLUME_CLAIM,
    kinds.WORKLOAD_ORDER,
    *_PODS,
)
"""What a decision reads, and undoing can mostly do without."""


def may_be_old(view: View) -> str:
    """In words."""
    return old(view.stale[0])


def old(kind: Kind) -> str:
    """In words."""
    return f"what is known of {kind} may be old"


def is_over(view: View) -> bool:
    """Whether it is sure that nothing is to be moved, whatever else may be old."""
    if view.target.version or kinds.WORKLOAD_MIGRATION in view.stale:
        return False
    if view.migration is None or view.target.reason in (Reason.ABORTED, Reason.DELETED):
        return True
    return view.target.reason is Reason.NO_UPGRADE and kinds.NODE not in view.stale


def known(view: View) -> View:
    """The view without what may be old of that which is undone."""
    if not view.stale:
        return view
    return msgspec.structs.replace(
        view,
        fleet=msgspec.structs.replace(view.fleet, taints={}) if kinds.NODE in view.stale else view.fleet,
        holds=() if kinds.POD_DISRUPTION_BUDGET in view.stale else view.holds,
        placements=_known_placements(view),
    )


def _known_placements(view: View) -> Mapping[str, Placement]:
    if kinds.WORKLOAD_PLACEMENT in view.stale:
        return {}
    return {
        namespace: one
        for namespace, one in view.placements.items()
        if not any(kind in view.stale for kind in _needed_for(view, one))
    }


def _needed_for(view: View, placement: Placement) -> tuple[Kind, ...]:
    """What has to be fresh before its records are undone."""
    if not placement.records:
        return ()
    surged = any(one.surge is not None for one in placement.records.values())
    return (*_RECORDED, *_PODS) if surged or view.spec.cleanup is Cleanup.IMMEDIATE else _RECORDED


def marks_may_be_there(view: View) -> bool:
    """Whether a node may carry a taint of ours, as far as can be told."""
    return bool(view.fleet.taints) or kinds.NODE in view.stale


def needed(view: View) -> tuple[Kind, ...]:
    """What may be old and has to be fresh before all is undone."""
    if not view.stale:
        return ()
    wanted = {*_CARRIERS, *(kind for one in view.placements.values() for kind in _needed_for(view, one))}
    return tuple(kind for kind in view.stale if kind in wanted)


def not_undone(kind: Kind) -> str:
    """What is not undone because of it, and what would help."""
    there = "is its definition there (`shiplift crds | kubectl apply -f -`), and " if kind.custom else ""
    return (
        f"{old(kind)}, and what it is needed for is not undone; if that stays: {there}"
        "may the operator list it (what installed shiplift grants that when it is applied again)?"
    )


def may_be_told(decision: Migrating) -> bool:
    """Whether a decision is worth a status: not one that only waits for what is old for a moment, unless
    something of ours may be left meanwhile."""
    view = decision.view
    if not view.stale or decision.moving:
        return True
    return is_over(view) and (decision.reason is not Reason.STALE_VIEW or bool(finalizing.take_off(view)))
