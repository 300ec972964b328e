"""An agent's door to its Node: on a real API server, with Node authorisation and our policy."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from shiplift.agent.door.node import NodeDoor
from shiplift.agent.model import Seen, Write
from shiplift.agent.protocol import AGENT, CHANGES_ALLOWED, READY, current_key
from shiplift.facts.kinds import NODE
from shiplift.kube import node_trust
from shiplift.kube.client import Client
from shiplift.kube.manifests import kind_of
from shiplift.local.cluster import Cluster
from shiplift.local.components import Component
from shiplift.local.testing import API_AND_ETCD
from tests.agent.door.kubelet import authority, kubelet_config, rotate
from tests.until import until

WRITE = {READY: "false x", AGENT: "{}", current_key("kubelet"): "1.36.3"}


@dataclass
class Machine:
    """A node of the cluster, with the credentials of its kubelet in a folder."""

    cluster: Cluster
    admin: Client
    folder: Path
    name: str
    config: Path
    uid: str
    door: NodeDoor

    def live(self) -> dict[str, Any]:
        return self.admin.get(NODE, self.name)

    def patch(self, change: dict[str, Any]) -> None:
        self.admin.patch(NODE, self.name, change, uid=self.uid)

    def seen(self) -> Seen:
        found = self.door.read()
        assert found is not None
        return found


@pytest.fixture(scope="module")
def served(clusters_folder: Path) -> Iterator[tuple[Cluster, Client]]:
    cluster = Cluster(f"door-{uuid.uuid4().hex[:8]}", clusters_folder)
    cluster.up(API_AND_ETCD)
    try:
        with cluster.client() as client:
            for one in node_trust.manifests():
                client.create(kind_of(one), one)
            yield cluster, client
    finally:
        cluster.down()


@pytest.fixture
def machine(served: tuple[Cluster, Client], tmp_path: Path) -> Iterator[Machine]:
    cluster, admin = served
    name = f"worker-{uuid.uuid4().hex[:8]}"
    node = {
        "metadata": {"name": name, "annotations": {"example.org/x": "y"}},
        "spec": {"unschedulable": True},
    }
    uid = admin.create(NODE, node).object["metadata"]["uid"]
    info = {"status": {"nodeInfo": {"machineID": "4f6f3a52"}}}
    admin.patch(NODE, name, info, uid=uid, subresource="status")
    config = kubelet_config(cluster, tmp_path / "kubelet", name)
    door = NodeDoor(config)
    yield Machine(cluster, admin, tmp_path / "kubelet", name, config, uid, door)
    door.close()


def test_it_reads_its_own_node_whose_name_the_server_tells(machine: Machine) -> None:
    seen = machine.seen()
    assert (seen.uid, seen.machine_id, seen.unschedulable) == (machine.uid, "4f6f3a52", True)
    assert seen.annotations == {"example.org/x": "y"}
    assert seen.resource_version == machine.live()["metadata"]["resourceVersion"]


def test_it_writes_what_an_agent_may_and_takes_off_again(machine: Machine) -> None:
    assert machine.door.write(Write(WRITE, machine.seen().resource_version))
    assert machine.live()["metadata"]["annotations"] == {"example.org/x": "y", **WRITE}
    assert machine.seen().annotations == {"example.org/x": "y", **WRITE}
    assert machine.door.write(Write({READY: None}, machine.seen().resource_version))
    assert READY not in machine.live()["metadata"]["annotations"]


def test_of_two_who_write_on_the_same_version_one_does(machine: Machine) -> None:
    seen = machine.seen()
    machine.patch({"metadata": {"annotations": {CHANGES_ALLOWED: None, "example.org/x": "z"}}})
    assert not machine.door.write(Write(WRITE, seen.resource_version))
    assert READY not in machine.live()["metadata"]["annotations"]
    assert machine.door.write(Write(WRITE, machine.seen().resource_version))


def test_a_node_of_the_same_name_that_is_another_one_is_not_written(machine: Machine) -> None:
    seen = machine.seen()
    machine.admin.delete(NODE, machine.name, uid=machine.uid)
    machine.admin.create(NODE, {"metadata": {"name": machine.name}})
    assert not machine.door.write(Write(WRITE, seen.resource_version))
    assert "annotations" not in machine.live()["metadata"]


def test_the_policy_refuses_what_is_not_an_agents_and_that_is_told(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    def refused() -> bool:
        order = {CHANGES_ALLOWED: uuid.uuid4().hex}
        return not machine.door.write(Write(order, machine.seen().resource_version))

    until(refused)
    assert "the Node was not written: 4" in caplog.text
    assert "credentials of a node may not change annotations" in caplog.text


def test_a_node_that_is_not_there_cannot_be_read_and_that_is_told_once(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    machine.admin.delete(NODE, machine.name, uid=machine.uid)
    assert [machine.door.read() for _ in range(3)] == [None, None, None]
    assert caplog.text.count("the Node was not given: 404") == 1


# --- waiting ---


def test_a_change_of_the_node_is_heard(machine: Machine) -> None:
    machine.seen()
    change = {"metadata": {"annotations": {"example.org/x": "heard"}}}
    timer = threading.Timer(0.3, machine.patch, [change])
    began = time.monotonic()
    timer.start()
    machine.door.wait(60)
    timer.join()
    assert time.monotonic() - began < 30
    assert machine.seen().annotations["example.org/x"] == "heard"


def test_a_change_between_reading_and_waiting_is_heard_too(machine: Machine) -> None:
    machine.seen()
    machine.patch({"metadata": {"annotations": {"example.org/x": "heard"}}})
    began = time.monotonic()
    machine.door.wait(60)
    assert time.monotonic() - began < 30


def test_what_it_wrote_itself_and_other_nodes_do_not_wake_it(machine: Machine) -> None:
    machine.door.write(Write(WRITE, machine.seen().resource_version))
    machine.admin.create(NODE, {"metadata": {"name": f"other-{uuid.uuid4().hex[:8]}"}})
    began = time.monotonic()
    machine.door.wait(2)
    assert time.monotonic() - began >= 1.9
    assert machine.seen().annotations[READY] == "false x"


# --- credentials ---


def test_a_rotated_certificate_is_used_from_then_on(machine: Machine) -> None:
    machine.seen()
    rotate(authority(machine.cluster, "etcd-ca"), machine.folder, f"system:node:{machine.name}")
    assert machine.door.read() is None
    rotate(authority(machine.cluster), machine.folder, f"system:node:{machine.name}")
    assert machine.seen().uid == machine.uid


def test_a_certificate_in_the_file_itself_is_used_and_left_nowhere(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    import base64
    import tempfile

    folder = machine.folder / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    pem = base64.b64encode((machine.folder / "kubelet-client-current.pem").read_bytes()).decode()
    text = machine.config.read_text()
    path = f"{machine.folder}/kubelet-client-current.pem"
    for key in ("client-certificate", "client-key"):
        text = text.replace(f"{key}: {path}", f"{key}-data: {pem}")
    machine.config.write_text(text)
    assert machine.seen().uid == machine.uid
    assert list(folder.iterdir()) == []


def test_credentials_that_are_no_nodes_are_named(machine: Machine, caplog: pytest.LogCaptureFixture) -> None:
    rotate(authority(machine.cluster), machine.folder, "somebody")
    assert machine.door.read() is None
    assert "the kubelet's credentials are those of 'somebody', and that is no node" in caplog.text


def test_a_server_that_another_authority_vouches_for_is_not_spoken_to(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    pki = machine.cluster.layout.pki
    text = machine.config.read_text().replace(str(pki / "ca.crt"), str(pki / "etcd-ca.crt"))
    machine.config.write_text(text)
    assert machine.door.read() is None
    assert "CERTIFICATE_VERIFY_FAILED" in caplog.text


def test_credentials_that_are_gone_are_named(machine: Machine, caplog: pytest.LogCaptureFixture) -> None:
    (machine.folder / "kubelet-client-current.pem").unlink()
    assert machine.door.read() is None
    assert "the kubelet's credentials cannot be used: No such file or directory" in caplog.text


@pytest.mark.crash
def test_a_server_that_is_away_is_told_and_spoken_to_again(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    seen = machine.seen()
    machine.cluster.kill(Component.API_SERVER)
    try:
        with caplog.at_level(logging.WARNING):
            assert machine.door.read() is None
            assert not machine.door.write(Write(WRITE, seen.resource_version))
            machine.door.wait(1)
        assert "the API server does not answer" in caplog.text
    finally:
        machine.cluster.start(Component.API_SERVER)
    assert until(machine.door.read).uid == machine.uid
