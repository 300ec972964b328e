"""What the API server does with the writes of any layer: the Eviction API, and patches of documents."""

from __future__ import annotations

import copy
from typing import Any

import msgspec

from shiplift.engine import pointer
from shiplift.facts.pods import Pod
from shiplift.facts.workloads import PodDisruptionBudget
from tests.model import nature
from tests.model.world import Json, World

_EVICTED = "EvictionByEvictionAPI"
"""Why a pod that was evicted is disrupted, as its condition says."""


class RefusedError(Exception):
    """The server says no; nothing has changed."""


def evict(world: World, pod: Pod) -> None:
    """The Eviction API: by the one budget, as its status stands."""
    if not pod.deleting and pod.phase != "Pending":
        budgets = world.selecting(pod)
        if len(budgets) > 1:
            raise RefusedError("this pod has more than one PodDisruptionBudget")
        if budgets:
            _spend(world, budgets[0], pod)
    nature.delete(world, msgspec.structs.replace(pod, disruption=_EVICTED))


def _spend(world: World, budget: PodDisruptionBudget, pod: Pod) -> None:
    if not pod.ready:
        healthy = budget.current_healthy >= budget.desired_healthy > 0
        if budget.unhealthy_policy == "AlwaysAllow" or healthy:
            return
    if budget.observed_generation < budget.generation or budget.disruptions_allowed <= 0:
        raise RefusedError(f"budget {budget.name} needs {budget.desired_healthy} healthy pods")
    world.noted[budget.uid, pod.name] = int(world.now.timestamp())
    world.put(
        msgspec.structs.replace(
            budget,
            disruptions_allowed=budget.disruptions_allowed - 1,
            disrupted_pods=tuple(sorted({*budget.disrupted_pods, pod.name})),
        )
    )


def with_patch(document: Json, patch: list[Json]) -> Json:
    """The document after a JSON patch of ours."""
    new: Any = copy.deepcopy(document)
    for one in patch:
        new = pointer.put(new, one["path"], one.get("value", pointer.ABSENT))
    return new
