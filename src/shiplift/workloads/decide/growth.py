"""Growing: where an autoscaler makes nodes for pods that wait for one, pods go before there is a place.

Without it a pool at zero never grows: no slot, so no eviction, so no pod that waits. Pods go within their
budgets, and only those that a node of the pool would take. Never more of them wait for a node than there are
target nodes, and one where there is none: so the first shows that the pool grows, before others follow. Where
it does not grow within the deadline everything stops.

Only in mode Inject: in mode Template nothing keeps a pod without a place from going back to an old node.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache

from shiplift.api.values import duration
from shiplift.api.workloads import Growing, Mode, OnNoCapacity
from shiplift.facts.pods import Pod
from shiplift.facts.quantities import milli, whole
from shiplift.room.booking import NoSlot
from shiplift.room.sample import Sample
from shiplift.workloads.model import View


def is_on(view: View) -> bool:
    """Whether pods may go before there is a place for them."""
    asked = view.spec.on_no_capacity is OnNoCapacity.PROVISION and view.spec.growing is not None
    return asked and view.target.mode is Mode.INJECT


class Growth:
    """Who waits for a new node, and who may be the next; for one decision."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._sample = _sample(view.spec.growing) if is_on(view) and view.spec.growing else None
        self._waiting: list[Pod] = []
        self._most = max(view.fleet.targets, 1)

    @property
    def on(self) -> bool:
        return self._sample is not None

    def expect(self, pods: Iterable[Pod]) -> None:
        """These are on their way, and no target node has a place for them."""
        if self._sample is not None:
            self._waiting += [pod for pod in pods if not self._sample.refuses(self._view.room, pod)]

    def ask(self, pod: Pod, found: NoSlot) -> NoSlot | None:
        """None where the pod may go and wait for a new node; else why not."""
        if self._sample is None:
            return self._only_in_inject(found)
        if why := self._sample.refuses(self._view.room, pod):
            more = f"a new node of the growing pool would not take it either ({why})"
            return NoSlot(f"{found.reason}; {more}", found.bound)
        if len(self._waiting) >= self._most:
            return NoSlot(f"{found.reason}; new nodes come first for pods that wait already")
        self._waiting.append(pod)
        return None

    def _only_in_inject(self, found: NoSlot) -> NoSlot:
        asked = self._view.spec.on_no_capacity is OnNoCapacity.PROVISION
        why = f"{found.reason}; onNoCapacity Provision needs mode Inject"
        return NoSlot(why, found.bound) if asked else found

    def left(self, now: datetime) -> tuple[float, ...]:
        """How many seconds each pod that waits for a node still has."""
        limit = duration(self._view.spec.progress_deadline).total_seconds()
        return tuple(pod.created + limit - now.timestamp() for pod in self._unscheduled())

    def overdue(self, now: datetime) -> str:
        """The pod for which the pool has not grown in time; empty where there is none."""
        for pod, left in zip(self._unscheduled(), self.left(now), strict=True):
            if left <= 0:
                return (
                    f"pod {pod.namespace}/{pod.name} has waited {self._view.spec.progress_deadline} for a new"
                    f" node of the growing pool, and none has come ({pod.unschedulable}); see why it does not"
                    " grow, or add target nodes"
                )
        return ""

    def _unscheduled(self) -> list[Pod]:
        return [pod for pod in self._waiting if pod.unschedulable and not pod.node]


@lru_cache(8)
def _sample_of(labels: frozenset[tuple[str, str]], cpu: str, memory: str, pods: int) -> Sample:
    return Sample(dict(labels), cpu=milli(cpu), memory=whole(memory), pods=pods)


def _sample(growing: Growing) -> Sample:
    size = growing.size
    return _sample_of(frozenset(growing.node_selector.items()), size.cpu, size.memory, size.pods)
