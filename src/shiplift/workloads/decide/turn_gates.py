"""Gates before a workload is released: whose turn it is, and whether target nodes can take it."""

from __future__ import annotations

import msgspec

from shiplift.api.marks import OFF_TARGET_LABEL, TARGET_LABEL
from shiplift.api.workloads import Mode, OnNoCapacity, OnUnknownArchitecture, WorkloadState
from shiplift.workloads.decide import brake, placements, waiting
from shiplift.workloads.decide.architectures import ARCHITECTURE
from shiplift.workloads.decide.awaited import no_slot_for
from shiplift.workloads.decide.books import Books
from shiplift.workloads.decide.gate import Closed, closed
from shiplift.workloads.marks import has_toleration, keeps_off
from shiplift.workloads.model import Line, Reason, Tally
from shiplift.workloads.record import Record


def all_is_readable(books: Books, tally: Tally) -> Closed | None:
    """What nobody can read may be its budget, its order or its pod: to go on would be to guess."""
    found = books.unreadable.get(tally.id.namespace)
    return None if found is None else closed(WorkloadState.BLOCKED, Reason.UNREADABLE, str(found))


def dependencies(books: Books, tally: Tally) -> Closed | None:
    line = None if tally.id in books.may_move else waiting.for_others(books.view, tally)
    return None if line is None else Closed(line)


def its_turn(books: Books, tally: Tally) -> Closed | None:
    return None if tally.id in books.may_move else Closed(waiting.at_its_turn(books.view, tally))


def nodes_are_tainted(books: Books, _tally: Tally) -> Closed | None:
    """Before target nodes are tainted, held pods could come to them."""
    if books.not_tainted:
        return closed(WorkloadState.BLOCKED, Reason.NODE_NOT_MARKED, books.not_tainted)
    first = "" if books.held.complete else ", as soon as all that have to be held are"
    return closed(WorkloadState.MOVING, Reason.PREPARING, f"nodes are being tainted first{first}")


def fits_into_placement(books: Books, tally: Tally) -> Closed | None:
    """A namespace with more workloads than a placement can name: the others cannot be moved by us."""
    placement = books.view.placements.get(tally.id.namespace)
    most = placements.MOST_NAMED
    if placement is None or len(placement.listed) < most or tally.id in placement.listed:
        return None
    text = f"its namespace has more than {most} workloads; move it yourself, or leave it out"
    return closed(WorkloadState.BLOCKED, Reason.TOO_MANY, text)


def template_lets_on(books: Books, tally: Tally) -> Closed | None:
    """What is made from it would be made again and again; a slot is looked for as if our marks were not in
    it. A surge that is under way is seen to its end."""
    view, template = books.view, tally.row.template
    if template.node_terms is None or not keeps_off(template, view.target.version):
        return None
    if placements.record_of(view, tally.id).surge is not None:
        return None
    text = (
        f"its template keeps its pods off the target nodes: take {TARGET_LABEL} and {OFF_TARGET_LABEL} out of"
        " the node affinity of its template, which are for shiplift to set"
    )
    line = Line(WorkloadState.BLOCKED, Reason.TEMPLATE_KEEPS_OFF, text)
    return Closed(line, unplaced=tally.id not in books.released)


def target_nodes(books: Books, _tally: Tally) -> Closed | None:
    text = f"no node runs {books.view.target.version} yet"
    return Closed(Line(WorkloadState.HELD, Reason.WAITING_FOR_NODES, text), unplaced=True)


def nodes_have_come(books: Books, tally: Tally) -> Closed | None:
    """Not for a pod that is to be rescued: it runs nowhere meanwhile."""
    if books.settling is None or tally.id in books.early:
        return None
    line = Line(WorkloadState.HELD, Reason.WAITING_FOR_NODES, books.settling.why)
    return Closed(line, unplaced=True, due=(books.settling.left,))


def images_run_there(books: Books, tally: Tally) -> Closed | None:
    found = books.architectures.unseen(tally.row.template)
    if found is None:
        return None
    text = (
        f"image {found.image} was never seen to run on {found.architecture}, as target nodes are; run one pod"
        f" with it there, select {ARCHITECTURE} in its template, or set spec.onUnknownArchitecture of"
        " WorkloadMigration cluster to Move"
    )
    line = Line(WorkloadState.BLOCKED, Reason.UNKNOWN_ARCHITECTURE, text)
    return Closed(line, unplaced=True)


def waits_for_architecture(books: Books) -> bool:
    wait = books.view.spec.on_unknown_architecture is OnUnknownArchitecture.WAIT
    return wait and bool(books.view.fleet.strange)


def not_between_old_nodes(books: Books, tally: Tally) -> Closed | None:
    """While a pod of it makes room on an old node, it cannot be released."""
    if not _is_between(tally):
        return None
    text = f"a pod of it goes from {books.view.status.emptying} to another old node first"
    return Closed(Line(WorkloadState.HELD, Reason.CONSOLIDATING, text), unplaced=True)


def _is_between(tally: Tally) -> bool:
    """Whether a pod of it is on its way from one node to another."""
    return bool(tally.leaving) or any(not pod.unschedulable for pod in tally.pending)


def room_to_begin(books: Books, tally: Tally) -> Closed | None:
    """No workload is released before a target node can take a pod of it: new pods must fit somewhere. Once
    released a workload cannot make room among the old nodes: with Consolidate it has to fit whole. Where a
    pod is to be rescued its place is kept already."""
    if tally.id in books.early:
        return None
    for pod in tally.away if consolidates(books) else tally.away[:1]:
        if (slot := books.no_slot(pod)) is not None:
            return msgspec.structs.replace(
                _makes_room_no_more(books, tally) or no_slot_for(slot), unplaced=True
            )
    return None


def _makes_room_no_more(books: Books, tally: Tally) -> Closed | None:
    """Where pods that were to make room came back again and again, nobody waits for room to be made."""
    if not books.brakes or not consolidates(books):
        return None
    line = brake.stop_of_making_room(books.view, tally, books.counted)
    return None if line is None else Closed(line)


def consolidates(books: Books) -> bool:
    return books.view.spec.on_no_capacity is OnNoCapacity.CONSOLIDATE


def release_is_written(books: Books, tally: Tally) -> Closed | None:
    text = "its turn has come: its release is being written down"
    line = Line(WorkloadState.RELEASED, Reason.ITS_TURN, text)
    if why := placements.not_written(books.view, tally.id.namespace):
        line = Line(WorkloadState.BLOCKED, Reason.REFUSED, why)
    return Closed(line, record=_toleration_to_record(books, tally))


def _toleration_to_record(books: Books, tally: Tally) -> Record | None:
    """Mode Template: that the template is going to be changed is written down; the change comes after."""
    view = books.view
    if view.target.mode is not Mode.TEMPLATE or view.spec.paused:
        return None
    record = placements.record_of(view, tally.id)
    if record.toleration == view.target.version:
        return None
    target = view.target.version
    theirs = not record.toleration and has_toleration(tally.row.template, target)
    own = target if theirs else record.own
    return Record(toleration=target, surge=record.surge, own=own, earlier=_earlier(record, tally, target))


def _earlier(record: Record, tally: Tally, target: str) -> str:
    """Which toleration of ours the template keeps until it gets the new one: what it is seen to have, or else
    what it was to get last."""
    given = [one for one in record.given if one != target]
    there = (one for one in given if has_toleration(tally.row.template, one))
    return next(there, given[0] if given else "")
