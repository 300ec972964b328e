"""An upgrade of type External on a real API server: a script plays the cloud that brings new nodes and takes
the old ones."""

from __future__ import annotations

from shiplift.facts import kinds
from tests.until import until
from tests.upgrade.rig import Upgrading

OLD, EKS, GKE = "v1.35.4-eks-9f8e7d6", "v1.36.2-eks-1a2b3c4", "v1.36.1-gke.1234000"


def on_nodes(scene: Upgrading, space: str) -> set[str]:
    return {one["spec"].get("nodeName", "") for one in scene.client.list(kinds.POD, space)}


def test_workloads_follow_to_new_nodes_of_any_suffix_and_old_nodes_may_go(scene: Upgrading) -> None:
    old, space = scene.nodes(2, "a", OLD), scene.namespace()
    scene.deployment(space, "db", 2)
    scene.deployment(space, "web", 2)
    scene.depend(space, "web", "db")
    scene.ask(type="External", desired={"version": "1.36"})
    scene.rig.start()
    status = scene.come_to(reason="Nodes")
    assert (status["turn"]["of"], status["turn"]["pools"]) == ("Nodes", [f"a-{scene.name}"])
    new = [*scene.nodes(1, "b", EKS), *scene.nodes(1, "c", GKE)]
    for name in new:
        scene.change(kinds.NODE, name, {"metadata": {"labels": {"test": scene.name}}})
    until(lambda: on_nodes(scene, space) <= set(new), 60)
    until(lambda: scene.come_to(reason="Nodes")["nodes"]["summary"] == "2/4", 60)
    scene.take(old)
    status = scene.come_to(60, phase="Upgraded")
    assert "turn" not in status
    assert status["history"][0]["version"] == "v1.36"
    assert scene.traces() == []
    assert scene.migration() is None
    assert scene.rollouts() == {}
