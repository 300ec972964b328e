"""What users, autoscalers and clouds do in the middle of a migration; each remembers what they wanted."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import msgspec
from hypothesis import strategies as st

from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod
from shiplift.facts.workloads import HorizontalPodAutoscaler
from shiplift.workloads.identity import WorkloadId
from tests.model import nature
from tests.workloads.players import budgets_of
from tests.workloads.sketches import Staged
from tests.workloads.world import NEW, OLD, World


class Wishes:
    """The cluster as its users want it to be, whatever we do to it meanwhile."""

    def __init__(self, staged: Staged) -> None:
        self.budgets: dict[str, Any] = budgets_of(staged.world)
        self.replicas: dict[WorkloadId, int] = staged.replicas()


Edit = Callable[[Staged, Wishes, int], None]


def change_budget(staged: Staged, wishes: Wishes, number: int) -> None:
    """Another number in the field that the budget has; whoever holds it stays out of it."""
    mine = [one for one in staged.world.documents.values() if one["metadata"]["name"] in wishes.budgets]
    if not mine:
        return
    document = copy.deepcopy(mine[number % len(mine)])
    field = "minAvailable" if "minAvailable" in document["spec"] else "maxUnavailable"
    document["spec"][field] = wanted = number % 2 + 1
    wishes.budgets[document["metadata"]["name"]]["spec"][field] = wanted
    staged.world.write_budget(document)


def change_replicas(staged: Staged, wishes: Wishes, number: int) -> None:
    """To a number that no surge could have set."""
    id_ = staged.ids[number % len(staged.ids)]
    row = staged.world.row_of(id_)
    scaled = {one.target_name for one in staged.world.all(HorizontalPodAutoscaler)}
    if row is None or id_.name in scaled:
        return
    wishes.replicas[id_] = wanted = 5 + number % 2
    staged.world.put(msgspec.structs.replace(row, replicas=wanted, generation=row.generation + 1))


def delete_workload(staged: Staged, wishes: Wishes, number: int) -> None:
    id_ = staged.ids[number % len(staged.ids)]
    row = staged.world.row_of(id_)
    if row is not None:
        wishes.replicas.pop(id_, None)
        staged.world.remove(row)


def add_node(staged: Staged, _wishes: Wishes, number: int) -> None:
    version = NEW if number % 2 else OLD
    staged.world.node(f"late-{staged.world.number()}", version)


def remove_node(staged: Staged, _wishes: Wishes, number: int) -> None:
    """A machine dies; one of each version stays."""
    version = NEW if number % 2 else OLD
    nodes = [node for node in staged.world.all(Node) if node.kubelet_version == version]
    if len(nodes) > 1:
        staged.world.remove(nodes[number % len(nodes)])


def cordon(staged: Staged, _wishes: Wishes, number: int) -> None:
    nodes = [node for node in staged.world.all(Node) if node.kubelet_version == OLD]
    if nodes:
        staged.world.put(msgspec.structs.replace(nodes[number % len(nodes)], unschedulable=True))


def kill_pod(staged: Staged, _wishes: Wishes, number: int) -> None:
    """A pod dies; no budget is asked."""
    pods = staged.world.all(Pod)
    if pods:
        nature.delete(staged.world, pods[number % len(pods)])


def roll_out(staged: Staged, _wishes: Wishes, number: int) -> None:
    """A new release of a workload."""
    row = staged.world.row_of(staged.ids[number % len(staged.ids)])
    if row is not None:
        template = msgspec.structs.replace(row.template, priority=row.template.priority + 1)
        staged.world.put(msgspec.structs.replace(row, template=template, generation=row.generation + 1))


edits = st.sampled_from(
    (
        change_budget,
        change_replicas,
        delete_workload,
        add_node,
        remove_node,
        cordon,
        kill_pod,
        roll_out,
    )
)


def uncordon_all(world: World) -> None:
    for node in world.all(Node):
        world.put(msgspec.structs.replace(node, unschedulable=False))
