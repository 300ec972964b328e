"""An upgrade of type External on a real API server: a script plays the cloud that brings new nodes and takes
the old ones."""

from __future__ import annotations

from shiplift.api.marks import TURN_TOLD
from shiplift.facts import kinds
from tests.until import until
from tests.upgrade.rig import Upgrading

JOB_SPEC = {"template": {"spec": {"containers": [{"name": "main", "image": "none"}]}}}
OLD, EKS, GKE = "v1.35.4-eks-9f8e7d6", "v1.36.2-eks-1a2b3c4", "v1.36.1-gke.1234000"


def on_nodes(scene: Upgrading, space: str) -> set[str]:
    return {one["spec"].get("nodeName", "") for one in scene.client.list(kinds.POD, space)}


def test_workloads_follow_to_new_nodes_of_any_suffix_and_old_nodes_may_go(scene: Upgrading) -> None:
    old, space, cloud = scene.nodes(2, "a", OLD), scene.namespace(), scene.namespace()
    scene.deployment(space, "db", 2)
    scene.deployment(space, "web", 2)
    scene.depend(space, "web", "db")
    hook = {"name": "begin", "namespace": cloud, "serviceAccountName": "default", "job": JOB_SPEC}
    scene.ask(type="External", desired={"version": "1.36"}, turnHook=hook)
    scene.rig.start()
    status = scene.come_to(reason="Nodes")
    until(lambda: "shiplift manifests --hooks" in scene.told["message"], 60)
    scene.grant_hooks(cloud)
    (job,) = until(lambda: list(scene.client.list(kinds.JOB, cloud)), 60)
    (container,) = job["spec"]["template"]["spec"]["containers"]
    told = {one["name"]: one["value"] for one in container["env"]}
    assert told == {"SHIPLIFT_TURN": "Nodes", "SHIPLIFT_TARGET": "v1.36", "SHIPLIFT_POOLS": f"a-{scene.name}"}
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
    assert [one["metadata"]["uid"] for one in scene.client.list(kinds.JOB, cloud)] == [job["metadata"]["uid"]]
    about = scene.client.get(kinds.UPGRADE_CONFIG, "cluster")["metadata"]
    assert TURN_TOLD not in about.get("annotations", {})
