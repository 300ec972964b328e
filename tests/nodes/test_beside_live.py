"""Nodes are changed in place while workloads move to those that are: neither layer takes the other for a
stranger."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiplift.api.marks import HOLD_PREFIX
from shiplift.facts import kinds
from shiplift.local.cluster import Cluster
from shiplift.nodes.controller import PART
from shiplift.workloads.controller import PART as WORKLOADS
from shiplift.workloads.names import MIGRATION
from tests.nodes import rig as rigs
from tests.nodes.rig import Rig, Scene
from tests.operated import NEW
from tests.until import until


@pytest.fixture(scope="module")
def both(clusters_folder: Path) -> Iterator[Rig]:
    """The operator runs both layers."""
    cluster = Cluster(f"beside-{uuid.uuid4().hex[:8]}", clusters_folder)
    cluster.up()
    with Rig(cluster, WORKLOADS, PART) as made:
        yield made
    cluster.down()


def order(scene: Scene, space: str) -> None:
    web = {"kind": "Deployment", "name": "web", "dependsOn": [{"kind": "Deployment", "name": "db"}]}
    body = {"metadata": {"name": "order"}, "spec": {"workloads": [web]}}
    scene.client.create(kinds.WORKLOAD_ORDER, body, space)


def migration(scene: Scene) -> dict[str, object]:
    return scene.client.get(kinds.WORKLOAD_MIGRATION, MIGRATION).get("status") or {}


def test_each_pod_moves_once_and_in_order_while_its_nodes_are_changed(both: Rig) -> None:
    with rigs.scene(both) as scene:
        nodes, space = scene.nodes(3), scene.namespace()
        scene.change(kinds.NODE, nodes[0], {"spec": {"unschedulable": True}})
        scene.deployment(space, "db", 2)
        scene.deployment(space, "web", 2)
        scene.change(kinds.NODE, nodes[0], {"spec": {"unschedulable": False}})
        order(scene, space)
        spec = {"target": NEW, "waitForNodes": {"settle": "0s"}}
        scene.client.create(kinds.WORKLOAD_MIGRATION, {"metadata": {"name": MIGRATION}, "spec": spec})
        rollout = scene.roll()
        both.start()
        scene.phase(rollout, "Complete", 90)
        assert [scene.version(one) for one in nodes] == [NEW] * 3
        last = until(lambda: migration(scene).get("last"))
        assert isinstance(last, dict)
        assert (last["outcome"], last["moves"]) == ("Moved", 4)
        assert not [
            one
            for one in scene.client.list(kinds.POD_DISRUPTION_BUDGET)
            if one["metadata"]["name"].startswith(HOLD_PREFIX)
        ]
        assert scene.residue() == []
        both.stop()
        _end_migration(scene)


def _end_migration(scene: Scene) -> None:
    scene.change(kinds.WORKLOAD_MIGRATION, MIGRATION, {"metadata": {"finalizers": None}})
    uid = scene.client.get(kinds.WORKLOAD_MIGRATION, MIGRATION)["metadata"]["uid"]
    scene.client.delete(kinds.WORKLOAD_MIGRATION, MIGRATION, uid=uid)
