"""Surges of workloads that are not moved any more: opted out, excluded, or deleted in the middle of it.

What was raised for them is taken back at once, not when the whole migration is over, and only then is their
record forgotten. Of a workload that is gone its autoscaler may still be there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from shiplift.engine.step import Step
from shiplift.workloads.decide import placements, surging
from shiplift.workloads.identity import WorkloadId, owned_by
from shiplift.workloads.model import Tally, View
from shiplift.workloads.record import NO_RECORD, Record, Surge


class Forgone(NamedTuple):
    """What to take back, and what records become."""

    steps: tuple[Step, ...] = ()
    records: Mapping[WorkloadId, Record] = {}


def forgone(view: View) -> Forgone:
    """What is left to do about surges that nobody goes on with; they are few."""
    steps: list[Step] = []
    records: dict[WorkloadId, Record] = {}
    unknown = view.unreadable_in()
    for id_ in sorted(view.all_placements.surging):
        tally, record = view.tallies.get(id_), placements.record_of(view, id_)
        if record.surge is None or id_.namespace in unknown or (tally is not None and not tally.skipped):
            continue
        if undone := taken_back(view, id_, tally, record.surge):
            steps += undone
        else:
            records[id_] = msgspec.structs.replace(record, surge=None) if tally is not None else NO_RECORD
    return Forgone(tuple(steps), {**_of_workloads_that_are_gone(view), **records})


def _of_workloads_that_are_gone(view: View) -> dict[WorkloadId, Record]:
    """Records that keep a placement which is deleted, and of which nothing is left to undo: it may be its
    whole namespace that goes."""
    unknown = view.unreadable_in()
    ids = (
        (owned_by(name, owner), record)
        for name in view.all_placements.going
        if name not in unknown
        for owner, record in view.placements[name].records.items()
    )
    return {id_: NO_RECORD for id_, record in ids if id_ not in view.tallies and record.surge is None}


def taken_back(view: View, id_: WorkloadId, tally: Tally | None, plan: Surge) -> tuple[Step, ...]:
    """What is left to take back of a surge, whatever became of its workload."""
    return surging.undo(tally, plan) if tally else surging.undo_floor(id_, view.autoscaler(id_), plan)
