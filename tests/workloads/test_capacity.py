"""Room, budgets and surges on a real server, when bystanders are in the way."""

from __future__ import annotations

from typing import Any

import pytest

from shiplift.facts import kinds
from shiplift.local.stages import READY_AFTER
from tests.operated import NEW, OLD
from tests.workloads.film import fewest_ready
from tests.workloads.halfway import gated_and_held, wait_line
from tests.workloads.observer import Observer
from tests.workloads.rig import Scene

TIER = {"matchLabels": {"tier": "shared"}}
Json = dict[str, Any]


def in_tier(scene: Scene, space: str, name: str, replicas: int) -> None:
    """A Deployment whose pods have one more label."""
    scene.deployment(space, name, replicas)
    labels = {"app": name, "tier": "shared"}
    scene.change(kinds.DEPLOYMENT, space, name, {"spec": {"template": {"metadata": {"labels": labels}}}})
    scene.wait(lambda: scene.rolled_out(space, name))


def bare(scene: Scene, space: str, name: str) -> None:
    """A pod that nobody owns."""
    body = {
        "metadata": {"name": name, "labels": {"app": "bare", "tier": "shared"}},
        "spec": {"containers": [{"name": "main", "image": "none"}]},
    }
    scene.client.create(kinds.POD, body, space)


def daemon_set(scene: Scene, space: str, name: str) -> None:
    labels = {"app": name, "tier": "shared"}
    pod = {"containers": [{"name": "main", "image": "none"}]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    body = {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": labels}, "template": template}}
    scene.client.create(kinds.DAEMON_SET, body, space)


# --- budgets ---


def test_a_budget_that_also_covers_bare_pods_lets_pods_go_and_is_kept(
    scene: Scene, observer: Observer
) -> None:
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    in_tier(scene, space, "web", 3)
    for number in range(3):
        bare(scene, space, f"bare-{number}")
    scene.budget(space, "both", TIER, minAvailable=4)
    scene.wait_ready(space, web=3, bare=3)
    scene.nodes("new", NEW)
    scene.migrate()
    observer.begin()
    scene.rig.start()
    scene.finish(old)
    assert scene.arrived(space, "web")
    assert fewest_ready(observer.history(), f"{space}/web") >= 1


def test_a_budget_that_cannot_be_counted_is_told_in_the_words_of_its_controller(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    in_tier(scene, space, "web", 3)
    daemon_set(scene, space, "agent")
    scene.budget(space, "both", TIER, maxUnavailable="50%")
    scene.wait_ready(space, web=3, agent=3)
    scene.begin()
    line = wait_line(scene, "web", state="Blocked", reason="BudgetNotCounted")
    assert "daemonsets.apps does not implement the scale subresource" in line["message"]
    scene.drop(kinds.DAEMON_SET, "agent", space)
    scene.finish(old)


# --- rescue ---


def test_a_held_pod_goes_early_when_old_nodes_are_closed_by_a_taint(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = gated_and_held(scene, 1)
    for name in old.names():
        taints = [{"key": "cloud.example.com/retiring", "effect": "NoSchedule"}]
        scene.change(kinds.NODE, "", name, {"spec": {"taints": taints}})
    (pod,) = scene.pods(space, "web")
    scene.drop(kinds.POD, pod["metadata"]["name"], space)
    scene.wait(lambda: scene.arrived(space, "web"))
    assert [one["workload"] for one in scene.status()["exceptions"]] == [f"Deployment {space}/web"]
    assert scene.places(space, "gate") == ["old"]


# --- surge ---


def slow_to_start(scene: Scene, seconds: str) -> str:
    """One pod that takes its time, and that no budget lets go."""
    space = scene.namespace()
    scene.deployment(space, "web", 1, pod_annotations={READY_AFTER: seconds})
    scene.budget(space, "always", "web", minAvailable=1)
    scene.wait_ready(space, web=1)
    return space


def replicas(scene: Scene, space: str) -> int:
    return scene.client.get(kinds.DEPLOYMENT, "web", space)["spec"]["replicas"]


def test_a_surge_that_is_not_ready_in_time_is_taken_back_and_tried_again_after_a_pause(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = slow_to_start(scene, "8")
    scene.begin(onBlocked="Surge", progressDeadline="3s")
    scene.wait(lambda: replicas(scene, space) == 2)
    line = wait_line(scene, "web", state="Blocked", reason="SurgeFailed")
    assert line["message"].startswith("its replica more was not Ready within 3s")
    scene.wait(lambda: "it was taken back" in scene.line("web")["message"])
    scene.wait(
        lambda: scene.client.get(kinds.POD_DISRUPTION_BUDGET, "always", space)["status"]["expectedPods"] == 1
    )
    web = scene.client.get(kinds.DEPLOYMENT, "web", space)
    raised_and_lowered_once = 3
    assert (web["spec"]["replicas"], web["metadata"]["generation"]) == (1, raised_and_lowered_once)
    assert scene.places(space, "web") == ["old"]
    scene.change_migration(paused=True, progressDeadline="1m")
    scene.wait(lambda: scene.line("web").get("reason") == "Paused")
    scene.change_migration(paused=False)
    scene.finish(old)
    assert (replicas(scene, space), scene.arrived(space, "web")) == (1, True)


def test_a_surge_that_somebody_sets_back_is_given_up(scene: Scene) -> None:
    scene.nodes("old", OLD)
    space = slow_to_start(scene, "4")
    scene.begin(onBlocked="Surge")
    raises = 0

    def apply() -> bool:
        """As GitOps does that knows the number of replicas."""
        nonlocal raises
        if replicas(scene, space) == 2:
            raises += 1
            scene.change(kinds.DEPLOYMENT, space, "web", {"spec": {"replicas": 1}})
        return scene.line("web").get("reason") == "SurgeFailed"

    scene.wait(apply, 60)
    assert raises == 4
    assert scene.line("web")["message"].startswith("somebody else sets its replicas back")
    assert (replicas(scene, space), scene.places(space, "web")) == (1, ["old"])


# --- nodes that come ---


def test_the_first_move_waits_for_nodes_that_are_still_coming(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    scene.stateful_set(space, "db", 6, spec={"podManagementPolicy": "Parallel"})
    scene.wait_ready(space, db=6)
    scene.migrate(target=NEW, waitForNodes={"settle": "4s"})
    scene.rig.start()
    wait_line(scene, "db", reason="WaitingForNodes", message=f"no node runs {NEW} yet")
    first = scene.nodes("new", NEW, 1)
    scene.wait(lambda: "are still coming" in scene.line("db")["message"])
    assert scene.status()["moves"] == 0
    scene.nodes("new-more", NEW, 2)
    assert scene.status()["moves"] == 0
    scene.finish(old)
    nodes = [pod["spec"]["nodeName"] for pod in scene.pods(space, "db")]
    assert sum(node in first.names() for node in nodes) <= 3
    assert len(set(nodes)) == 3


def test_with_a_count_the_first_move_waits_for_so_many(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    scene.deployment(space, "web", 2)
    scene.wait_ready(space, web=2)
    scene.nodes("new", NEW, 1)
    scene.migrate(waitForNodes={"count": 2})
    scene.rig.start()
    scene.wait(lambda: scene.line("web").get("message", "").startswith("1 of 2 nodes"))
    assert scene.places(space, "web") == ["old", "old"]
    scene.nodes("new-more", NEW, 1)
    scene.finish(old)


# --- pools that grow ---


def waiting(scene: Scene, space: str) -> list[Json]:
    """Pods that the scheduler found no node for."""
    pods = [one for one in scene.pods(space) if not one["spec"].get("nodeName")]
    said = [one.get("status", {}).get("conditions", []) for one in pods]
    return [
        pod
        for pod, told in zip(pods, said, strict=True)
        if any(one.get("reason") == "Unschedulable" for one in told)
    ]


GROWING = {"nodeSelector": {"pool": "new"}, "size": {"cpu": "1", "memory": "4Gi", "pods": 10}}


def test_a_pool_at_zero_grows_for_pods_that_wait(scene: Scene, observer: Observer) -> None:
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    for name in ("web", "api"):
        scene.deployment(space, name, 3, pod={"containers": [asking("400m")]})
        scene.budget(space, name, name, maxUnavailable=1)
    scene.wait_ready(space, web=3, api=3)
    scene.migrate(target=NEW, onNoCapacity="Provision", growing=GROWING)
    observer.begin()
    scene.rig.start()
    grown = 0

    def autoscale() -> bool:
        nonlocal grown
        if waiting(scene, space):
            scene.nodes(f"new-{grown}", NEW, 1, cpu="1", memory="4Gi", labels={"pool": "new"})
            grown += 1
        return scene.arrived(space, "web", "api")

    scene.wait(autoscale, 90)
    scene.finish(old)
    assert grown >= 3
    for name in ("web", "api"):
        assert fewest_ready(observer.history(), f"{space}/{name}") == 2


def asking(cpu: str) -> Json:
    return {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}


def test_a_pool_that_does_not_grow_stops_it(scene: Scene) -> None:
    old = scene.nodes("old", OLD)
    space = scene.namespace()
    for name in ("web", "api"):
        scene.deployment(space, name, 2)
    scene.wait_ready(space, web=2, api=2)
    scene.migrate(target=NEW, onNoCapacity="Provision", growing=GROWING, progressDeadline="4s")
    scene.rig.start()
    told = scene.wait(lambda: scene.condition("Stalled"))
    assert "has waited 4s for a new node of the growing pool" in told["message"]
    assert len(waiting(scene, space)) == 1
    scene.nodes("new", NEW, labels={"pool": "new"})
    scene.finish(old)


# --- what is told before the start ---


@pytest.mark.parametrize("kind", ["emptyDir", "hostPath"])
def test_data_that_stays_behind_is_named(scene: Scene, kind: str) -> None:
    scene.nodes("old", OLD)
    space = scene.namespace()
    volume = {"emptyDir": {}, "hostPath": {"path": "/srv"}}[kind]
    scene.deployment(space, "web", 1, pod={"volumes": [{"name": "data", kind: volume}]})
    scene.wait_ready(space, web=1)
    scene.begin()
    scene.wait(lambda: scene.arrived(space, "web"))
    (said,) = [one for one in scene.status()["forewarnings"] if kind in one]
    assert f"Deployment {space}/web" in said
