"""The name of a workload: its kind, its namespace and its own name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from shiplift.api.orders import WorkloadRef
from shiplift.api.workloads import WorkloadKind
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind

WORKLOADS: Mapping[str, Kind] = {
    WorkloadKind.DEPLOYMENT: kinds.DEPLOYMENT,
    WorkloadKind.STATEFUL_SET: kinds.STATEFUL_SET,
}
"""The kinds of workloads that are moved, by name."""


class WorkloadId(NamedTuple):
    """One Deployment or StatefulSet; `kind` is a value of `api.workloads.WorkloadKind`."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"

    @property
    def owner_key(self) -> str:
        """How a WorkloadPlacement, which has a namespace itself, names it."""
        return f"{self.kind}.{self.name}"


def owned_by(namespace: str, owner: str) -> WorkloadId:
    """The workload that a WorkloadPlacement of that namespace calls `owner`."""
    kind, _, name = owner.partition(".")
    return workload_id(kind, namespace, name)


def named(text: str) -> WorkloadId:
    """The workload that is written so, as `str` writes it."""
    kind, _, full = text.partition(" ")
    namespace, _, name = full.partition("/")
    return workload_id(kind, namespace, name)


@lru_cache(100_000)
def workload_id(kind: str, namespace: str, name: str) -> WorkloadId:
    """The one object for that name: sets of them compare by identity then, which is much faster."""
    return WorkloadId(kind, namespace, name)


def referenced(ref: WorkloadRef, namespace: str) -> WorkloadId:
    """The workload that a WorkloadOrder of that namespace means."""
    return workload_id(str(ref.kind), ref.namespace or namespace, ref.name)
