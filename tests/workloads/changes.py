"""What can happen in a cluster, each a change of the world by a number: for tests of any events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from benchmarks.decide import make
from shiplift.api.marks import HOLD_LEDGER, MANAGED_BY, MANAGER, TARGET_LABEL
from shiplift.api.workloads import WorkloadKind
from shiplift.facts.cluster import Namespace
from shiplift.facts.meta import Labels, Owner
from shiplift.facts.nodes import Node
from shiplift.facts.pods import HostPort, Pod, PodSpec, PodTerm
from shiplift.facts.quantities import Resources
from shiplift.facts.selectors import Requirement, Selector
from shiplift.facts.workloads import (
    Deployment,
    HorizontalPodAutoscaler,
    PodDisruptionBudget,
    ReplicaSet,
    StatefulSet,
)
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.names import SKIP
from tests.model import nature
from tests.workloads.world import NEW, OLD, SPACE, World

SHARED_LABELS = Labels(app="anywhere")
"""One object for pods of any namespace, as in the store."""
KEEPS_OTHERS_OFF = PodSpec(
    requests=Resources(cpu=100, memory=3, storage=2, extended=(("example.com/gpu", 1),)),
    anti_affinity=(PodTerm(Selector(Labels()), "kubernetes.io/hostname"),),
    host_ports=(HostPort(80, "TCP", ""),),
)
Change = Callable[[World, int], None]


def pick(rows: list[Any], number: int) -> Any:
    return rows[number % len(rows)] if rows else None


def populated() -> World:
    """Four nodes and four workloads, whose pods are still to come."""
    world = World()
    for number in range(4):
        put_node(world, number)
        put_workload(world, number)
    return world


def tick(world: World, _number: int) -> None:
    nature.tick(world)


def put_node(world: World, number: int) -> None:
    """One that is there already changes its version, or is closed."""
    node = world.named(Node, f"n{number % 4}", "")
    if node is None:
        world.node(f"n{number % 4}", NEW if number % 2 else OLD, room=number % 3 + 2)
    else:
        other = OLD if node.kubelet_version == NEW else NEW
        world.put(msgspec.structs.replace(node, kubelet_version=other, unschedulable=number % 3 == 0))


def close_node(world: World, number: int) -> None:
    """Its role stays what it is."""
    node = pick(world.all(Node), number)
    if node is not None:
        world.put(msgspec.structs.replace(node, unschedulable=not node.unschedulable))


def mark_node(world: World, number: int) -> None:
    node = pick(world.all(Node), number)
    if node is not None:
        labels = {**node.labels, TARGET_LABEL: pick([NEW, OLD], number)}
        world.put(msgspec.structs.replace(node, labels=Labels(labels)))


def drop_node(world: World, number: int) -> None:
    node = pick(world.all(Node), number)
    if node is not None:
        world.remove(node)


def put_workload(world: World, number: int) -> None:
    kind = WorkloadKind.DEPLOYMENT if number % 3 else WorkloadKind.STATEFUL_SET
    space = SPACE if number % 5 else "back"
    id_ = WorkloadId(kind.value, space, f"w{number % 4}")
    row = world.row_of(id_)
    if row is None:
        world.workload(kind, id_.name, number % 4, space, tier="shared" if number % 2 else "")
        return
    labels = Labels({"app": id_.name} | ({"tier": "shared"} if number % 2 else {}))
    skip = Labels({SKIP: "true"}) if number % 7 == 0 else Labels()
    world.put(msgspec.structs.replace(row, replicas=number % 4, template_labels=labels, annotations=skip))


def drop_workload(world: World, number: int) -> None:
    row = pick([*world.all(Deployment), *world.all(StatefulSet)], number)
    if row is not None:
        world.remove(row)


def end_workload(world: World, number: int) -> None:
    """It is asked to go, and stays for a while."""
    row = pick([*world.all(Deployment), *world.all(StatefulSet)], number)
    if row is not None:
        world.put(msgspec.structs.replace(row, deleting=1))


def change_pod(world: World, number: int) -> None:
    pod = pick(world.all(Pod), number)
    if pod is not None:
        ways: list[dict[str, Any]] = [
            {"ready": not pod.ready},
            {"deleting": 1, "disruption": "EvictionByEvictionAPI"},
            {"phase": "Succeeded"},
            {"node": "n9"},
            {"node": "", "nominated_node": "n1"},
            {"owners": ()},
            {"labels": SHARED_LABELS},
            {"spec": KEEPS_OTHERS_OFF},
        ]
        world.put(msgspec.structs.replace(pod, **ways[number % len(ways)]))


def label_pod(world: World, number: int) -> None:
    """Somebody sets or takes off a label at run time."""
    pod = pick(world.all(Pod), number)
    if pod is not None:
        labels = {key: value for key, value in pod.labels.items() if key != "role"}
        role = pick([{"role": "primary"}, {"role": "replica"}, {}, {"tier": "shared"}], number)
        world.put(msgspec.structs.replace(pod, labels=Labels(labels | role)))


def drop_pod(world: World, number: int) -> None:
    pod = pick(world.all(Pod), number)
    if pod is not None:
        world.remove(pod)


def drop_set(world: World, number: int) -> None:
    one = pick(world.all(ReplicaSet), number)
    if one is not None:
        world.remove(one)


def give_set(world: World, number: int) -> None:
    """A ReplicaSet loses its owner, or another Deployment takes it."""
    one = pick(world.all(ReplicaSet), number)
    if one is None:
        return
    new = pick([row for row in world.all(Deployment) if row.namespace == one.namespace], number // 2)
    owners = () if number % 3 == 0 or new is None else (Owner("Deployment", new.name, new.uid, True),)
    world.put(msgspec.structs.replace(one, owners=owners))


def put_budget(world: World, number: int) -> None:
    """One that is there gets another selector, a label or an annotation."""
    space = SPACE if number % 5 else "back"
    selectors = [
        Selector(Labels(app=f"w{number % 4}")),
        Selector(Labels(tier="shared")),
        Selector(Labels()),
        Selector(Labels(), (Requirement("app", "In", ("w0", "w1")),)),
        None,
        Selector(Labels(role="primary")),
        Selector(Labels(app=f"w{number % 4}", role="replica")),
        Selector(Labels(), (Requirement("role", "DoesNotExist"),)),
    ]
    row = world.named(PodDisruptionBudget, f"b{number % 3}", space)
    fresh = row or make(PodDisruptionBudget, f"b{number % 3}", namespace=space, uid=f"b-{world.number()}")
    world.put(
        msgspec.structs.replace(
            fresh,
            selector=selectors[number % len(selectors)],
            labels=Labels({MANAGED_BY: MANAGER}) if number % 4 == 0 else Labels(),
            annotations=Labels({HOLD_LEDGER: "1"}) if number % 6 == 0 else Labels(),
        )
    )


def drop_budget(world: World, number: int) -> None:
    row = pick(world.all(PodDisruptionBudget), number)
    if row is not None:
        world.remove(row)


def put_autoscaler(world: World, number: int) -> None:
    """One that is there gets another workload to scale."""
    row = world.named(HorizontalPodAutoscaler, f"h{number % 2}")
    fresh = row or make(HorizontalPodAutoscaler, f"h{number % 2}", namespace=SPACE, uid=f"h-{world.number()}")
    world.put(msgspec.structs.replace(fresh, target_kind="Deployment", target_name=f"w{number % 4}"))


def drop_autoscaler(world: World, number: int) -> None:
    row = pick(world.all(HorizontalPodAutoscaler), number)
    if row is not None:
        world.remove(row)


def end_namespace(world: World, number: int) -> None:
    row = pick(world.all(Namespace), number)
    if row is not None:
        world.put(msgspec.structs.replace(row, deleting=1))


def renew_namespace(world: World, number: int) -> None:
    """It is deleted with all that is in it, and made again."""
    row = pick(world.all(Namespace), number)
    if row is None:
        return
    everything = [*world.all(Pod), *world.all(ReplicaSet), *world.all(Deployment), *world.all(StatefulSet)]
    for one in [*everything, *world.all(PodDisruptionBudget), *world.all(HorizontalPodAutoscaler)]:
        if one.namespace == row.name:
            world.remove(one)
    world.remove(row)
    world.put(make(Namespace, row.name, uid=f"space-{world.number()}", phase="Active"))


def put_order(world: World, number: int) -> None:
    ids = [WorkloadId("Deployment", SPACE, f"w{one}") for one in range(4)]
    world.order(f"o{number % 2}", [(ids[number % 4], ids[(number + 1) % 4])])


OFTEN: tuple[Change, ...] = (
    tick,
    put_node,
    close_node,
    mark_node,
    put_workload,
    change_pod,
    label_pod,
    put_budget,
    put_autoscaler,
    put_order,
)


SELDOM: tuple[Change, ...] = (
    drop_node,
    drop_workload,
    end_workload,
    drop_pod,
    drop_set,
    give_set,
    drop_budget,
    drop_autoscaler,
    end_namespace,
    renew_namespace,
)
"""What takes something away: too much of it, and nothing is left to count."""


CHANGES = OFTEN * 4 + SELDOM
