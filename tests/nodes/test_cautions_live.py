"""What holds a rollout back, on a real API server: windows, canary, quarantine, another rollout; and nodes
that come late, are replaced or drift."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from shiplift.facts import kinds
from shiplift.kube import node_trust
from shiplift.local.agents import FAILS
from tests.nodes.rig import Scene
from tests.operated import NEW, OLD
from tests.until import until

PLANE = {"node-role.kubernetes.io/control-plane": ""}
ALWAYS = {"schedule": "* * * * *", "duration": "24h"}


def test_nothing_is_begun_before_a_window_opens(scene: Scene) -> None:
    (node,) = scene.nodes(1)
    later = datetime.now(UTC) + timedelta(hours=6)
    closed = {"schedule": f"0 {later.hour} * * *", "duration": "1h"}
    rollout = scene.roll(windows=[closed], expectedNodeDuration="1m")
    scene.rig.start()
    until(lambda: "no window is open" in scene.status(rollout).get("message", ""))
    opens = datetime.fromisoformat(scene.status(rollout)["nextWindowTime"])
    assert (opens.hour, opens.minute) == (later.hour, 0)
    assert (scene.cordoned(node), scene.version(node)) == (False, OLD)
    scene.change(kinds.NODE_ROLLOUT, rollout, {"spec": {"windows": [ALWAYS]}})
    scene.phase(rollout, "Complete")
    assert scene.version(node) == NEW


@contextlib.contextmanager
def nodes_not_kept_to_their_own(scene: Scene) -> Iterator[None]:
    """Their policy only notes what it should refuse."""
    binding = kinds.VALIDATING_ADMISSION_POLICY_BINDING
    scene.change(binding, node_trust.NAME, {"spec": {"validationActions": ["Audit"]}})
    try:
        yield
    finally:
        scene.change(binding, node_trust.NAME, {"spec": {"validationActions": ["Deny"]}})


def test_nothing_is_begun_while_nodes_are_not_kept_to_their_own(scene: Scene) -> None:
    (node,) = scene.nodes(1)
    with nodes_not_kept_to_their_own(scene):
        rollout = scene.roll()
        scene.rig.start()
        until(lambda: "a node could give itself orders" in scene.status(rollout).get("message", ""))
        assert (scene.cordoned(node), scene.version(node)) == (False, OLD)
    scene.phase(rollout, "Complete")
    assert scene.version(node) == NEW


def test_a_canary_soaks_before_the_others_follow(scene: Scene) -> None:
    nodes = scene.nodes(3)
    rollout = scene.roll(canary={"nodes": 1, "soak": "10m"}, maxUnavailable=3)
    scene.rig.start()
    until(lambda: scene.status(rollout).get("canaryStartTime"))
    assert [scene.version(one) for one in nodes] == [NEW, OLD, OLD]
    assert not any(scene.cordoned(one) for one in nodes)
    scene.change(kinds.NODE_ROLLOUT, rollout, {"spec": {"canary": {"nodes": 1, "soak": "1s"}}})
    scene.phase(rollout, "Complete")
    assert [scene.version(one) for one in nodes] == [NEW] * 3


def test_a_node_that_fails_over_a_minor_is_quarantined_and_named(scene: Scene) -> None:
    nodes, space = scene.nodes(2), scene.namespace()
    # the first drain lasts until its agent has been told to fail: what comes before a drain goes well
    scene.deployment(space, "web", 2)
    scene.budget(space, "web", maxUnavailable=0)
    rollout = scene.roll()
    scene.rig.start()
    until(lambda: scene.record(rollout, nodes[0]).get("blockers"))
    scene.change(kinds.NODE, nodes[0], {"metadata": {"annotations": {FAILS: "WrongVersion"}}})
    scene.change(kinds.POD_DISRUPTION_BUDGET, "web", {"spec": {"maxUnavailable": 1}}, space)
    scene.phase(rollout, "Stopped")
    until(lambda: scene.record(rollout, nodes[0])["state"] == "Quarantined")
    assert nodes[0] in scene.status(rollout)["message"]
    assert scene.cordoned(nodes[0])
    assert not scene.cordoned(nodes[1])
    until(lambda: "WrongVersion" in scene.events(nodes[0]))


def test_of_two_rollouts_over_one_node_the_later_waits_and_names_the_first(scene: Scene) -> None:
    (node,), space = scene.nodes(1), scene.namespace()
    scene.deployment(space, "web", 1)
    scene.budget(space, "web", maxUnavailable=0)
    first = scene.roll()
    scene.rig.start()
    until(lambda: scene.cordoned(node))
    later = scene.roll(f"z-{scene.name}")
    until(lambda: f"NodeRollout {first}" in scene.status(later).get("message", ""))
    assert scene.status(later)["phase"] == "Pending"
    scene.change(kinds.NODE_ROLLOUT, first, {"spec": {"abort": True}})
    scene.phase(first, "Aborted")
    scene.change(kinds.POD_DISRUPTION_BUDGET, "web", {"spec": {"maxUnavailable": 1}}, space)
    scene.phase(later, "Complete")
    assert (scene.version(node), scene.residue()) == (NEW, [])


def test_a_control_plane_goes_by_the_minors_that_via_names(scene: Scene) -> None:
    (plane,) = scene.nodes(1, "p", "v1.34.2", labels=PLANE)
    (worker,) = scene.nodes(1, "w", "v1.34.2")
    rollout = scene.roll()
    scene.rig.start()
    until(lambda: "more than one minor above" in scene.status(rollout).get("message", ""))
    assert scene.residue() == []
    scene.change(kinds.NODE_ROLLOUT, rollout, {"spec": {"via": ["v1.35.4"]}})
    status = scene.phase(rollout, "Complete", 60)
    assert status["path"] == ["v1.35.4", NEW]
    assert [scene.version(one) for one in (plane, worker)] == [NEW, NEW]
    assert scene.residue() == []


def test_nodes_that_come_late_are_replaced_or_drift_are_taken_up(scene: Scene) -> None:
    nodes = scene.nodes(2)
    rollout = scene.roll()
    scene.rig.start()
    scene.phase(rollout, "Complete")
    scene.rig.cluster.nodes.set_version(nodes[0], OLD)
    until(lambda: scene.version(nodes[0]) == NEW, 30)
    scene.replace(nodes[1])
    until(lambda: scene.version(nodes[1]) == NEW, 30)
    scene.phase(rollout, "Complete")
    assert scene.residue() == []
