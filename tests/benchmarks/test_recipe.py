"""The recipe of the benchmark's cluster."""

from __future__ import annotations

from collections import Counter

from benchmarks.recipe.nodes import node
from benchmarks.recipe.pods import Health, Pod, pods
from benchmarks.recipe.status import status_of


def _owner_kind(pod: Pod) -> str:
    return pod.body["metadata"]["ownerReferences"][0]["kind"]


def test_the_same_sizes_give_the_same_objects() -> None:
    assert [(pod.body, status_of(pod)) for pod in pods(300, 20)] == [
        (pod.body, status_of(pod)) for pod in pods(300, 20)
    ]
    assert node(7) == node(7)


def test_no_two_pods_have_the_same_name() -> None:
    names = Counter(
        (pod.body["metadata"]["namespace"], pod.body["metadata"]["name"]) for pod in pods(5_000, 250)
    )
    assert names.most_common(1)[0][1] == 1


def test_every_node_has_each_agent_and_most_pods_are_stateless() -> None:
    kinds = Counter(_owner_kind(pod) for pod in pods(5_000, 200))
    assert kinds == {"DaemonSet": 600, "StatefulSet": 500, "ReplicaSet": 3_900}


def test_eight_pods_share_a_replica_set() -> None:
    owners = Counter(
        pod.body["metadata"]["ownerReferences"][0]["uid"]
        for pod in pods(5_000, 200)
        if _owner_kind(pod) == "ReplicaSet"
    )
    assert set(list(owners.values())[:-1]) == {8}


def test_some_pods_crash_and_some_wait_for_a_node() -> None:
    health = Counter(pod.health for pod in pods(5_000, 200))
    assert health[Health.RUNNING] > 4_800
    assert health[Health.CRASHING] > 10
    assert health[Health.PENDING] > 10


def test_a_crashing_container_says_why_it_waits() -> None:
    crashing = next(pod for pod in pods(5_000, 200) if pod.health is Health.CRASHING)
    app, proxy = status_of(crashing)["containerStatuses"]
    assert app["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert "running" in proxy["state"]


def test_a_stateful_pod_mounts_the_claim_of_its_own_name() -> None:
    stateful = next(pod for pod in pods(5_000, 200) if _owner_kind(pod) == "StatefulSet")
    claims = [volume["persistentVolumeClaim"] for volume in stateful.body["spec"]["volumes"][-1:]]
    assert claims == [{"claimName": f"data-{stateful.body['metadata']['name']}"}]


def test_a_node_lists_at_least_twenty_images() -> None:
    assert len(node(3).status["status"]["images"]) >= 20
