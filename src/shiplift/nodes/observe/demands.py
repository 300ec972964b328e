"""What nodes that are not begun yet would take of budgets. It is worked out only when it is asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from shiplift.api.nodes import NodeRolloutSpec
from shiplift.drain.blocking import Question, is_free, keeping
from shiplift.drain.filters import of_daemon_set
from shiplift.drain.model import Judgement, Settings, Verdict
from shiplift.facts.pods import Pod
from shiplift.kube.store import Snapshot
from shiplift.nodes.observe.drains import Drains, settings_of
from shiplift.pdb.allowances import allowed_alone


class SnapshotDemands:
    """Of one snapshot. `drained` are nodes that are being drained: what their pods still need is taken."""

    def __init__(self, snapshot: Snapshot, drains: Drains, drained: Iterable[str]) -> None:
        self._snapshot, self._drains, self._drained = snapshot, drains, tuple(drained)
        self._known: dict[str, Counter[str]] = {}
        self._left: dict[str, int] | None = None
        self._stuck: dict[tuple[str, Settings], bool] = {}

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

    def stuck(self, node: str, spec: NodeRolloutSpec) -> bool:
        """Whether a pod of it can never go: it must not, or its budgets never let it."""
        asked = node, settings_of(spec)
        if asked not in self._stuck:
            self._stuck[asked] = any(map(self._never_goes, self._drains.judged(*asked)))
        return self._stuck[asked]

    def _never_goes(self, one: Judgement) -> bool:
        if one.verdict is not Verdict.EVICT:
            return one.verdict is Verdict.CANNOT
        wait = keeping(Question(one.pod, self._drains.covering(one.pod), 1))
        return wait is not None and wait.for_ever

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
