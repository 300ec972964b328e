"""What wakes the layer, what it may do, and what it measures."""

from __future__ import annotations

from typing import Any, cast

import pytest
from prometheus_client import generate_latest
from prometheus_client.registry import CollectorRegistry

from benchmarks.rows import make
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import MACHINE, MACHINE_POOL, NODE
from shiplift.facts.meta import Condition, Labels
from shiplift.facts.nodes import Node
from shiplift.kube.store import Store
from shiplift.machines.controller import PART, wakes
from shiplift.machines.in_cluster.tell.metrics import MachinesCollector
from shiplift.operator import install
from shiplift.operator.layers import LAYERS
from tests.machines.in_cluster.world import FakeStore, World, hosts

ONE = make(Node, "burst-0", ready=True)


@pytest.mark.parametrize(
    ("new", "wakes_it"),
    [
        ({"ready": False}, True),
        ({"labels": Labels({"a": "b"})}, True),
        ({"annotations": Labels({"kwok.x-k8s.io/node": "fake"})}, True),
        ({"deleting": 5}, True),
        ({"uid": "another"}, True),
        ({"annotations": Labels({"node.shiplift.dev/agent": "beat"}), "resource_version": 2}, False),
        ({"conditions": (Condition("DiskPressure", "False"),)}, False),
        ({"unschedulable": True}, False),
    ],
)
def test_what_of_a_node_no_pool_goes_by_wakes_nobody(new: dict[str, Any], wakes_it: bool) -> None:
    changed = make(Node, "burst-0", **{"ready": True, **new})
    assert bool(list(wakes(NODE, ONE, changed))) is wakes_it


def test_pools_machines_and_nodes_that_come_and_go_wake_it() -> None:
    assert list(wakes(NODE, None, ONE)) == list(wakes(NODE, ONE, None)) == ["cluster"]
    for kind in (MACHINE, MACHINE_POOL):
        assert list(wakes(kind, None, make(Custom, "a"))) == ["cluster"]
        assert list(wakes(kind, None, None)) == ["cluster"], "something else cannot be read now"


def test_no_other_layer_may_make_nodes_and_this_one_changes_and_deletes_nothing() -> None:
    def verbs(name: str, resource: str) -> set[str]:
        found = (rule for rule in LAYERS[name].rules if resource in rule["resources"])
        return {verb for rule in found for verb in rule["verbs"]}

    assert [name for name in LAYERS if "create" in verbs(name, "nodes")] == ["machines"]
    assert verbs("machines", "nodes") == verbs("machines", "machines") == {"get", "create"}
    assert verbs("machines", "machinepools") == {"get"}
    assert verbs("machines", "machinepools/status") == verbs("machines", "machines/status") == {"patch"}
    everything = {verb for rule in PART.rules for verb in rule["verbs"]}
    assert everything == {"get", "create", "patch"}


def test_people_write_pools_and_nobody_but_the_operator_machines() -> None:
    printed = install.manifests("shiplift-system", [PART])
    assert PART.written_by_people == (MACHINE_POOL,)
    names = {one["metadata"]["name"] for one in printed if one["kind"] == "ValidatingAdmissionPolicy"}
    assert names >= {"shiplift-bounds-of-nodes", "shiplift-fence"}


def measured(world: World) -> list[str]:
    registry = CollectorRegistry()
    registry.register(MachinesCollector(cast("Store", FakeStore(world.cluster))))
    lines = generate_latest(registry).decode().splitlines()
    return [line for line in lines if not line.startswith("#")]


def test_metrics_say_what_the_statuses_say() -> None:
    world = World()
    assert 'shiplift_machines_pools{provider="Kwok"} 0.0' in measured(world)
    world.pool("burst", 3)
    world.pool("racks", hosts("rack-0"))
    world.settle()
    world.edit("burst", replicas=2)
    world.settle()
    found = measured(world)
    for line in (
        'shiplift_machines_pools{provider="Static"} 1.0',
        'shiplift_machines_wanted{pool="burst"} 2.0',
        'shiplift_machines_made{pool="burst"} 3.0',
        'shiplift_machines_ready{pool="burst"} 2.0',
        'shiplift_machines_pool_stalled{pool="burst"} 1.0',
        "shiplift_machines_unreadable 0.0",
    ):
        assert line in found
    assert not [line for line in found if 'pool="racks"' in line], "the laptop leads it"
