"""Whole rollouts on a real API server: the operator as its own account, agents with the rights of nodes."""

from __future__ import annotations

import contextlib

from shiplift.cli.access import followed
from shiplift.facts import kinds
from shiplift.kube.account import Account
from shiplift.kube.errors import NotFound
from shiplift.local.agents import FAILS
from shiplift.nodes.controller import PART
from shiplift.nodes.face.undo import undo_all
from shiplift.operator import install
from tests.audit import Audit
from tests.nodes.rig import Rig, Scene, scene
from tests.operated import NEW, OLD, SPACE
from tests.rights import unused
from tests.until import until

PLANE = {"node-role.kubernetes.io/control-plane": ""}
LOOKS = {"get nodes", "get pods", "get noderollouts"}
"""Used only to see what became of a write whose answer was lost: `tests/kube/test_client_failures`."""
FORCED = {"delete pods"}
"""Used where somebody asked for `onBlocked: Force`: `test_force_ends_what_a_budget_keeps_and_only_then`."""
FORGOTTEN = {"get poddisruptionbudgets", "patch poddisruptionbudgets/status"}
"""Used where a budget takes a pod that is there for evicted: `test_forgotten_evictions`."""


def test_three_nodes_are_changed_one_after_the_other_and_given_back(scene: Scene) -> None:
    nodes, space = scene.nodes(3), scene.namespace()
    scene.deployment(space, "web", 3)
    scene.budget(space, "web", minAvailable=2)
    rollout = scene.roll()
    scene.rig.start()
    status = scene.phase(rollout, "Complete")
    assert [scene.version(one) for one in nodes] == [NEW] * 3
    assert scene.residue() == []
    assert status["progress"] == {"done": 3, "total": 3, "summary": "3/3"}
    assert "nodes" not in status
    until(lambda: {"RolloutBegun", "Drained", "RolledOut"} <= scene.events(nodes[0]))
    until(lambda: {"Started", "Complete"} <= scene.events(rollout))


def test_a_budget_that_lets_nobody_go_is_named_and_the_drain_ends_when_it_does(scene: Scene) -> None:
    (node,), space = scene.nodes(1), scene.namespace()
    scene.deployment(space, "web", 1)
    scene.budget(space, "web", maxUnavailable=0)
    rollout = scene.roll()
    scene.rig.start()
    blocker = until(lambda: scene.record(rollout, node).get("blockers"))[0]
    assert blocker["budget"] == f"{space}/web"
    assert blocker["pod"].startswith(f"{space}/web-")
    assert scene.version(node) == OLD
    scene.change(kinds.POD_DISRUPTION_BUDGET, "web", {"spec": {"maxUnavailable": 1}}, space)
    scene.phase(rollout, "Complete")
    assert scene.residue() == []


def test_force_ends_what_a_budget_keeps_and_only_then(scene: Scene) -> None:
    (node,), space = scene.nodes(1), scene.namespace()
    scene.deployment(space, "web", 1)
    scene.budget(space, "web", maxUnavailable=0)
    rollout = scene.roll(onBlocked="Force", drainTimeout="1s")
    scene.rig.start()
    scene.phase(rollout, "Complete")
    assert scene.version(node) == NEW


def test_a_node_that_fails_is_put_back_and_the_others_are_left_alone(scene: Scene) -> None:
    nodes, space = scene.nodes(2), scene.namespace()
    # the first drain lasts until its agent has been told to fail: what comes before a drain goes well
    scene.deployment(space, "web", 2)
    scene.budget(space, "web", maxUnavailable=0)
    rollout = scene.roll(version=None, software=[{"name": "containerd", "version": "2.1.5"}])
    scene.rig.start()
    until(lambda: scene.record(rollout, nodes[0]).get("blockers"))
    scene.change(kinds.NODE, nodes[0], {"metadata": {"annotations": {FAILS: "Fails"}}})
    scene.change(kinds.POD_DISRUPTION_BUDGET, "web", {"spec": {"maxUnavailable": 1}}, space)
    scene.phase(rollout, "Stopped")
    until(lambda: scene.record(rollout, nodes[0])["state"] == "Failed")
    until(lambda: not [one for one in scene.residue() if one.startswith(nodes[0])])
    assert "containerd.shiplift.dev/current-version" in scene.notes(nodes[1])
    assert scene.notes(nodes[1])["containerd.shiplift.dev/current-version"] != "2.1.5"
    until(lambda: "AgentFailed" in scene.events(nodes[0]))


def test_hooks_run_around_a_node_and_a_missing_right_is_named(scene: Scene) -> None:
    (node,), space = scene.nodes(1), scene.namespace()
    scene.change(kinds.NODE, node, {"metadata": {"labels": {"test": scene.name}}})
    template = {"spec": {"containers": [{"name": "main", "image": "none"}], "restartPolicy": "Never"}}
    hook = {
        "namespace": space,
        "serviceAccountName": "default",
        "job": {"template": template, "backoffLimit": 0},
    }
    rollout = scene.roll(hooks={"before": [{"name": "pre", **hook}], "after": [{"name": "post", **hook}]})
    scene.nodes(1, "open")  # hooks after a node run while it is cordoned
    scene.rig.start()
    until(lambda: f"shiplift manifests --hooks {space} " in scene.record(rollout, node).get("message", ""))
    assert list(scene.client.list(kinds.JOB, space)) == []
    assert not scene.cordoned(node)
    scene.grant_hooks(space)
    scene.phase(rollout, "Complete", 60)
    assert scene.residue() == []
    assert list(scene.client.list(kinds.JOB, space)) == []


def test_what_is_aborted_is_given_back_and_a_rollout_that_is_deleted_goes(scene: Scene) -> None:
    (node,), space = scene.nodes(1), scene.namespace()
    scene.deployment(space, "web", 1)
    scene.budget(space, "web", maxUnavailable=0)
    rollout = scene.roll()
    scene.rig.start()
    until(lambda: scene.cordoned(node))
    scene.change(kinds.NODE_ROLLOUT, rollout, {"spec": {"abort": True}})
    scene.phase(rollout, "Aborted")
    assert scene.residue() == []
    again = scene.roll(f"again-{scene.name}")
    until(lambda: scene.cordoned(node))
    uid = scene.client.get(kinds.NODE_ROLLOUT, again)["metadata"]["uid"]
    scene.client.delete(kinds.NODE_ROLLOUT, again, uid=uid)
    until(lambda: again not in {one["metadata"]["name"] for one in scene.client.list(kinds.NODE_ROLLOUT)})
    assert scene.residue() == []


def test_what_is_left_of_a_rollout_that_is_gone_is_taken_off(scene: Scene) -> None:
    (node,) = scene.nodes(1)
    mark = {"metadata": {"annotations": {"node.shiplift.dev/cordoned-by": "gone"}}}
    scene.change(kinds.NODE, node, mark | {"spec": {"unschedulable": True}})
    scene.rig.start()
    until(lambda: scene.residue() == [])


def test_the_printed_rights_are_enough_and_none_is_without_use(rig: Rig) -> None:
    with contextlib.suppress(NotFound):
        lease = rig.client.get(kinds.LEASE, "shiplift", SPACE)["metadata"]
        rig.client.delete(kinds.LEASE, "shiplift", SPACE, uid=lease["uid"])
    audit = Audit(rig.cluster, Account(SPACE, install.ACCOUNT))
    with scene(rig) as one:
        one.nodes(2)
        one.nodes(1, "p", labels=PLANE)
        space = one.namespace()
        one.deployment(space, "web", 2)
        rollout = one.roll()
        one.rig.start()
        one.phase(rollout, "Complete", 60)
        assert one.residue() == []
        assert one.status(rollout)["snapshot"]["machine"]
    assert audit.forbidden() == []
    assert unused(PART, audit.asked(), LOOKS | FORCED | FORGOTTEN) == set()


def test_everything_is_undone_without_an_operator(scene: Scene) -> None:
    (node,), space = scene.nodes(1), scene.namespace()
    scene.deployment(space, "web", 1)
    scene.budget(space, "web", maxUnavailable=0)
    rollout = scene.roll()
    scene.rig.start()
    until(lambda: scene.cordoned(node))
    scene.rig.stop()
    said: list[str] = []
    with followed(scene.rig.cluster.credentials(), PART.watches) as store:
        undone = undo_all(scene.client, store, said.append)
    assert undone.changes > 0
    assert said[0] == f"NodeRollout {rollout} is aborted, so that no operator begins again"
    assert scene.residue() == []
    assert scene.status(rollout)["phase"] == "Aborted"
