"""The operator moves itself: its pods are on nodes that are drained, changed or left, on a real server."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiplift.drain.own import ALONE
from shiplift.facts import kinds
from shiplift.local.cluster import Cluster
from shiplift.local.components import Settings
from shiplift.local.stages import GONE_AFTER
from shiplift.nodes.controller import PART as NODES
from shiplift.workloads.controller import PART as WORKLOADS
from shiplift.workloads.names import MIGRATION
from tests.nodes import rig as rigs
from tests.nodes.rig import Rig, Scene
from tests.operated import NEW, SPACE
from tests.operator.own_pods import OwnPods
from tests.until import until

PARTS = (WORKLOADS, NODES)


@pytest.fixture(scope="module")
def rig(clusters_folder: Path) -> Iterator[Rig]:
    cluster = Cluster(f"own-{uuid.uuid4().hex[:8]}", clusters_folder)
    cluster.up(Settings())
    with Rig(cluster, *PARTS) as made:
        yield made
    cluster.down()


@pytest.fixture
def scene(rig: Rig) -> Iterator[Scene]:
    with rigs.scene(rig) as made:
        yield made


def a_shop(scene: Scene) -> None:
    """Pods that take a while to end: so long a drain that others wait for lasts."""
    labels = {"app": "web"}
    container = {"name": "main", "image": "none"}
    template = {
        "metadata": {"labels": labels, "annotations": {GONE_AFTER: "3"}},
        "spec": {"terminationGracePeriodSeconds": 10, "containers": [container]},
    }
    spec = {"replicas": 4, "selector": {"matchLabels": labels}, "template": template}
    space = scene.namespace()
    scene.client.create(kinds.DEPLOYMENT, {"metadata": {"name": "web"}, "spec": spec}, space)
    until(lambda: scene.client.get(kinds.DEPLOYMENT, "web", space)["status"].get("readyReplicas") == 4, 60)


def test_another_leads_before_the_pod_that_does_is_evicted_and_its_nodes_come_last(scene: Scene) -> None:
    nodes = scene.nodes(3)
    with OwnPods(scene.rig.cluster, PARTS, replicas=2) as own:
        until(lambda: len(own.nodes() & {*nodes}) == 2)
        a_shop(scene)
        rollout = scene.roll()
        scene.phase(rollout, "Complete", 180)
        assert own.errors == []
        assert [one.led for one in own.left] == [False] * len(own.left), own.left
        assert len(own.left) >= 2, "both of its nodes were emptied"
        others = {*nodes} - {own.left[0].node, own.left[1].node}
        assert all(own.left[0].versions[name] == NEW for name in others), "its own nodes come last"
        until(own.leads)
    assert [scene.version(one) for one in nodes] == [NEW] * 3
    assert scene.residue() == []


def test_the_only_pod_says_so_beforehand_moves_and_the_rollout_ends(scene: Scene) -> None:
    nodes = scene.nodes(2)
    with OwnPods(scene.rig.cluster, PARTS, replicas=1) as own:
        a_shop(scene)
        rollout = scene.roll()
        own.look = lambda: [one.get("message", "") for one in scene.status(rollout).get("nodes", [])]
        scene.phase(rollout, "Complete", 180)
        assert own.errors == []
        assert any(ALONE in said for said in own.seen), own.seen
        assert [one.led for one in own.left] == [True]
    assert [scene.version(one) for one in nodes] == [NEW] * 2
    assert scene.residue() == []


def test_where_its_only_pod_does_not_start_elsewhere_an_operator_from_outside_goes_on(scene: Scene) -> None:
    nodes = scene.nodes(2)
    with OwnPods(scene.rig.cluster, PARTS, replicas=1) as own:
        own.without_image = None
        rollout = scene.roll()
        until(lambda: own.left and not own.leads(), 120)
        assert scene.cordoned(own.left[0].node), "nobody is there to go on"
        scene.rig.start()
        scene.phase(rollout, "Complete", 120)
        scene.rig.stop()
    assert [scene.version(one) for one in nodes] == [NEW] * 2
    assert scene.residue() == []


def test_a_migration_moves_the_operator_after_all_others_and_it_hands_over_first(scene: Scene) -> None:
    old = scene.nodes(2, "old")
    with OwnPods(scene.rig.cluster, PARTS, replicas=2) as own:
        a_shop(scene)
        new = scene.nodes(2, "new", version=NEW)
        own.look = lambda: _whereabouts(scene)
        body = {"metadata": {"name": MIGRATION}, "spec": {"waitForNodes": {"settle": "0s"}}}
        made = scene.client.create(kinds.WORKLOAD_MIGRATION, body).object
        until(lambda: len(own.left) == 2 and own.nodes() <= {*new}, 180)
        assert own.errors == []
        assert [one.led for one in own.left] == [False, False], own.left
        assert "web moves while the operator has" not in own.seen
        scene.take_away(old)
        until(lambda: _state(scene) != "Upgrade", 60)
        scene.client.delete(kinds.WORKLOAD_MIGRATION, MIGRATION, uid=made["metadata"]["uid"])
        until(lambda: not list(scene.client.list(kinds.WORKLOAD_MIGRATION)), 60)


def _state(scene: Scene) -> str:
    return scene.client.get(kinds.WORKLOAD_MIGRATION, MIGRATION).get("status", {}).get("state", "")


def _whereabouts(scene: Scene) -> Iterator[str]:
    """Whether a pod of another workload was left on an old node when one of the operator was on a new one."""
    pods = list(scene.client.list(kinds.POD))
    ours = [one for one in pods if one["metadata"]["namespace"] == SPACE]
    went = any(one["spec"].get("nodeName", "").startswith("new-") for one in ours)
    stays = any(
        one["spec"].get("nodeName", "").startswith("old-") and not one["metadata"].get("deletionTimestamp")
        for one in pods
        if one not in ours
    )
    if went and stays:
        yield "web moves while the operator has"
