"""What a workload waits for whose turn has not come, or about which nothing was decided yet."""

from __future__ import annotations

from collections.abc import Sequence

from shiplift.api.workloads import Mode, WorkloadState
from shiplift.engine.graph import Edge
from shiplift.workloads.decide import last, placements
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.model import Line, Migrating, Reason, Tally, Unreadable, View


def line_of(decision: Migrating, tally: Tally) -> Line:
    """Where a workload is: as it was decided; for those that are held, what they wait for."""
    known = decision.lines.get(tally.id)
    if known is not None:
        return known
    if (waits := for_others(decision.view, tally)) is not None:
        return waits
    if decision.reason is Reason.STARTING and not tally.complete:
        return Line(WorkloadState.HELD, Reason.STARTING, "the move is being written down")
    return at_its_turn(decision.view, tally)


def for_others(view: View, tally: Tally) -> Line | None:
    """Which workload it waits for; None for one that waits for none."""
    order = view.order
    waits = order.progress.waits_for(tally.id) if tally.id in order.graph.number else ()
    return None if tally.id in order.ready or not waits else _held(view, tally.id, waits)


def at_its_turn(view: View, tally: Tally) -> Line:
    """A workload that waits for no other, and about which nothing was decided yet."""
    if tally.complete:
        return Line(WorkloadState.MOVING, Reason.SOAKING, "all pods are there")
    if (waits := last.line(view, tally.id)) is not None:
        return waits
    if not view.fleet.targets:
        return Line(WorkloadState.HELD, Reason.WAITING_FOR_NODES, f"no node runs {view.target.version} yet")
    if view.spec.paused:
        return Line(WorkloadState.HELD, Reason.PAUSED, "paused; `shiplift resume` goes on")
    return Line(WorkloadState.RELEASED, Reason.ITS_TURN, "its turn has come")


def _held(view: View, id_: WorkloadId, waits: Sequence[Edge[WorkloadId]]) -> Line:
    if view.order.graph.group(id_) in view.order.graph.stopped:
        return _in_a_cycle(view, id_, waits)
    first, said = waits[0].dependency, f" (said by {waits[0].origin})"
    more = f" and {len(waits) - 1} more" if len(waits) > 1 else ""
    if (unknown := _unreadable(view, first)) is not None:
        return Line(WorkloadState.BLOCKED, Reason.UNREADABLE, f"waits for {first}{said}{more}: {unknown}")
    if first not in view.tallies:
        meant = f"did you mean {view.order.like[first]}? " if first in view.order.like else ""
        hint = f"{meant}correct it, or set spec.onMissing of WorkloadMigration cluster to Ignore"
        text = f"waits for {first}, which does not exist{said}{more}; {hint}"
        return Line(WorkloadState.BLOCKED, Reason.MISSING_DEPENDENCY, text)
    if not _is_kept_off(view, id_):
        text = f"waits for {first}; the API server is being told to keep its new pods off the target nodes"
        return Line(WorkloadState.HELD, Reason.PREPARING, text)
    text = f"waits for {first}, {how_far(view.tallies[first])}{said}{more}"
    return Line(WorkloadState.HELD, Reason.WAITS_FOR_DEPENDENCY, text)


def how_far(tally: Tally) -> str:
    """How many of its pods have moved; once all have, what is missing then."""
    there, wanted = len(tally.pods) - len(tally.away) - len(tally.pending), tally.row.replicas
    if there < wanted or tally.away:
        return f"{there} of {wanted} pods moved"
    if tally.ready < wanted:
        return f"{tally.ready} of {wanted} pods that have moved are Ready"
    if tally.leaving:
        return f"all of whose pods have moved, until those that leave have ended ({tally.leaving})"
    return "all of whose pods have moved, until they have been Ready for a while"


def _unreadable(view: View, id_: WorkloadId) -> Unreadable | None:
    found = (one for one in view.unreadable if (one.kind.kind, one.namespace, one.name) == id_)
    return next(found, None) if view.unreadable else None


def _in_a_cycle(view: View, id_: WorkloadId, waits: Sequence[Edge[WorkloadId]]) -> Line:
    graph = view.order.graph
    group = graph.group(id_)
    inside = [edge for edge in graph.dependencies(id_) if graph.group(edge.dependency) == group]
    edge = (inside or list(waits))[0]
    text = f"is in a cycle with {edge.dependency} (said by {edge.origin})"
    hint = "remove a dependency, or set spec.onCycle of WorkloadMigration cluster to Collapse"
    return Line(WorkloadState.BLOCKED, Reason.IN_CYCLE, f"{text}; {hint}")


def _is_kept_off(view: View, id_: WorkloadId) -> bool:
    if view.target.mode is not Mode.INJECT or id_ == placements.not_held(view):
        return True
    placement = view.placements.get(id_.namespace)
    return placement is not None and id_ in placement.listed
