"""Pods that we have ended, or may have, and that the store should have shown to go by now: they are looked at
live.

What is kept true: such a pod counts as leaving until the API server says that it is there and stays. So no
other pod of its workload goes because the store is behind. A few are asked about in each look, so that no
look takes long; what was asked a moment ago is not asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from shiplift.engine.barrier import Barrier, Gone
from shiplift.facts import kinds
from shiplift.facts.pods import Pod
from shiplift.kube.store import Snapshot

ASK_AGAIN = 10.0
"""Seconds for which an answer counts."""
MOST_AT_ONCE = 3

Stays = Callable[[Pod], bool]
"""Whether the API server has that very pod, and it is not on its way out; False where it cannot be asked."""


class Doubts:
    """Remembers what was answered, by the pod's uid."""

    def __init__(self, stays: Stays, clock: Callable[[], float]) -> None:
        self._stays, self._clock = stays, clock
        self._answers: dict[str, tuple[bool, float]] = {}

    def leaving(self, unsettled: Iterable[Barrier], snapshot: Snapshot) -> frozenset[str]:
        """Those of the pods that count as leaving, by uid."""
        uids = [one.uid for one in unsettled if isinstance(one, Gone) and one.kind == kinds.POD]
        pods = [pod for uid in uids if (pod := snapshot.by_uid(Pod, uid)) is not None]
        self._answers = {pod.uid: self._answers[pod.uid] for pod in pods if pod.uid in self._answers}
        due = [pod for pod in pods if self._is_due(pod.uid)]
        for pod in due[:MOST_AT_ONCE]:
            self._answers[pod.uid] = (self._stays(pod), self._clock())
        return frozenset(pod.uid for pod in pods if not self._answers.get(pod.uid, (False,))[0])

    def _is_due(self, uid: str) -> bool:
        known = self._answers.get(uid)
        return known is None or self._clock() >= known[1] + ASK_AGAIN
