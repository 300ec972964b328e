"""Finds the PodDisruptionBudgets that select given labels: only those that ask for one of them are tried.

Pods are many, and nearly all have the budgets of their template. So it is also known, for each namespace,
which keys its budgets ask for: labels that agree in these have the same budgets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from shiplift.facts.meta import Labels
from shiplift.facts.pods import Pod
from shiplift.facts.selectors import Selector
from shiplift.facts.workloads import PodDisruptionBudget, Workload

_NO_LABEL = ("", "")
_NONE_APART: Mapping[str, tuple[str, ...]] = {}


class Cover(NamedTuple):
    """The budgets of a template, and those of pods, by uid, that have others."""

    budgets: tuple[str, ...]
    apart: Mapping[str, tuple[str, ...]]


class BudgetIndex:
    """Budgets by what they ask for."""

    def __init__(self) -> None:
        self._by_label: dict[str, dict[tuple[str, str], dict[str, Selector]]] = {}
        """By namespace, then by one label that their selectors ask for (`_NO_LABEL`: for none)."""
        self._keys: dict[str, dict[str, int]] = {}
        """By namespace: how many selectors ask for each key."""

    def put(self, row: PodDisruptionBudget) -> None:
        """A budget that is new, or is known with the same selector."""
        if row.selector is None:
            return
        alike = self._by_label.setdefault(row.namespace, {}).setdefault(_asked(row.selector), {})
        if row.uid not in alike:
            alike[row.uid] = row.selector
            keys = self._keys.setdefault(row.namespace, {})
            for key in _keys(row.selector):
                keys[key] = keys.get(key, 0) + 1

    def drop(self, row: PodDisruptionBudget) -> None:
        if row.selector is None:
            return
        by_label, asked = self._by_label[row.namespace], _asked(row.selector)
        del by_label[asked][row.uid]
        if not by_label[asked]:
            del by_label[asked]
        keys = self._keys[row.namespace]
        for key in _keys(row.selector):
            keys[key] -= 1
            if not keys[key]:
                del keys[key]

    def selecting(self, namespace: str, labels: Labels) -> tuple[str, ...]:
        """The budgets that select a pod with these labels, by uid."""
        by_label = self._by_label.get(namespace)
        if not by_label:
            return ()
        tried = [by_label[label] for label in (_NO_LABEL, *labels.items()) if label in by_label]
        found = [uid for some in tried for uid, selector in some.items() if selector.matches(labels)]
        return tuple(sorted(found) if len(found) > 1 else found)

    def cover(self, row: Workload, pods: Iterable[Pod]) -> Cover:
        """What covers the pods of a workload: those that end or have ended do not count."""
        namespace, template = row.namespace, row.template_labels
        own, keys = self.selecting(namespace, template), self._keys.get(namespace)
        if not keys or _fixed(row, keys):
            return Cover(own, _NONE_APART)
        found: dict[str, tuple[str, ...]] = {}
        last, budgets = template, own
        for pod in pods:
            if pod.labels is not last:  # siblings share theirs
                last = pod.labels
                budgets = own if _agree(keys, template, last) else self.selecting(namespace, last)
            if budgets is not own and budgets != own and not pod.deleting and not pod.finished:
                found[pod.uid] = budgets
        return Cover(own, found or _NONE_APART)


def _fixed(row: Workload, keys: dict[str, int]) -> bool:
    """Whether no pod can differ in these: one that its owner's selector picks no more is no pod of its."""
    return row.selector is not None and keys.keys() <= row.selector.labels.keys()


def _agree(keys: Iterable[str], one: Labels, other: Labels) -> bool:
    for key in keys:  # noqa: SIM110 - a plain loop: this is asked for very many pods
        if one.get(key) != other.get(key):
            return False
    return True


def _asked(selector: Selector) -> tuple[str, str]:
    """One label that a budget asks for, to find it by."""
    return min(selector.labels.items(), default=_NO_LABEL)


def _keys(selector: Selector) -> set[str]:
    return {*selector.labels, *(one.key for one in selector.expressions)}
