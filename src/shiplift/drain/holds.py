"""Pods that other parts of shiplift keep where they are for a while, in words that name who does.

A migration of workloads holds those whose turn has not come: by PodDisruptionBudgets, and in the
WorkloadPlacement of their namespace. A quorum service marks its StatefulSets while its binary is swapped.
"""

from __future__ import annotations

from collections.abc import Mapping

from shiplift.api.marks import QUORUM_HOLD
from shiplift.api.placements import Turn
from shiplift.drain.model import Hold
from shiplift.facts.pods import Pod
from shiplift.facts.workloads import PodDisruptionBudget
from shiplift.pdb.holds import is_hold

TEMPLATE_HASH = "pod-template-hash"
MIGRATION = Hold(
    "WorkloadMigration cluster",
    "its turn has not come",
    "shiplift status tells when its turn comes; shiplift abort ends the migration",
)


def by_budget(budget: PodDisruptionBudget) -> Hold | None:
    """Whether a budget is there, or was changed, to hold a workload."""
    return MIGRATION if is_hold(budget) else None


def by_placement(pod: Pod, turns: Mapping[str, Turn]) -> Hold | None:
    """Whether the WorkloadPlacement of its namespace, with these turns, holds the workload of a pod."""
    return MIGRATION if turns.get(owner_key(pod)) is Turn.HELD else None


def by_quorum(pod: Pod, annotations: Mapping[str, str]) -> Hold | None:
    """Whether the annotations of a pod's StatefulSet say that a quorum service holds it."""
    service = annotations.get(QUORUM_HOLD)
    if service is None:
        return None
    name = f"QuorumService {pod.namespace}/{service}"
    return Hold(name, "its binary is being swapped on all members", f"it goes when {name} is done")


def owner_key(pod: Pod) -> str:
    """How a WorkloadPlacement names the workload of a pod; empty where it has none that is moved.

    A ReplicaSet of a Deployment is named by the Deployment and by the hash that its pods have as a label.
    """
    owner = pod.controller
    if owner is None or not owner.api_version.startswith("apps/"):
        return ""
    if owner.kind == "StatefulSet":
        return f"StatefulSet.{owner.name}"
    name, dash, hashed = owner.name.rpartition("-")
    of_deployment = owner.kind == "ReplicaSet" and dash and pod.labels.get(TEMPLATE_HASH) == hashed
    return f"Deployment.{name}" if of_deployment else ""
