"""A database whose operator labels its pods at run time, with budgets that go by these labels."""

from __future__ import annotations

from typing import Any

import msgspec

from shiplift.facts.meta import Labels
from shiplift.facts.pods import Pod
from shiplift.facts.workloads import PodDisruptionBudget
from shiplift.workloads.model import View
from tests.model import nature
from tests.workloads.views import STATEFUL_SET, an_id, change, tally, under_way
from tests.workloads.world import World

DB = an_id("db", STATEFUL_SET)
PRIMARY = {"primary": {"minAvailable": 0}}
BOTH = {"primary": {"minAvailable": 0}, "replica": {"minAvailable": 1}}
Specs = dict[str, dict[str, Any]]


def a_database(*roles: str, budgets: Specs | None = None, template: str = "", **spec: Any) -> World:
    """One pod for each role (none where it is empty), and a budget for each role that is named."""
    world = under_way((STATEFUL_SET, "db", len(roles)), **spec)
    if template:
        change(world, "db", template_labels=Labels(app="db", role=template))
    for number, role in enumerate(roles):
        label(world, number, role)
    for role, limits in (BOTH if budgets is None else budgets).items():
        world.budget(role, {"app": "db", "role": role}, limits)
    nature.settle(world)
    return world


def label(world: World, number: int, role: str) -> None:
    """Its operator gives a pod a role, or takes it off."""
    pod = world.named(Pod, f"db-{number}")
    assert pod is not None
    labels = {key: value for key, value in pod.labels.items() if key != "role"}
    world.put(msgspec.structs.replace(pod, labels=Labels(labels | ({"role": role} if role else {}))))


def a_pod(view: View, number: int) -> Pod:
    return next(pod for pod in tally(view, "db").pods if pod.name == f"db-{number}")


def named(world: World, name: str) -> PodDisruptionBudget:
    row = world.named(PodDisruptionBudget, name)
    assert row is not None
    return row
