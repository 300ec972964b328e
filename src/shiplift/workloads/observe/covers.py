"""The budgets that there are, which of them hold workloads for us, and which workloads each covers.

What is kept true: a workload is noted under those budgets, and only those, that its latest tally names.
"""

from __future__ import annotations

from collections.abc import Iterable

from shiplift.facts.pods import Pod
from shiplift.facts.workloads import Deployment, PodDisruptionBudget, StatefulSet
from shiplift.pdb.coverage import covering
from shiplift.pdb.holds import is_hold
from shiplift.pdb.index import BudgetIndex, Cover
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.model import Tally


class Covers:
    """For one thread; all by the uid of the budget."""

    def __init__(self) -> None:
        self.budgets: dict[str, PodDisruptionBudget] = {}
        self.holds: dict[str, PodDisruptionBudget] = {}
        """Those of them that are ours."""
        self.workloads: dict[str, dict[WorkloadId, None]] = {}
        self._selecting = BudgetIndex()

    def take(self, uid: str, now: PodDisruptionBudget | None) -> bool:
        """How one stands now; whether it covers other pods than before."""
        before = self.budgets.get(uid)
        selects_the_same = now is not None and before is not None and now.selector == before.selector
        if before is not None and not selects_the_same:
            self._drop(before)
        if now is not None:
            self.put(now)
        return not selects_the_same

    def put(self, row: PodDisruptionBudget) -> None:
        self.budgets[row.uid] = row
        self._selecting.put(row)
        if is_hold(row):
            self.holds[row.uid] = row
        else:
            self.holds.pop(row.uid, None)

    def _drop(self, row: PodDisruptionBudget) -> None:
        del self.budgets[row.uid]
        self.holds.pop(row.uid, None)
        self._selecting.drop(row)

    def of(self, row: Deployment | StatefulSet, pods: Iterable[Pod]) -> Cover:
        """What covers a workload's pods."""
        return self._selecting.cover(row, pods)

    def note(self, before: Tally | None, after: Tally | None) -> None:
        """A workload was tallied anew, or is gone."""
        had, has = covering(before) if before else (), covering(after) if after else ()
        if had == has:
            return
        for uid in had:
            if before is not None and before.id in self.workloads.get(uid, {}):
                del self.workloads[uid][before.id]
        for uid in has:
            if after is not None:
                self.workloads.setdefault(uid, {})[after.id] = None
