"""A real cluster on real machines, made by kubeadm from packages and images of the depot."""

from __future__ import annotations

import json
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shiplift.local.errors import LocalError
from shiplift.local.machines import Machines, images, programs
from tests.until import until

from .boots import boot_id, until_restarted

KUBECTL = ("kubectl", "--kubeconfig=/etc/kubernetes/admin.conf")
SERVING = """
apiVersion: v1
kind: Pod
metadata: {name: serving}
spec:
  nodeName: m2
  containers:
  - name: kubectl
    image: registry.k8s.io/kube-apiserver:v1.36.3
    command: [kubectl, proxy, --address=0.0.0.0, --accept-hosts=.*, --api-prefix=/]
    readinessProbe: {httpGet: {path: /version, port: 8001}, periodSeconds: 1}
"""


ASKING = """
import socket, struct
parts = "kubernetes.default.svc.cluster.local".encode().split(b".")
name = b"".join(bytes([len(part)]) + part for part in parts) + bytes(1)
question = struct.pack(">6H", 7, 256, 1, 0, 0, 0) + name + struct.pack(">2H", 1, 1)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
    link.settimeout(5)
    link.sendto(question, ("10.96.0.10", 53))
    print(socket.inet_ntoa(link.recv(512)[-4:]))
"""


@pytest.fixture(scope="module")
def cluster(machine_programs: Path, clusters_folder: Path) -> Iterator[Machines]:
    """A control plane m1 and a worker m2, of v1.36.3."""
    made = Machines(f"machines-{uuid.uuid4().hex[:8]}", clusters_folder)
    made.up(2)
    made.make_cluster(programs.NEWEST)
    yield made
    made.down()


def said_by(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def node(cluster: Machines, name: str) -> dict[str, Any]:
    return json.loads(cluster.host("m1").run(*KUBECTL, "get", "node", name, "-o", "json").stdout)


def is_ready(found: dict[str, Any]) -> bool:
    states = {one["type"]: one["status"] for one in found["status"]["conditions"]}
    return states["Ready"] == "True"


def info(cluster: Machines, name: str) -> dict[str, str]:
    return node(cluster, name)["status"]["nodeInfo"]


@pytest.mark.parametrize("version", ["v1.36.3", "v1.36.4"])
def test_programs_say_the_version_that_is_stamped_on_them(machine_programs, version):
    folder = programs.find(version, print)
    assert said_by(folder / "kubelet", "--version") == f"Kubernetes {version}\n"
    assert said_by(folder / "kubeadm", "version", "-o", "short") == f"{version}\n"
    assert dict(images.wanted(version, folder / "kubeadm"))["kube-apiserver"] == version


def test_every_machine_is_a_ready_node_that_says_who_it_is(cluster):
    for host in cluster.hosts:
        found = node(cluster, host.name)
        assert is_ready(found)
        said = found["status"]["nodeInfo"]
        assert said["kubeletVersion"] == programs.NEWEST
        assert said["machineID"] == host.read("/etc/machine-id").decode().strip()
        assert said["bootID"] == boot_id(host)


def test_the_cluster_is_reached_from_this_computer(cluster, machine_programs):
    said = said_by(
        machine_programs / "kubectl", f"--kubeconfig={cluster.kubeconfig}", "get", "nodes", "-o", "name"
    )
    assert said == "node/m1\nnode/m2\n"
    assert cluster.kubeconfig.stat().st_mode & 0o777 == 0o600


def test_a_pod_of_one_machine_is_reached_from_another_and_reaches_services(cluster):
    """What answers is the API server, asked by the pod through the address of its Service."""
    first = cluster.host("m1")
    first.run(*KUBECTL, "apply", "-f", "-", stdin=SERVING.encode())
    first.run(*KUBECTL, "wait", "--for=condition=Ready", "pod/serving", "--timeout=60s")
    address = first.run(*KUBECTL, "get", "pod", "serving", "-o", "jsonpath={.status.podIP}").stdout
    assert address.startswith("10.244.12.")
    assert (
        f'"{programs.NEWEST}"' in first.run("curl", "-sf", "-m", "5", f"http://{address}:8001/version").stdout
    )


@pytest.mark.long(seconds=60)
def test_names_of_services_are_answered(cluster):
    first = cluster.host("m1")
    first.run(*KUBECTL, "-n", "kube-system", "rollout", "status", "deployment/coredns", "--timeout=60s")
    assert first.run("python3", "-", stdin=ASKING.encode()).stdout == "10.96.0.1\n"


def test_another_patch_is_installed_by_apt_and_kubelet_says_so_after_its_restart(cluster):
    host = cluster.host("m2")
    cluster.publish("v1.36.4")
    host.run("apt-get", "update", "-q")
    change = ("apt-get", "install", "-q", "-y", "--allow-change-held-packages", "--allow-downgrades")
    host.run(*change, "kubelet=1.36.4-1.1")
    assert info(cluster, "m2")["kubeletVersion"] == "v1.36.3"
    host.run("systemctl", "restart", "kubelet")
    until(lambda: info(cluster, "m2")["kubeletVersion"] == "v1.36.4", 60, 0.5)
    host.run(*change, "kubelet=1.36.3-1.1")
    host.run("systemctl", "restart", "kubelet")
    until(lambda: info(cluster, "m2")["kubeletVersion"] == "v1.36.3", 60, 0.5)


def test_a_worker_that_restarts_is_a_ready_node_again(cluster):
    host = cluster.host("m2")
    before = boot_id(host)
    host.run("systemctl", "reboot")
    until_restarted(host, before)
    until(lambda: info(cluster, "m2")["bootID"] == boot_id(host), 60, 0.5)
    until(lambda: is_ready(node(cluster, "m2")), 60, 0.5)


def test_a_machine_that_is_added_joins_the_cluster(cluster):
    cluster.up(3)
    assert is_ready(node(cluster, "m3"))
    assert cluster.state.kubernetes == programs.NEWEST
    with pytest.raises(LocalError, match=r"are a cluster of v1\.36\.3 already"):
        cluster.make_cluster("v1.35.4")
