"""What nodes that are not begun yet would take of budgets. It is worked out only when it is asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from shiplift.drain.blocking import is_free
from shiplift.drain.filters import of_daemon_set
from shiplift.facts.pods import Pod
from shiplift.kube.store import Snapshot
from shiplift.nodes.observe.drains import Drains
from shiplift.pdb.allowances import allowed_alone


class SnapshotDemands:
    """Of one snapshot. `drained` are nodes that are being drained: what their pods still need is taken."""

    def __init__(self, snapshot: Snapshot, drains: Drains, drained: Iterable[str]) -> None:
        self._snapshot, self._drains, self._drained = snapshot, drains, tuple(drained)
        self._known: dict[str, Counter[str]] = {}
        self._left: dict[str, int] | None = None

    def of(self, node: str) -> Counter[str]:
        """How many of its pods each budget, by uid, would have to let go."""
        if node not in self._known:
            self._known[node] = self._needs(node)
        return self._known[node]

    def left(self, budget: str) -> int:
        """How many pods more a budget lets go."""
        if self._left is None:
            self._left = self._all_left()
        return self._left.get(budget, 0)

    def _needs(self, node: str) -> Counter[str]:
        pods = (pod for pod in self._snapshot.pods_on(node) if self._would_go(pod))
        return Counter(
            row.uid
            for pod in pods
            if not is_free(pod, covering := self._drains.covering(pod))
            for row in covering
        )

    def _would_go(self, pod: Pod) -> bool:
        gone = pod.deleting or pod.finished or of_daemon_set(pod)
        return not gone and pod.uid not in self._drains.evicting

    def _all_left(self) -> dict[str, int]:
        taken = self._drains.leaving
        for node in self._drained:
            taken.update(self.of(node))
        return {row.uid: allowed_alone(row, taken[row.uid]) for row in self._drains.budgets}
