"""Simulated nodes and their pods behave as real ones, at a pace that can be set."""

from __future__ import annotations

import time
import uuid
from datetime import datetime

import pytest

from shiplift.facts.kinds import JOB, POD
from shiplift.kube.errors import NotFound
from shiplift.local import stages
from shiplift.local.components import Timing
from shiplift.local.nodes import POOL_LABEL, Nodes, Pool, Ready, readiness
from tests.until import until

SPEC = {"containers": [{"name": "main", "image": "busybox"}]}


@pytest.fixture
def pool_name(cluster):
    name = f"pool-{uuid.uuid4().hex[:6]}"
    yield name
    cluster.nodes.remove(*(node["metadata"]["name"] for node in of_pool(cluster, name)))


def of_pool(cluster, name):
    return [
        node for node in cluster.nodes.list() if node["metadata"]["labels"]["local.shiplift.dev/pool"] == name
    ]


def node_of(cluster, name):
    return next(node for node in cluster.nodes.list() if node["metadata"]["name"] == name)


def taints(node):
    return {taint["key"] for taint in node["spec"].get("taints", [])}


def condition(pod, name):
    conditions = pod["status"].get("conditions", [])
    return next((one for one in conditions if one["type"] == name), {"status": "Unknown"})


def is_gone(client, name, namespace):
    try:
        client.get(POD, name, namespace)
    except NotFound:
        return True
    return False


def pod(name, annotations=None, grace=30, **spec):
    meta = {"name": name, "annotations": annotations or {}}
    return {"metadata": meta, "spec": {**SPEC, "terminationGracePeriodSeconds": grace, **spec}}


def test_a_pool_is_as_asked_for(cluster, pool_name):
    pool = Pool(
        pool_name,
        count=3,
        version="v1.34.7",
        zones=("north", "south"),
        labels={"disk": "fast"},
        taints=({"key": "dedicated", "value": "gpu", "effect": "NoSchedule"},),
        cpu="2",
        memory="3Gi",
        pods=7,
    )
    cluster.nodes.add(pool)
    cluster.nodes.wait_schedulable(pool)
    nodes = sorted(of_pool(cluster, pool_name), key=lambda node: node["metadata"]["name"])
    assert [node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in nodes] == [
        "north",
        "south",
        "north",
    ]
    for node in nodes:
        assert node["status"]["nodeInfo"]["kubeletVersion"] == "v1.34.7"
        assert node["metadata"]["labels"]["disk"] == "fast"
        assert taints(node) == {"dedicated"}
        allocatable = node["status"]["allocatable"]
        assert (allocatable["cpu"], allocatable["memory"], allocatable["pods"]) == ("2", "3Gi", "7")
    assert len({node["status"]["addresses"][0]["address"] for node in nodes}) == 3


def test_adding_a_pool_again_adds_only_what_is_missing(cluster, pool_name):
    cluster.nodes.add(Pool(pool_name, count=1))
    before = of_pool(cluster, pool_name)[0]["metadata"]["uid"]
    cluster.nodes.add(Pool(pool_name, count=2))
    nodes = of_pool(cluster, pool_name)
    assert len(nodes) == 2
    assert before in {node["metadata"]["uid"] for node in nodes}


def test_the_version_of_a_node_changes_and_stays(cluster, pool_name):
    pool = Pool(pool_name, count=1, version="v1.35.4")
    cluster.nodes.add(pool)
    cluster.nodes.wait_schedulable(pool)
    name = f"{pool_name}-0"
    cluster.nodes.set_version(name, "v1.36.3")
    cluster.nodes.set_ready(name, Ready.FALSE)
    until(lambda: readiness(node_of(cluster, name)) is Ready.FALSE)
    cluster.nodes.set_ready(name, Ready.TRUE)
    until(lambda: readiness(node_of(cluster, name)) is Ready.TRUE)
    assert node_of(cluster, name)["status"]["nodeInfo"]["kubeletVersion"] == "v1.36.3"


@pytest.mark.parametrize(
    ("ready", "taint"),
    [(Ready.FALSE, "node.kubernetes.io/not-ready"), (Ready.UNKNOWN, "node.kubernetes.io/unreachable")],
)
def test_a_node_that_is_not_ready_is_tainted_until_it_is_ready_again(cluster, pool_name, ready, taint):
    pool = Pool(pool_name, count=1)
    cluster.nodes.add(pool)
    cluster.nodes.wait_schedulable(pool)
    (name,) = pool.names()
    cluster.nodes.set_ready(name, ready)
    until(lambda: readiness(node_of(cluster, name)) is ready and taint in taints(node_of(cluster, name)))
    cluster.nodes.set_ready(name, Ready.TRUE)
    cluster.nodes.wait_schedulable(pool)
    until(lambda: taints(node_of(cluster, name)) == set())


def test_a_pod_is_running_before_it_is_ready_when_that_takes_time(cluster, namespace):
    with cluster.client() as client:
        client.create(POD, pod("slow", {stages.READY_AFTER: "2"}), namespace)
        until(lambda: client.get(POD, "slow", namespace)["status"]["phase"] == "Running")
        assert condition(client.get(POD, "slow", namespace), "Ready")["status"] == "False"
        until(lambda: condition(client.get(POD, "slow", namespace), "Ready")["status"] == "True")
        slow = client.get(POD, "slow", namespace)
    began, ready = slow["status"]["startTime"], condition(slow, "Ready")["lastTransitionTime"]
    took = (datetime.fromisoformat(ready) - datetime.fromisoformat(began)).total_seconds()
    assert took >= 1  # these timestamps are whole seconds
    assert slow["status"]["containerStatuses"][0]["ready"]


def test_a_pod_that_is_never_ready_stays_so(cluster, namespace):
    with cluster.client() as client:
        client.create(POD, pod("never", {stages.READY_AFTER: "100000"}), namespace)
        client.create(POD, pod("other"), namespace)
        until(lambda: condition(client.get(POD, "other", namespace), "Ready")["status"] == "True")
        until(lambda: client.get(POD, "never", namespace)["status"]["phase"] == "Running")
        assert condition(client.get(POD, "never", namespace), "Ready")["status"] == "False"


def test_a_pod_stays_for_its_delay_but_no_longer_than_its_grace(cluster, namespace):
    with cluster.client() as client:
        client.create(POD, pod("delayed", {stages.GONE_AFTER: "2"}), namespace)
        client.create(POD, pod("capped", {stages.GONE_AFTER: "100000"}, grace=1), namespace)
        client.create(POD, pod("prompt"), namespace)
        uids = {}
        for name in ("delayed", "capped", "prompt"):
            until(lambda name=name: client.get(POD, name, namespace)["status"]["phase"] == "Running")
            uids[name] = client.get(POD, name, namespace)["metadata"]["uid"]
        began = time.monotonic()
        for name, uid in uids.items():
            client.delete(POD, name, namespace, uid=uid)
        assert client.get(POD, "delayed", namespace)["metadata"]["deletionGracePeriodSeconds"] == 30
        until(lambda: is_gone(client, "delayed", namespace))
        assert time.monotonic() - began >= 1.9
        until(lambda: is_gone(client, "capped", namespace))
        until(lambda: is_gone(client, "prompt", namespace))


def test_a_pod_with_a_finalizer_waits_for_it(cluster, namespace):
    held = pod("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    with cluster.client() as client:
        uid = client.create(POD, held, namespace).object["metadata"]["uid"]
        until(lambda: client.get(POD, "held", namespace)["status"]["phase"] == "Running")
        client.delete(POD, "held", namespace, uid=uid)
        until(lambda: client.get(POD, "held", namespace)["metadata"]["deletionGracePeriodSeconds"] == 0)
        client.patch(POD, "held", {"metadata": {"finalizers": None}}, namespace, uid=uid)
        until(lambda: is_gone(client, "held", namespace))


def test_a_job_s_pod_completes(cluster, namespace):
    job = {"metadata": {"name": "once"}, "spec": {"template": {"spec": {**SPEC, "restartPolicy": "Never"}}}}
    with cluster.client() as client:
        client.create(JOB, job, namespace)
        until(lambda: client.get(JOB, "once", namespace)["status"].get("succeeded") == 1)


def test_init_containers_have_run(cluster, namespace):
    first = [
        {"name": "first", "image": "busybox"},
        {"name": "side", "image": "busybox", "restartPolicy": "Always"},
    ]
    with cluster.client() as client:
        client.create(POD, pod("init", initContainers=first), namespace)
        until(lambda: client.get(POD, "init", namespace)["status"]["phase"] == "Running")
        statuses = client.get(POD, "init", namespace)["status"]["initContainerStatuses"]
    assert statuses[0]["state"]["terminated"]["exitCode"] == 0
    assert "running" in statuses[1]["state"]


def test_the_stages_carry_no_jitter_and_the_cluster_s_own_delays():
    text = stages.render(Timing(ready_after=1.5, gone_after=7, done_after=3))
    assert "jitter" not in text.lower()
    assert "// 1.5)" in text
    assert "// 7)" in text.replace("7.0", "7")
    assert not any(word in text for word in ("READY_AFTER", "GONE_AFTER", "DONE_AFTER", "NODE_READY"))


def test_a_node_without_labels_is_of_no_pool_and_in_nobody_s_way(monkeypatch):
    ours = {"metadata": {"name": "node-0", "labels": {POOL_LABEL: "node"}}}
    there = [{"metadata": {"name": "by-hand"}}, {"metadata": {"name": "bare", "labels": None}}, ours]
    monkeypatch.setattr(Nodes, "list", lambda _: there)
    assert Nodes(None).chosen([], "node") == ["node-0"]
    assert Nodes(None).chosen(["by-hand"]) == ["by-hand"]
