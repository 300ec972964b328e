"""Pods wait for the real controller manager, which was stopped when their node was cordoned."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from shiplift.facts import kinds
from shiplift.local.components import Component
from tests.nodes.rig import Scene
from tests.operated import NEW
from tests.until import until

_TOLD = "taint it with node.kubernetes.io/unschedulable"


@contextmanager
def no_controllers(scene: Scene) -> Iterator[None]:
    scene.rig.cluster.stop(Component.CONTROLLERS)
    try:
        yield
    finally:
        scene.rig.cluster.start(Component.CONTROLLERS)


@pytest.mark.long(seconds=40)
def test_no_pod_is_evicted_before_somebody_could_replace_it(scene: Scene) -> None:
    (node,), space = scene.nodes(1), scene.namespace()
    scene.deployment(space, "web", 2)
    before = {one["metadata"]["uid"] for one in scene.client.list(kinds.POD, space)}
    with no_controllers(scene):
        rollout = scene.roll()
        scene.rig.start()
        until(lambda: _TOLD in scene.record(rollout, node).get("message", ""))
        time.sleep(3)
        assert {one["metadata"]["uid"] for one in scene.client.list(kinds.POD, space)} == before
        assert not any(
            one["metadata"].get("deletionTimestamp") for one in scene.client.list(kinds.POD, space)
        )
    scene.phase(rollout, "Complete", 90)
    assert scene.version(node) == NEW
