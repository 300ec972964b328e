"""Situations, by the gate that each finds closed."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from shiplift.api.marks import HOLD_LEDGER, QUORUM_HOLD, TARGET_LABEL, UPGRADE_TAINT, label_value
from shiplift.api.placements import Turn
from shiplift.api.workloads import Hold, Mode, OnBlockedWorkload, OnNoCapacity
from shiplift.facts.kinds import WORKLOAD_ORDER
from shiplift.facts.meta import Labels
from shiplift.facts.nodes import Node
from shiplift.facts.pods import PodSpec, Toleration
from shiplift.facts.selectors import NodeTerm, Requirement
from shiplift.facts.workloads import PodDisruptionBudget
from shiplift.workloads.model import Reason
from shiplift.workloads.record import Record, Surge
from tests.workloads.face.passing import (
    API,
    NOW,
    WEB,
    a_budget,
    a_shop,
    pods_of,
    released,
    told,
    without_room,
)
from tests.workloads.views import DEPLOYMENT, change, say, under_way
from tests.workloads.world import NEW, World

TOLERATES = Toleration(UPGRADE_TAINT, "Equal", label_value(NEW), "NoSchedule")


def a_template_that_keeps_off() -> World:
    world = a_shop()
    row = world.row_of(WEB)
    assert row is not None
    terms = (NodeTerm((Requirement(TARGET_LABEL, "NotIn", (NEW,)),)),)
    change(world, "web", template=msgspec.structs.replace(row.template, node_terms=terms))
    return world


def without_target_nodes(world: World) -> World:
    for node in world.all(Node):
        if node.kubelet_version == NEW:
            world.remove(node)
    return world


def an_odd_order() -> World:
    world = a_shop()
    world.spoil(WORKLOAD_ORDER, "odd", "not a list")
    return world


def a_dependency() -> World:
    world = under_way((DEPLOYMENT, "web", 2), (DEPLOYMENT, "api", 2))
    world.order("order", [(WEB, API)])
    say(world, {WEB.owner_key: Turn.HELD, API.owner_key: Turn.RELEASED})
    return world


def no_taints() -> World:
    world = a_shop(mode=Mode.TEMPLATE)
    for node in world.all(Node):
        world.put(msgspec.structs.replace(node, taints=()))
    return world


def a_full_placement() -> World:
    world = under_way((DEPLOYMENT, "web", 1), (DEPLOYMENT, "api", 1))
    say(world, {API.owner_key: Turn.RELEASED})
    return world


def a_young_node() -> World:
    world = a_shop()
    world.node("new-3", NEW, created=NOW - 1)
    return world


def another_architecture() -> World:
    world = a_shop()
    for node in world.all(Node):
        own = "arm64" if node.kubelet_version == NEW else "amd64"
        world.put(msgspec.structs.replace(node, architecture=own))
    return world


def between_old_nodes() -> World:
    world = a_shop(2, on_no_capacity=OnNoCapacity.CONSOLIDATE)
    assert world.migration is not None
    world.publish(msgspec.structs.replace(world.migration.status, emptying="old-1"))
    world.put(msgspec.structs.replace(pods_of(world)[1], deleting=True))
    return world


def an_unmarked_node() -> World:
    world = released(a_shop())
    row = world.named(Node, "old-1", "")
    assert row is not None
    world.put(msgspec.structs.replace(row, labels=Labels({})))
    return world


def a_held_budget() -> World:
    world = released(a_shop(hold=Hold.ALWAYS))
    world.budget("web", {"app": "web"}, {"maxUnavailable": 1})
    row = world.named(PodDisruptionBudget, "web")
    assert row is not None
    world.put(msgspec.structs.replace(row, annotations=Labels({HOLD_LEDGER: "1"})))
    return world


def another_namespace() -> World:
    world = released(a_shop())
    world.workload(DEPLOYMENT, "api", 1, namespace="back")
    return world


def a_rollout() -> World:
    world = released(a_shop())
    change(world, "web", generation=9, observed_generation=8)
    return world


def a_swap() -> World:
    world = released(a_shop())
    change(world, "web", annotations=Labels({QUORUM_HOLD: "store"}))
    return world


def an_older_template() -> World:
    world = a_shop(mode=Mode.TEMPLATE)
    change(world, "web", template=PodSpec(tolerations=(TOLERATES,)))
    say(world, records={WEB.owner_key: Record(toleration=NEW)})
    return world


def a_template() -> World:
    world = a_shop(mode=Mode.TEMPLATE)
    say(world, records={WEB.owner_key: Record(toleration=NEW)})
    return world


def exhausted() -> World:
    world = a_budget(maxUnavailable=1)
    row = world.named(PodDisruptionBudget, "web")
    assert row is not None
    world.put(msgspec.structs.replace(row, disruptions_allowed=0, current_healthy=2))
    return world


Situation = tuple[Callable[[], World], str, Reason, str]


SEEN: tuple[Situation, ...] = (
    (
        an_odd_order,
        "everything in its namespace can be read",
        Reason.UNREADABLE,
        "WorkloadOrder shop/odd cannot be read (not a list); repair it, or delete it",
    ),
    (
        a_dependency,
        "all that it depends on have moved",
        Reason.WAITS_FOR_DEPENDENCY,
        "waits for Deployment shop/api, 0 of 2 pods moved (said by WorkloadOrder shop/order)",
    ),
    (
        lambda: without_target_nodes(a_shop()),
        "nobody keeps it from its turn",
        Reason.WAITING_FOR_NODES,
        f"no node runs {NEW} yet",
    ),
    (
        lambda: a_shop(paused=True),
        "nobody keeps it from its turn",
        Reason.PAUSED,
        "paused; `shiplift resume` goes on",
    ),
    (no_taints, "nodes carry their taints", Reason.PREPARING, "nodes are being tainted first"),
    (
        a_full_placement,
        "its namespace's placement can name it",
        Reason.TOO_MANY,
        "its namespace has more than 1 workloads; move it yourself, or leave it out",
    ),
    (
        lambda: without_target_nodes(a_shop(mode=Mode.TEMPLATE)),
        "nodes of the target version are there",
        Reason.WAITING_FOR_NODES,
        f"no node runs {NEW} yet",
    ),
    (
        a_young_node,
        "target nodes have come before the first move",
        Reason.WAITING_FOR_NODES,
        f"nodes of {NEW} are still coming; the first move waits until none has come for 10s",
    ),
    (
        a_template_that_keeps_off,
        "its template lets its pods onto target nodes",
        Reason.TEMPLATE_KEEPS_OFF,
        "its template keeps its pods off the target nodes: take shiplift.dev/target-version",
    ),
    (
        another_architecture,
        "its images run on what target nodes are",
        Reason.UNKNOWN_ARCHITECTURE,
        "image example.com/web:1 was never seen to run on arm64, as target nodes are;",
    ),
    (
        between_old_nodes,
        "no pod of it makes room on an old node",
        Reason.CONSOLIDATING,
        "a pod of it goes from old-1 to another old node first",
    ),
    (
        lambda: without_room(a_shop()),
        "a target node has room for a pod of it",
        Reason.NO_SLOT,
        "; add target nodes, or wait",
    ),
    (a_shop, "its release is written down", Reason.ITS_TURN, "its release is being written down"),
    (
        lambda: released(a_shop(on_blocked=OnBlockedWorkload.SURGE), web=Record(surge=Surge(3, 4))),
        "no surge of it is under way",
        Reason.SURGING,
        "adds a replica",
    ),
    (
        an_unmarked_node,
        "nothing stops all moves",
        Reason.NODE_NOT_MARKED,
        "old node old-1 is being marked, so that pods do not come back to it",
    ),
    (
        lambda: told(released(a_shop()), Reason.EVICTING, "", evictions=6, most_replicas=3),
        "its pods were not evicted again and again",
        Reason.EVICTED_TOO_OFTEN,
        "stopped after 6 evictions for 3 replicas",
    ),
    (
        a_held_budget,
        "its PodDisruptionBudget is given back",
        Reason.HELD_BUDGET,
        "its PodDisruptionBudget is being given back",
    ),
    (a_template, "its template tolerates target nodes", Reason.MOVING, ""),
    (
        another_namespace,
        "every namespace has its placement",
        Reason.PREPARING,
        "the placement of back is being written first",
    ),
    (
        a_swap,
        "no quorum service swaps its binary",
        Reason.BINARY_SWAPPED,
        "QuorumService shop/store swaps the binary of its pods; they move when it is done",
    ),
    (
        a_rollout,
        "no rollout of it is running",
        Reason.ROLLOUT_RUNNING,
        "a rollout is running: 0 of 3 pods are off the old nodes",
    ),
    (
        lambda: a_budget(maxUnavailable=0),
        "a pod of its workload can be evicted at some time",
        Reason.NEVER_EVICTABLE,
        "PodDisruptionBudget shop/web needs 3 of 3 pods healthy: it never lets one go;",
    ),
    (
        lambda: released(a_shop(paused=True)),
        "the migration is not paused",
        Reason.PAUSED,
        "paused; `shiplift resume` goes on",
    ),
    (
        exhausted,
        "its PodDisruptionBudget lets it go",
        Reason.BUDGET_EXHAUSTED,
        "3 pods to move; PodDisruptionBudget shop/web needs 2 healthy pods and has just 2",
    ),
    (
        an_older_template,
        "its replacement does not come back to old nodes",
        Reason.ROLLOUT_RUNNING,
        "finish the rollout",
    ),
    (
        lambda: without_room(released(a_shop())),
        "a target node has room for it",
        Reason.NO_SLOT,
        "; add target nodes, or wait",
    ),
)
