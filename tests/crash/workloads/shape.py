"""The parts that scenarios are made of: nodes of two versions, and workloads with their budgets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from shiplift.local.nodes import Pool
from shiplift.local.stages import GONE_AFTER, READY_AFTER

Json = dict[str, Any]

OLD, NEW = "v1.35.4", "v1.36.3"
OLD_POOL = Pool(name="old", count=2, version=OLD)
NEW_POOL = Pool(name="new", count=2, version=NEW)


ROLE, PRIMARY, REPLICA = "role", "primary", "replica"
"""A label that pods get at run time."""

_LEAVING = "0.2"
"""Seconds. A pod of a StatefulSet that is gone and back under its name before the disruption controller has
seen it go counts as disrupted for two minutes."""


class Workload(msgspec.Struct, frozen=True):
    """A workload of a scenario; `after` are the ids of those that it depends on."""

    name: str
    namespace: str = "shop"
    kind: str = "StatefulSet"
    replicas: int = 1
    after: tuple[str, ...] = ()
    budget: Json = {}
    """The user's PodDisruptionBudget, less its selector; none when empty."""
    roles: dict[str, Json] = {}
    """Likewise for each role; somebody labels pods with theirs as soon as they are there."""
    ready_after: float = 0.0
    """How long a pod takes to become Ready, in seconds."""

    @property
    def id(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def labels(self) -> dict[str, str]:
        return {"app": self.name}

    def manifest(self) -> Json:
        pod = {
            "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "100m"}}}],
        }
        slow = {GONE_AFTER: _LEAVING} | ({READY_AFTER: str(self.ready_after)} if self.ready_after else {})
        spec: Json = {
            "replicas": self.replicas,
            "selector": {"matchLabels": self.labels},
            "template": {"metadata": {"labels": self.labels, "annotations": slow}, "spec": pod},
        }
        spec |= {"serviceName": self.name} if self.kind == "StatefulSet" else {}
        return {"apiVersion": "apps/v1", "kind": self.kind, "metadata": self._about(), "spec": spec}

    def role_of(self, pod: str) -> str:
        """The role that a pod of that name has; empty where its workload knows no roles."""
        if not self.roles:
            return ""
        return PRIMARY if pod.endswith("-0") else REPLICA

    def limits(self) -> Iterator[tuple[dict[str, str], Json]]:
        """The labels that each of its budgets asks for, and what it says."""
        if self.budget:
            yield self.labels, self.budget
        for role, budget in self.roles.items():
            yield {ROLE: role}, budget

    def pdbs(self) -> Iterator[Json]:
        for labels, limit in self.limits():
            yield {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": self._about(labels.get(ROLE, "")),
                "spec": {"selector": {"matchLabels": labels}, **limit},
            }

    def _about(self, role: str = "") -> Json:
        return {"name": f"{self.name}-{role}" if role else self.name, "namespace": self.namespace}
