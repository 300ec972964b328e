"""The name of a workload: its kind, its namespace and its own name."""

from __future__ import annotations

from typing import NamedTuple


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
