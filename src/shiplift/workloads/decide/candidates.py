"""Which pods of a workload go first, and for which of those to come places are kept."""

from __future__ import annotations

from collections.abc import Sequence

from shiplift.api.marks import TARGET_LABEL, label_value
from shiplift.facts.pods import Pod
from shiplift.facts.workloads import StatefulSet
from shiplift.pdb.coverage import one_of_each
from shiplift.room.booking import Booking, NoSlot
from shiplift.workloads.marks import is_kept_off
from shiplift.workloads.model import Tally


def in_order(tally: Tally) -> list[Pod]:
    """The pods to move: those that serve nobody first, then from the highest ordinal down."""
    if isinstance(tally.row, StatefulSet):
        return sorted(tally.away, key=lambda pod: (pod.ready, -_ordinal(pod)))
    return sorted(tally.away, key=lambda pod: (pod.ready, pod.node, pod.name))


def first_of_each(tally: Tally) -> Sequence[Pod]:
    """Of the pods to move, the first of those that are covered alike."""
    return one_of_each(tally, in_order(tally)) if tally.apart else tally.away[:1]


def misplaced(tally: Tally, target: str) -> list[Pod]:
    """Pending pods that can never go to target nodes: they were made while the workload was held."""
    value = label_value(target)
    return [pod for pod in tally.pending if pod.unschedulable and is_kept_off(pod, TARGET_LABEL, value)]


def book_expected(booking: Booking, tally: Tally) -> Sequence[Pod]:
    """Replacements that are pending, or that the owner will make in a moment, have their slots first; and so
    have those of pods that are being evicted. Those that find none are told."""
    missing = tally.row.replicas - len(tally.pods) - len(tally.evicting)
    if missing <= 0 and not tally.pending and not tally.evicting:
        return ()
    found = [(pod, booking.book(pod, leaving=False)) for pod in tally.pending]
    found += [(pod, booking.book(pod)) for pod in tally.evicting]
    if tally.alike is not None and not tally.rolling:
        alike = tally.alike
        found += [(alike, booking.book(alike, leaving=False)) for _ in range(missing)]
    return [pod for pod, slot in found if isinstance(slot, NoSlot)]


def _ordinal(pod: Pod) -> int:
    tail = pod.name.rpartition("-")[2]
    return int(tail) if tail.isdecimal() else 0
