"""Held pods that die must fit somewhere: those that no old node can take go before their turn.

Whether old nodes are cordoned, tainted or gone does not matter; where they are open and full, a workload goes
early only if nothing of it runs. A pod that no target node can take either is not helped by going early: its
workload keeps its turn. The exception to the order is recorded. In mode Inject a pending pod cannot be
changed, so its workload is released early and the pod is made again; in mode Template the pod itself is given
the toleration.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec

from shiplift.api.marks import OFF_TARGET_LABEL, label_value
from shiplift.api.workloads import Mode, OrderException, WorkloadState
from shiplift.engine import retries
from shiplift.facts.pods import Pod, tolerated
from shiplift.room.booking import Booking, NoSlot
from shiplift.workloads.decide import last, placements
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.marks import is_kept_off, upgrade_taint
from shiplift.workloads.model import Line, Reason, Tally, View
from shiplift.workloads.steps import PodStep, Replace, Rescue

MOST_EXCEPTIONS = 256


class Rescued(msgspec.Struct, frozen=True):
    """Workloads released before their turn, what is done for single pods, and what to record."""

    early: frozenset[WorkloadId] = frozenset()
    steps: tuple[PodStep, ...] = ()
    exceptions: tuple[OrderException, ...] = ()
    refused: Mapping[WorkloadId, Line] = {}
    """What is told of workloads for whose pods it could not be done."""


def rescued(view: View, now: datetime) -> Rescued:
    """Pending pods of held workloads that no open node is left for, and what came of it so far."""
    found = _rescued(view, now)
    refused = {
        step.workload: Line(WorkloadState.BLOCKED, Reason.REFUSED, f"{step.describe()}: {why}")
        for step in found.steps
        if (why := retries.failure(view.outcomes, step))
    }
    return msgspec.structs.replace(found, refused=refused) if refused else found


def _rescued(view: View, now: datetime) -> Rescued:
    before = view.status.exceptions
    if view.target.mode is Mode.INJECT and not view.fleet.targets:
        return Rescued(steps=_brought_back(view), exceptions=before)
    stranded = _stranded(view)
    if not stranded:
        return Rescued(exceptions=before)
    known = {(one.pod, one.workload) for one in before}
    fresh = tuple(
        one
        for tally, pod in stranded
        if ((one := _exception(tally, pod, now)).pod, one.workload) not in known
    )
    exceptions = (*before, *fresh)[:MOST_EXCEPTIONS]
    if view.target.mode is Mode.TEMPLATE:
        steps = tuple(
            Rescue(tally.id, pod.name, pod.uid, view.target.version)
            for tally, pod in stranded
            if not tolerated(pod.spec.tolerations, upgrade_taint(view.target.version))
        )
        return Rescued(steps=steps, exceptions=_without_refused(view, steps, exceptions))
    return Rescued(early=frozenset(tally.id for tally, _ in stranded), exceptions=exceptions)


def _without_refused(
    view: View, steps: Iterable[Rescue], told: tuple[OrderException, ...]
) -> tuple[OrderException, ...]:
    """A pod that could not be let go has not gone before its turn."""
    refused = [step for step in steps if retries.failure(view.outcomes, step)]
    if not refused:
        return told
    stays = {(_named(step.pod), _named(step.workload)) for step in refused}
    return tuple(one for one in told if (one.pod, one.workload) not in stays)


def _brought_back(view: View) -> tuple[PodStep, ...]:
    """The target nodes are gone again: pods that were made for them are made again, for the old ones."""
    value, released = label_value(view.target.version), placements.released(view)
    return tuple(
        Replace(tally.id, pod.name, pod.uid, pod.resource_version)
        for tally in map(view.tallies.__getitem__, sorted(view.unscheduled))
        for pod in tally.pending
        if pod.unschedulable and tally.id not in released and is_kept_off(pod, OFF_TARGET_LABEL, value)
    )


def _stranded(view: View) -> list[tuple[Tally, Pod]]:
    """Pods of held workloads that the scheduler has given up on, which fit on no old node and on a target."""
    held = [view.tallies[id_] for id_ in sorted(view.unscheduled) if _is_held(view, id_)]
    if not held:
        return []
    old, new = Booking(view.old_room("")), Booking(view.room)
    return [
        (tally, pod)
        for tally in held
        for pod in tally.pending
        if pod.unschedulable and _has_nowhere_to_be(old, tally, pod) and _fits(new, pod)
    ]


def _has_nowhere_to_be(old: Booking, tally: Tally, pod: Pod) -> bool:
    """Where old nodes are open and only full, as after scaling up, the order holds as long as any of its pods
    runs."""
    slot = old.book(pod, leaving=False)
    return isinstance(slot, NoSlot) and not (slot.full and tally.ready)


def _fits(booking: Booking, pod: Pod) -> bool:
    return not isinstance(booking.book(pod, leaving=False), NoSlot)


def _is_held(view: View, id_: WorkloadId) -> bool:
    """New pods of a workload that has arrived go to target nodes by themselves, but not in mode Template
    where it had no pods when it arrived."""
    if view.tallies[id_].skipped or (id_ in view.order.ready and not last.keeps(view, id_)):
        return False
    if view.target.mode is Mode.TEMPLATE:
        return True
    return id_ not in view.order.met and id_ not in placements.released(view)


def out_of_turn(view: View, known: tuple[OrderException, ...], now: datetime) -> tuple[OrderException, ...]:
    """The known exceptions, and pods of held workloads that nothing kept off target nodes from the start."""
    released = placements.released(view) if view.strays else ()
    told = {(one.pod, one.workload) for one in known}
    fresh = [
        recorded(one.workload, one.pod, Reason.POD_NOT_STEERED, now)
        for one in view.strays
        if one.workload not in released
    ]
    return (*known, *(one for one in fresh if (one.pod, one.workload) not in told))[:MOST_EXCEPTIONS]


def _exception(tally: Tally, pod: Pod, now: datetime) -> OrderException:
    return recorded(tally.id, pod.name, Reason.PENDING, now)


def recorded(id_: WorkloadId, pod: str, reason: Reason, now: datetime) -> OrderException:
    """That a pod goes before its turn."""
    return OrderException(
        pod=_named(f"{id_.namespace}/{pod}"),
        workload=_named(id_),
        reason=reason.value,
        at=now.replace(microsecond=0),
    )


def _named(what: object) -> str:
    """As much of it as a status has room for."""
    return str(what)[:256]
