"""The agent as it runs on a machine: on its Node in a real API server, with a real apt and a real dpkg."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shiplift.agent import protocol
from shiplift.agent.protocol import (
    CHANGES_ALLOWED,
    Operation,
    Order,
    Outcome,
    Readiness,
    Result,
    Token,
    current_versions,
    desired_key,
)
from shiplift.facts.kinds import NODE
from shiplift.kube import node_trust
from shiplift.kube.client import Client
from shiplift.kube.manifests import kind_of
from shiplift.local.cluster import Cluster
from shiplift.local.components import Component
from shiplift.local.testing import API_AND_ETCD
from tests.agent.conftest import Boxes
from tests.agent.door.kubelet import kubelet_config
from tests.agent.machine.box import ROOT, Box
from tests.until import until

OLD, NEW = "1.35.4-1.1", "1.36.3-1.1"
ID = "4f6f3a528f0e4f0e9d1c0a6f5f1f7c11"
RUN = ["env", f"PYTHONPATH={ROOT}/src", sys.executable, "-m", "shiplift.agent"]


@contextlib.contextmanager
def running(box: Box, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with (
        log.open("ab") as said,
        subprocess.Popen(box.argv(*RUN, "run"), stdin=subprocess.DEVNULL, stderr=said) as agent,
    ):
        try:
            yield agent
        finally:
            box.kill("python")


@pytest.fixture
def box(boxes: Boxes) -> Box:
    made = boxes()
    made.write("/etc/machine-id", f"{ID}\n")
    for version in (OLD, NEW):
        made.offer("kubelet", version)
    made.sources()
    made.install("kubelet", OLD, hold=True)
    return made


class Node:
    """The Node of the box, and what a controller does with it."""

    def __init__(self, admin: Client, name: str, *, machine_id: str = ID) -> None:
        self._admin, self.name = admin, name
        made = admin.create(NODE, {"metadata": {"name": name}, "spec": {"unschedulable": True}}).object
        self.uid = made["metadata"]["uid"]
        info = {"status": {"nodeInfo": {"machineID": machine_id}}}
        admin.patch(NODE, name, info, uid=self.uid, subresource="status")

    @property
    def annotations(self) -> dict[str, str]:
        return self._admin.get(NODE, self.name)["metadata"].get("annotations", {})

    def give(self, attempt: int = 1, **desired: str) -> Token:
        token = Token("rollout", self.uid, Operation.PACKAGES, attempt)
        wanted: dict[str, Any] = {desired_key(name): version for name, version in desired.items()}
        order = {CHANGES_ALLOWED: Order(token).written()}
        self._admin.patch(NODE, self.name, {"metadata": {"annotations": {**wanted, **order}}}, uid=self.uid)
        return token

    def outcome(self, token: Token, seconds: float = 90) -> Outcome:
        """Waited for: the order is answered, by who has claimed it."""
        until(lambda: protocol.readiness_of(self.annotations) == Readiness(True, str(token)), seconds, 0.2)
        found = protocol.outcome_of(self.annotations)
        assert found is not None
        assert found.token == str(token)
        return found


@pytest.fixture(scope="module")
def served(clusters_folder: Path) -> Iterator[tuple[Cluster, Client]]:
    cluster = Cluster(f"agent-{uuid.uuid4().hex[:8]}", clusters_folder)
    cluster.up(API_AND_ETCD)
    try:
        with cluster.client() as client:
            for one in node_trust.manifests():
                client.create(kind_of(one), one)
            yield cluster, client
    finally:
        cluster.down()


def joined(box: Box, cluster: Cluster, folder: Path, name: str) -> None:
    """The kubelet's credentials come onto the machine."""
    kubelet_config(cluster, folder, name)
    pem = (folder / "kubelet-client-current.pem").read_text()
    authority = (cluster.layout.pki / "ca.crt").read_text()
    box.write("/var/lib/kubelet/pki/kubelet-client-current.pem", pem, "600")
    box.write("/etc/kubernetes/pki/ca.crt", authority)
    text = (folder / "kubelet.conf").read_text()
    text = text.replace(str(folder), "/var/lib/kubelet/pki")
    text = text.replace(str(cluster.layout.pki / "ca.crt"), "/etc/kubernetes/pki/ca.crt")
    box.write("/etc/kubernetes/kubelet.conf", text, "600")


def test_an_order_on_its_node_is_claimed_done_and_answered(
    box: Box, served: tuple[Cluster, Client], tmp_path: Path
) -> None:
    cluster, admin = served
    node = Node(admin, f"worker-{uuid.uuid4().hex[:8]}")
    joined(box, cluster, tmp_path / "kubelet", node.name)
    with running(box, tmp_path / "log"):
        until(lambda: current_versions(node.annotations).get("kubelet") == OLD, 30, 0.1)
        outcome = node.outcome(node.give(kubelet="1.36.3"))
    assert (outcome.result, outcome.message) == (Result.DONE, f"kubelet {OLD} → {NEW}")
    assert current_versions(node.annotations) == {"kubelet": NEW}
    assert box.dpkg("kubelet") == f"hold installed {NEW}"


def test_an_order_that_fails_is_answered_with_why(
    box: Box, served: tuple[Cluster, Client], tmp_path: Path
) -> None:
    cluster, admin = served
    node = Node(admin, f"worker-{uuid.uuid4().hex[:8]}")
    joined(box, cluster, tmp_path / "kubelet", node.name)
    box.offer("kubelet", "1.36.4-1.1", postinst="exit 7")
    with running(box, tmp_path / "log"):
        outcome = node.outcome(node.give(kubelet="1.36.4"))
        assert outcome.result is Result.FAILED
        assert outcome.message.endswith("; what was there before was put back")
        assert current_versions(node.annotations) == {"kubelet": OLD}
        assert node.outcome(node.give(2, kubelet="1.36.3")).result is Result.DONE
    assert current_versions(node.annotations) == {"kubelet": NEW}


@pytest.mark.crash
def test_an_agent_that_is_killed_and_a_server_that_is_away_hold_nothing_up(
    box: Box, served: tuple[Cluster, Client], tmp_path: Path
) -> None:
    cluster, admin = served
    node = Node(admin, f"worker-{uuid.uuid4().hex[:8]}")
    joined(box, cluster, tmp_path / "kubelet", node.name)
    wait = "touch /tmp/sleeping; while [ ! -e /tmp/go ]; do sleep 0.1; done"
    box.offer("kubelet", "1.36.4-1.1", postinst=wait)
    with running(box, tmp_path / "log"):
        token = node.give(kubelet="1.36.4")
        until(lambda: box.exists("/tmp/sleeping"), 60, 0.2)
        assert protocol.readiness_of(node.annotations) == Readiness(False, str(token))
    cluster.kill(Component.API_SERVER)
    with running(box, tmp_path / "log"):
        box.run("touch", "/tmp/go")
        until(lambda: box.exists("/var/lib/shiplift/agent/record.json"))
        cluster.start(Component.API_SERVER)
        outcome = node.outcome(token)
    assert outcome.result is Result.DONE
    assert current_versions(node.annotations) == {"kubelet": "1.36.4-1.1"}
    assert box.run("dpkg", "--audit").stdout == ""


def test_on_the_node_of_another_machine_nothing_is_done(
    box: Box, served: tuple[Cluster, Client], tmp_path: Path
) -> None:
    cluster, admin = served
    node = Node(admin, f"worker-{uuid.uuid4().hex[:8]}", machine_id="another")
    joined(box, cluster, tmp_path / "kubelet", node.name)
    node.give(kubelet="1.36.3")
    log = tmp_path / "log"
    with running(box, log):
        until(lambda: f"the Node is of machine 'another', this one is '{ID}'" in log.read_text(), 30)
    assert set(node.annotations) == {CHANGES_ALLOWED, desired_key("kubelet")}
    assert not box.exists("/var/lib/shiplift/agent/record.json")


def test_before_there_is_a_cluster_orders_are_files(box: Box, tmp_path: Path) -> None:
    token = Token("bootstrap", "m1", Operation.PACKAGES, 1)
    annotations = {CHANGES_ALLOWED: Order(token).written(), desired_key("kubelet"): "1.36.3"}

    def answers() -> dict[str, str]:
        if not box.exists("/var/lib/shiplift/answers.json"):
            return {}
        return json.loads(box.read("/var/lib/shiplift/answers.json"))["annotations"]

    with running(box, tmp_path / "log"):
        until(lambda: current_versions(answers()).get("kubelet") == OLD, 30, 0.1)
        box.write("/var/lib/shiplift/new", json.dumps({"uid": "m1", "annotations": annotations}))
        box.run("mv", "/var/lib/shiplift/new", "/var/lib/shiplift/orders.json")
        until(lambda: protocol.readiness_of(answers()) == Readiness(True, str(token)), 90, 0.2)
    outcome = protocol.outcome_of(answers())
    assert outcome is not None
    assert outcome.result is Result.DONE
    assert current_versions(answers()) == {"kubelet": NEW}


def test_it_says_what_it_sees(box: Box) -> None:
    said = json.loads(box.run(*RUN, "status").stdout)
    assert said["machineID"] == ID
    assert said["software"] == {"kubelet": OLD}
    assert said["can"] == ["Packages", "Prepare"]
    assert said["work"] == {"message": "", "progress": "Absent"}


def test_settings_that_are_wrong_are_named_before_anything_is_done(box: Box) -> None:
    box.write("/etc/shiplift/agent.json", '{"kubeAdm": {}}')
    done = box.run(*RUN, "run", check=False)
    assert done.returncode == 1
    assert done.stderr == (
        "error: /etc/shiplift/agent.json: it has 'kubeAdm', which is no setting of an agent\n"
    )
    assert done.stdout == ""
