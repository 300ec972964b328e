"""What a question about budgets is asked of: all budgets, the owners that each covers, and their pods.

A layer's own view of a cluster satisfies these as it is; nothing is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, Protocol

from shiplift.facts.pods import Pod
from shiplift.facts.workloads import Deployment, PodDisruptionBudget, StatefulSet


class Owner(Protocol):
    """One workload and its pods. Pods that have ended do not count."""

    @property
    def row(self) -> Deployment | StatefulSet: ...
    @property
    def pods(self) -> tuple[Pod, ...]:
        """All that are not on their way out."""
        ...

    @property
    def evicting(self) -> tuple[Pod, ...]:
        """Its pods that we are evicting, and nothing shows it yet; not among `pods`."""
        ...

    @property
    def leaving(self) -> int:
        """How many pods are terminating or being evicted, or have lost their node."""
        ...

    @property
    def ready(self) -> int: ...
    @property
    def rolling(self) -> bool:
        """Whether a rollout is under way."""
        ...

    @property
    def budgets(self) -> tuple[str, ...]:
        """The budgets, by uid, that cover its pods as its template makes them."""
        ...

    @property
    def apart(self) -> Mapping[str, tuple[str, ...]]:
        """The budgets of those pods, by uid, whose own labels are covered otherwise than the template's."""
        ...


class Books(Protocol):
    """All budgets of a cluster, and all owners of pods."""

    @property
    def budgets(self) -> Mapping[str, PodDisruptionBudget]:
        """By uid."""
        ...

    @property
    def covers(self) -> Mapping[str, Mapping[Any, None]]:
        """The owners of which each budget covers a pod."""
        ...

    @property
    def picked(self) -> Callable[[PodDisruptionBudget], Iterable[Pod]]:
        """All pods that a budget selects, whoever owns them."""
        ...

    @property
    def tallies(self) -> Mapping[Any, Owner]: ...
    @property
    def nodes(self) -> Container[str]:
        """The names of all nodes that there are."""
        ...
