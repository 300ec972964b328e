"""How far a migration is, in numbers that agree: whatever is told of workloads, pods and waves adds up.

A workload counts with the pods that its owner wants, not with those that happen to be there: pods that are
between two nodes, and the one that a surge adds for a while, change no total.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from shiplift.api.values import Progress
from shiplift.api.workloads import Wave
from shiplift.workloads.identity import WorkloadId, owned_by
from shiplift.workloads.model import Tally, View

_MOST_WAVES = 256


class Counts:
    """The counts of one decision; `done` holds the uids of workloads that have arrived."""

    def __init__(self, view: View, done: Collection[str]) -> None:
        self._view, self._done = view, done
        self._surging = _surging(view)
        self.taking_part = [tally for tally in view.tallies.values() if not tally.skipped]

    def workloads(self) -> Progress:
        arrived = sum(tally.row.uid in self._done for tally in self.taking_part)
        return Progress.of(arrived, len(self.taking_part))

    def pods(self) -> Progress:
        """Of all together, in one pass that calls nothing: they may be many."""
        done = total = 0
        surging = self._surging
        for tally in self.taking_part:
            wanted = surging.get(tally.id, tally.row.replicas) if surging else tally.row.replicas
            there = len(tally.pods) - len(tally.away) - len(tally.pending)
            done += there if there < wanted else wanted
            total += wanted
        return Progress.of(done, total)

    def pods_of(self, tally: Tally) -> Progress:
        """Pods of the workload on target nodes, of as many as it should have."""
        wanted = self._surging.get(tally.id, tally.row.replicas)
        there = len(tally.pods) - len(tally.away) - len(tally.pending)
        return Progress.of(min(there, wanted), wanted)

    def waves(self) -> tuple[Wave, ...]:
        """By depth; who waits for a cycle, or for what is missing, is in none."""
        depth = self._view.order.depth
        total: Counter[int] = Counter()
        arrived: Counter[int] = Counter()
        for tally in self.taking_part:
            if (number := depth.get(tally.id)) is not None:
                total[number] += 1
                arrived[number] += tally.row.uid in self._done
        return tuple(
            Wave(number=number, workloads=Progress.of(arrived[number], total[number]))
            for number in sorted(total)[:_MOST_WAVES]
        )


def _surging(view: View) -> Mapping[WorkloadId, int]:
    """What the replicas were of workloads that have one more for a while."""
    found: dict[WorkloadId, int] = {}
    for namespace, placement in view.placements.items():
        for owner, record in placement.records.items():
            tally = view.tallies.get(owned_by(namespace, owner)) if record.surge else None
            if tally is not None and record.surge and tally.row.replicas == record.surge.after:
                found[tally.id] = record.surge.before
    return found
