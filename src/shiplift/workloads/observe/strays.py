"""Strays: pods that were made without our rule although the placement that names their workload was in force.

One of them says that new pods are steered no more, whatever the cause: until every API server has proven
again, by an answer to a question of after the stray was seen, that it goes by the placement, nothing is
evicted. No clock of anybody else counts: what is new is what the store had not shown before. A pod
that was made a moment before its turn was in force, and is heard of after, costs one question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from shiplift.api.marks import OFF_TARGET_LABEL, TARGET_LABEL, label_value
from shiplift.facts.pods import Pod
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.marks import is_kept_off
from shiplift.workloads.model import Placement, Stray, View

Since = Callable[[str, int, float], bool]
"""Whether a placement, by uid, was seen in force at that generation since that time."""


class _Steered(NamedTuple):
    """What held when pods were last looked at: which placements there were, and which were in force."""

    target: str
    placements: Mapping[str, Placement]
    in_force: Mapping[str, int]

    def keeps_off(self, id_: WorkloadId) -> str:
        """The label that new pods of the workload keep off; empty where nothing steers them."""
        placement = self.placements.get(id_.namespace)
        if placement is None or id_ not in placement.listed or placement.spec.target != self.target:
            return ""
        label = OFF_TARGET_LABEL if id_ in placement.released else TARGET_LABEL
        return label if placement.is_in_force(self.in_force) else ""


class Strays:
    """The strays that were found, until they do not matter any more."""

    def __init__(self, now: Callable[[], float], proven_since: Since) -> None:
        self._now, self._proven_since = now, proven_since
        self._found: dict[str, tuple[Stray, float]] = {}
        self._steered: _Steered | None = None

    def look(
        self, fresh: Iterable[tuple[WorkloadId, Pod]], placements: Mapping[str, Placement]
    ) -> tuple[Stray, ...]:
        """Take in the pods that are new; those of the strays that still count."""
        for id_, pod in fresh:
            if self._is_stray(id_, pod):
                self._found[pod.uid] = (Stray(id_, pod.name), self._now())
        if self._found:
            self._found = {
                uid: found for uid, found in self._found.items() if self._counts(found, placements)
            }
        return tuple(stray for stray, _ in self._found.values())

    def remember(self, view: View) -> None:
        """What the pods that come after this view are measured by."""
        self._steered = _Steered(label_value(view.target.version), view.placements, view.in_force)

    def _is_stray(self, id_: WorkloadId, pod: Pod) -> bool:
        steered = self._steered
        if steered is None or not (label := steered.keeps_off(id_)):
            return False
        return not is_kept_off(pod, label, steered.target)

    def _counts(self, found: tuple[Stray, float], placements: Mapping[str, Placement]) -> bool:
        stray, seen = found
        placement = placements.get(stray.workload.namespace)
        if placement is None or stray.workload not in placement.listed:
            return False
        return not self._proven_since(placement.row.uid, placement.row.generation, seen)
