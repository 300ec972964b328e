"""Pods of which workloads a selector picks: by the pods' own labels, and by the template for pods to come.

Made for one decision, and for a namespace only when it is asked for: with many workloads to hold, each is
looked up by one label that its selector asks for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property

from shiplift.facts.meta import Labels
from shiplift.facts.selectors import Selector
from shiplift.facts.workloads import PodDisruptionBudget
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.model import Tally, View

_ANY = ("", "")
Owners = dict[Labels, dict[WorkloadId, None]]


class Picking:
    """The pods of all workloads, by their labels; and the budgets that cover none of them yet."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._by_label: dict[str, Mapping[tuple[str, str], Owners]] = {}

    @cached_property
    def _in(self) -> Mapping[str, list[Tally]]:
        found: defaultdict[str, list[Tally]] = defaultdict(list)
        for id_, tally in self._view.tallies.items():
            found[id_.namespace].append(tally)
        return found

    @cached_property
    def _idle(self) -> Mapping[str, list[PodDisruptionBudget]]:
        found: defaultdict[str, list[PodDisruptionBudget]] = defaultdict(list)
        for row in self._view.budgets.values():
            if not self._view.covers.get(row.uid):
                found[row.namespace].append(row)
        return found

    def picked(self, namespace: str, selector: Selector) -> list[WorkloadId]:
        """The workloads of which it picks a pod."""
        asked = min(selector.labels.items(), default=_ANY)
        tried = self._owners(namespace).get(asked, {})
        return list(
            dict.fromkeys(id_ for labels in tried if selector.matches(labels) for id_ in tried[labels])
        )

    def to_come(self, tally: Tally) -> PodDisruptionBudget | None:
        """A budget that covers nobody yet, and would cover pods of the workload that get one more label."""
        labels = tally.row.template_labels
        return next((one for one in self._idle.get(tally.id.namespace, ()) if _may_select(one, labels)), None)

    def _owners(self, namespace: str) -> Mapping[tuple[str, str], Owners]:
        if namespace not in self._by_label:
            self._by_label[namespace] = _by_label(self._in.get(namespace, ()))
        return self._by_label[namespace]


def _by_label(tallies: Iterable[Tally]) -> Mapping[tuple[str, str], Owners]:
    found: defaultdict[tuple[str, str], Owners] = defaultdict(dict)
    for tally in tallies:
        for labels in {tally.row.template_labels, *(pod.labels for pod in tally.pods)}:
            for label in (_ANY, *labels.items()):
                found[label].setdefault(labels, {})[tally.id] = None
    return found


def _may_select(row: PodDisruptionBudget, labels: Labels) -> bool:
    """It asks for a label that they have, for some that they lack, and for none that they contradict."""
    asked = row.selector.labels if row.selector else Labels()
    agrees = any(labels.get(key) == value for key, value in asked.items())
    return agrees and all(labels.get(key, value) == value for key, value in asked.items())
