"""Taking out what we left in a cluster, from what is found there: after the end, an abort, or a deletion.

It needs no memory of what was done: placements, records, holds and marks say it themselves. Mode Template's
tolerations are the one thing that may stay, because taking them off rolls a workload out: they are inert
without the taint, and go when the owner changes its template, or at once and in dependency order if the user
says so. Records of another release of ours are made anew: an upgrade of ours is no rollout of the owner's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain

import msgspec

from shiplift.api.placements import PLACEMENT
from shiplift.api.workloads import Cleanup
from shiplift.engine import retries
from shiplift.engine.decision import await_change, requeue
from shiplift.engine.step import Step
from shiplift.facts import kinds
from shiplift.workloads.decide import finalizing, forgone, freshness, holds, placements, surging
from shiplift.workloads.decide.template_digest import digest, is_comparable
from shiplift.workloads.identity import WORKLOADS, WorkloadId, owned_by, workload_id
from shiplift.workloads.marks import has_toleration
from shiplift.workloads.model import Migrating, Placement, Reason, Tally, Unreadable, View
from shiplift.workloads.record import RECORDS, Record
from shiplift.workloads.steps import SetTolerations, WritePlacement

_LOOK_AGAIN = timedelta(seconds=2)
_MOST_NAMED = 8
SOON = timedelta(seconds=1)
"""What is old now is fresh in a moment, and no event says so."""


class Leftovers(msgspec.Struct, frozen=True):
    """What is still there, and what is done about it now."""

    steps: tuple[Step, ...]
    inert: tuple[WorkloadId, ...]
    """Workloads that keep a toleration on purpose."""
    waiting: tuple[WorkloadId, ...]
    """Workloads whose toleration comes off when those before them have rolled out."""


def undone(view: View, now: datetime) -> Migrating:
    """Undo everything, whatever the WorkloadMigration says or whether it can be read at all. What is still to
    be moved has to be seen to be aborted first: marks are told from the target."""
    if view.stale and not freshness.is_over(view):
        return not_sure(view, now)
    if not view.target.version:
        return cleaning(view, now)
    text = "the abort of the migration is not seen yet"
    return Migrating(view=view, now=now, reason=Reason.CLEANING_UP, message=text)


def not_sure(view: View, now: datetime) -> Migrating:
    """Nothing is begun and nothing undone from what may be old; until it is fresh nothing else is told."""
    text, again = freshness.may_be_old(view), requeue(SOON)
    return Migrating(view=view, now=now, reason=Reason.STALE_VIEW, message=text, look_again=again)


def cleaning(view: View, now: datetime) -> Migrating:
    """Undo everything of ours that is found. What fails is told; where nothing else is left to try, somebody
    has to act."""
    found = leftovers(view)
    unsure = tuple(map(freshness.not_undone, freshness.needed(view)))
    failed = tuple(retries.failures(view.outcomes, (*found.steps, *finalizing.take_off(view))))
    reason: Reason = view.target.reason
    message, stalled = view.target.message, view.target.stalled
    if found.steps:
        reason, message = Reason.CLEANING_UP, _taken_out(found.steps, failed)
        stalled = len(failed) == len(found.steps)
    elif unsure:
        reason, message, stalled = Reason.STALE_VIEW, unsure[0], True
    elif unreadable := _unreadable(view):
        reason, message, stalled = Reason.UNREADABLE, unreadable, True
    elif found.waiting:
        reason, message = Reason.CLEANING_UP, f"{found.waiting[0]} loses its toleration after those before it"
    steps = found.steps
    if not steps and reason is view.target.reason:
        steps = finalizing.take_off(view)
    return Migrating(
        steps=steps,
        view=view,
        now=now,
        reason=reason,
        message=message,
        stalled=stalled,
        look_again=requeue(_LOOK_AGAIN) if stalled or reason is Reason.STARTING else await_change(),
        notes=(
            *failed,
            *unsure,
            *map(str, view.unreadable),
            *(text for placement in view.placements.values() for text in placement.broken.values()),
            *kept(found.inert),
        ),
    )


def kept(inert: Sequence[WorkloadId]) -> Iterable[str]:
    """Who keeps a toleration, in one note for all."""
    if not inert:
        return
    named = ", ".join(map(str, inert[:_MOST_NAMED]))
    more = f" and {len(inert) - _MOST_NAMED:,} more" if len(inert) > _MOST_NAMED else ""
    one = len(inert) == 1
    yield (
        f"{named}{more} {'keeps' if one else 'keep'} an inert toleration until"
        f" {'its owner changes its template' if one else 'their owners change their templates'}"
        f" (`rollout restart` is no such change); WorkloadPlacement {PLACEMENT} of the namespace says so"
    )


def _taken_out(steps: tuple[Step, ...], failed: tuple[str, ...]) -> str:
    things = "1 thing of ours is" if len(steps) == 1 else f"{len(steps)} things of ours are"
    if not failed:
        return f"{things} being taken out"
    return f"{things} being taken out; {len(failed)} of them failed: {failed[0]}"


def _unreadable(view: View) -> str:
    """What may be something of ours, or carry something of ours, and cannot be undone."""
    of = (kinds.WORKLOAD_PLACEMENT, kinds.POD_DISRUPTION_BUDGET, kinds.NODE)
    named = (one for one in view.unreadable if one.kind in of)
    return next((str(one) for one in chain(named, _with_records(view).values())), "")


def _with_records(view: View) -> Mapping[WorkloadId, Unreadable]:
    """Workloads that cannot be read, and of which a placement says that we have changed them."""
    workloads = {kind: name for name, kind in WORKLOADS.items()}
    unreadable = (one for one in view.unreadable if one.kind in workloads)
    found = {workload_id(workloads[one.kind], one.namespace, one.name): one for one in unreadable}
    return {id_: one for id_, one in found.items() if placements.record_of(view, id_)}


def leftovers(view: View) -> Leftovers:
    """What of ours is in the cluster. Taints go before tolerations, so that nothing is ever locked out."""
    marked, view = freshness.marks_may_be_there(view), freshness.known(view)
    steps: list[Step] = [*view.fleet.taints.values()]
    steps += [holds.undo(budget) for budget in view.holds]
    kept: dict[WorkloadId, Record] = {}
    for placement in view.placements.values():
        done, records = _placement(view, placement, marked=marked)
        steps += done
        kept |= records
    inert = sorted(id_ for id_, record in kept.items() if record.inert)
    waiting = sorted(id_ for id_, record in kept.items() if not record.inert)
    return Leftovers(tuple(steps), tuple(inert), tuple(waiting))


def _placement(
    view: View, placement: Placement, *, marked: bool
) -> tuple[list[Step], dict[WorkloadId, Record]]:
    """One namespace: undo what its records say, then shorten them, then take the placement away."""
    steps: list[Step] = []
    records: dict[str, Record] = {}
    unknown = _with_records(view)
    for owner, record in placement.records.items():
        id_ = owned_by(placement.row.namespace, owner)
        tally = view.tallies.get(id_)
        if tally is None:
            left = forgone.taken_back(view, id_, None, record.surge) if record.surge else ()
            steps += left
            records |= {owner: record} if left or id_ in unknown else {}
            continue
        own, kept = _record(view, tally, record, marked=marked)
        steps += own
        if kept:
            records[owner] = kept
    texts = {**RECORDS.encode(records), **{one: placement.spec.ledger[one] for one in placement.broken}}
    if not texts:
        return (steps or [placements.taken_away(placement)]), {}
    binding = bool(placement.broken) or any(record.binds for record in records.values())
    finalizers = None if binding else placements.finalizers(placement, binding=False)
    shortened = _shortened(placement, texts, finalizers)
    kept = {owned_by(placement.row.namespace, owner): record for owner, record in records.items()}
    return [*steps, *([shortened] if shortened else [])], kept


def _record(view: View, tally: Tally, record: Record, *, marked: bool) -> tuple[list[Step], Record]:
    """What to undo now on one workload, and what of its record has to stay for that."""
    if record.surge is not None:
        undone = surging.undo(tally, record.surge)
        if undone:
            return list(undone), record
        record = msgspec.structs.replace(record, surge=None)
    if not any(has_toleration(tally.row.template, target) for target in record.given):
        return [], Record()
    if marked:
        return [], record
    if _due(view, tally, record):
        return [SetTolerations(tally.id, tally.row.uid, "", keeps=record.own)], record
    if is_comparable(record.inert) or view.spec.cleanup is Cleanup.IMMEDIATE:
        return [], record
    return [], msgspec.structs.replace(record, inert=digest(tally.row))


def _due(view: View, tally: Tally, record: Record) -> bool:
    """Whether a toleration comes off now: at once in dependency order, or with the owner's own rollout."""
    if view.spec.cleanup is Cleanup.IMMEDIATE:
        return _turn(view, tally)
    return is_comparable(record.inert) and record.inert != digest(tally.row)


def _turn(view: View, tally: Tally) -> bool:
    """In order: everything before it has lost its toleration and is complete again; a cycle goes together."""
    graph = view.order.graph
    if tally.id not in graph.number:
        return True
    own = graph.group(tally.id)
    edges = graph.dependencies(tally.id)
    before = [edge.dependency for edge in edges if graph.group(edge.dependency) != own]
    return all(
        one.complete and not placements.record_of(view, id_).toleration
        for id_ in before
        if (one := view.tallies.get(id_)) is not None
    )


def _shortened(
    placement: Placement, texts: Mapping[str, str], finalizers: tuple[str, ...] | None
) -> WritePlacement | None:
    """What takes out of a placement all but these records; one that is deleted goes with its finalizer."""
    spec, row = placement.spec, placement.row
    if finalizers is None and not spec.turns and dict(spec.ledger) == dict(texts):
        return None
    news = "only records are left"
    return WritePlacement(
        row.namespace, row.uid, row.resource_version, spec.target, {}, dict(texts), news, finalizers
    )


def inert(view: View) -> Iterable[WorkloadId]:
    """Workloads that keep a toleration of ours on purpose."""
    for placement in view.placements.values():
        for owner, record in placement.records.items():
            if record.inert:
                yield owned_by(placement.row.namespace, owner)
