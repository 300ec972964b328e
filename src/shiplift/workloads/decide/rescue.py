"""Held pods that die must fit somewhere: when others closed the old nodes, they go before their turn.

The exception to the order is recorded. In mode Inject a pending pod cannot be changed, so its workload is
released early and the pod is made again; in mode Template the pod itself is given the toleration.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec

from shiplift.api.marks import OFF_TARGET_LABEL, label_value
from shiplift.api.workloads import Mode, OrderException
from shiplift.engine.step import Step
from shiplift.facts.pods import Pod, tolerated
from shiplift.workloads.decide import placements
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.marks import is_kept_off, upgrade_taint
from shiplift.workloads.model import Reason, Tally, View
from shiplift.workloads.steps import Replace, Rescue

MOST_EXCEPTIONS = 256


class Rescued(msgspec.Struct, frozen=True):
    """Workloads released before their turn, what is done for single pods, and what to record."""

    early: frozenset[WorkloadId] = frozenset()
    steps: tuple[Step, ...] = ()
    exceptions: tuple[OrderException, ...] = ()


def rescued(view: View, now: datetime) -> Rescued:
    """Pending pods of held workloads that no open node is left for."""
    before = view.status.exceptions
    if view.target.mode is Mode.INJECT and not view.fleet.targets:
        return Rescued(steps=_brought_back(view), exceptions=before)
    if not _closed(view):
        return Rescued(exceptions=before)
    stranded = [(tally, pod) for tally in _held(view) for pod in tally.pending if pod.unschedulable]
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
        return Rescued(steps=steps, exceptions=exceptions)
    return Rescued(early=frozenset(tally.id for tally, _ in stranded), exceptions=exceptions)


def _brought_back(view: View) -> tuple[Step, ...]:
    """The target nodes are gone again: pods that were made for them are made again, for the old ones."""
    value, released = label_value(view.target.version), placements.released(view)
    return tuple(
        Replace(tally.id, pod.name, pod.uid, pod.resource_version)
        for tally in view.tallies.values()
        for pod in tally.pending
        if pod.unschedulable and tally.id not in released and is_kept_off(pod, OFF_TARGET_LABEL, value)
    )


def _closed(view: View) -> bool:
    """Whether somebody closed old nodes, or none is left."""
    return bool(view.fleet.cordoned) or not view.fleet.off


def _held(view: View) -> Iterable[Tally]:
    return (
        tally
        for id_, tally in view.tallies.items()
        if tally.pending and not tally.skipped and id_ not in view.order.ready and _may_be_stranded(view, id_)
    )


def _may_be_stranded(view: View, id_: WorkloadId) -> bool:
    """New pods of a workload that has arrived go to target nodes by themselves, but not in mode Template
    where it had no pods when it arrived."""
    return view.target.mode is Mode.TEMPLATE or id_ not in view.order.met


def out_of_turn(view: View, known: tuple[OrderException, ...], now: datetime) -> tuple[OrderException, ...]:
    """The known exceptions, and pods of held workloads that nothing kept off target nodes from the start."""
    released = placements.released(view) if view.strays else ()
    told = {(one.pod, one.workload) for one in known}
    fresh = [
        _recorded(one.workload, one.pod, Reason.POD_NOT_STEERED, now)
        for one in view.strays
        if one.workload not in released
    ]
    return (*known, *(one for one in fresh if (one.pod, one.workload) not in told))[:MOST_EXCEPTIONS]


def _exception(tally: Tally, pod: Pod, now: datetime) -> OrderException:
    return _recorded(tally.id, pod.name, Reason.PENDING, now)


def _recorded(id_: WorkloadId, pod: str, reason: Reason, now: datetime) -> OrderException:
    return OrderException(
        pod=f"{id_.namespace}/{pod}"[:256],
        workload=str(id_)[:256],
        reason=reason.value,
        at=now.replace(microsecond=0),
    )
