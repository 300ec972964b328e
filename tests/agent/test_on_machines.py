"""The agent on real machines: systemd, containerd, kubelet and kubeadm are real, and so is the restart."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
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
    Reboot,
    Result,
    Token,
    current_versions,
    desired_key,
)
from shiplift.agent_package import build
from shiplift.facts.kinds import NODE
from shiplift.kube import credentials, node_trust
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError
from shiplift.kube.manifests import kind_of
from shiplift.local.machines import Host, Machines
from tests.until import until

OLD, NEW = "1.36.3-1.1", "1.36.4-1.1"
SETTINGS = {"kubeadm": {"ignorePreflightErrors": ["SystemVerification"]}}
PROGRAMS = ("kubelet", "kubeadm", "kubectl")
BROKEN = """set -e
mkdir -p /tmp/broken/DEBIAN /tmp/broken/usr/bin /srv/broken
printf '#!/bin/sh\\nexit 1\\n' > /tmp/broken/usr/bin/kubelet
chmod 755 /tmp/broken/usr/bin/kubelet
mkdir -p /tmp/broken/lib/systemd/system
cp /lib/systemd/system/kubelet.service /tmp/broken/lib/systemd/system
cat > /tmp/broken/DEBIAN/control << END
Package: kubelet
Version: 1.36.9-1.1
Architecture: all
Maintainer: nobody <nobody@example.org>
Description: made for a test
END
dpkg-deb -Zgzip --build /tmp/broken /srv/broken/kubelet.deb
cd /srv/broken
{ dpkg-deb --field kubelet.deb; echo Filename: ./kubelet.deb; echo Size: $(stat -c %s kubelet.deb)
  echo SHA256: $(sha256sum kubelet.deb | cut -d' ' -f1); } > Packages
echo 'deb [trusted=yes] copy:/srv/broken ./' > /etc/apt/sources.list.d/broken.list
"""


class Node:
    """A machine with its agent, and what a controller does with its Node."""

    def __init__(self, admin: Client, host: Host) -> None:
        self._admin, self.host = admin, host
        self.uid = self.live()["metadata"]["uid"]

    def live(self) -> dict[str, Any]:
        return self._admin.get(NODE, self.host.name)

    @property
    def annotations(self) -> dict[str, str]:
        return self.live()["metadata"].get("annotations", {})

    @property
    def versions(self) -> dict[str, str]:
        return current_versions(self.annotations)

    @property
    def info(self) -> dict[str, str]:
        return self.live()["status"]["nodeInfo"]

    def cordon(self) -> None:
        self._admin.patch(NODE, self.host.name, {"spec": {"unschedulable": True}}, uid=self.uid)

    def give(self, order: Order, **desired: str) -> str:
        old = {key: None for key in self.annotations if key.endswith("/desired-version")}
        wanted = {desired_key(name): version for name, version in desired.items()}
        change = {**old, **wanted, CHANGES_ALLOWED: order.written()}
        self._admin.patch(NODE, self.host.name, {"metadata": {"annotations": change}}, uid=self.uid)
        return str(order.token)

    def order(self, operation: Operation, attempt: int = 1, **more: Any) -> Order:
        return Order(Token("rollout", self.uid, operation, attempt), **more)

    def outcome(self, token: str) -> Outcome:
        """Waited for; the API server may be away meanwhile."""

        def answered() -> bool:
            try:
                return protocol.readiness_of(self.annotations) == Readiness(True, token)
            except KubeError:
                return False

        until(answered, 300, 0.5)
        found = protocol.outcome_of(self.annotations)
        assert found is not None
        return found


@pytest.fixture
def nodes(
    machines: Callable[[int], Machines],
    machine_programs: Path,
    tmp_path: Path,
) -> Iterator[tuple[Node, Node]]:
    """A control plane and a worker, each with the agent's package."""
    made = machines(2)
    made.make_cluster("v1.36.3")
    made.publish("v1.36.4")
    package = build(tmp_path).deb
    for host in made.hosts:
        host.run("mkdir", "-p", "/etc/shiplift")
        host.write("/etc/shiplift/agent.json", json.dumps(SETTINGS).encode())
        host.write("/var/tmp/agent.deb", package.read_bytes())
        host.run("dpkg", "-i", "/var/tmp/agent.deb")
    with Client(credentials.load(made.kubeconfig)) as admin:
        for one in node_trust.manifests():
            admin.create(kind_of(one), one)
        first, second = (Node(admin, host) for host in made.hosts)
        yield first, second


@pytest.mark.long(seconds=150)
def test_machines_are_changed_on_order(nodes: tuple[Node, Node]) -> None:
    """One after the other on the same machines: they take half a minute to come up."""
    control_plane, worker = nodes
    what_they_have_is_told(control_plane, worker)
    a_copy_of_etcd_is_made(control_plane)
    packages_and_images_are_fetched_beforehand(worker)
    kubeadm_upgrades_what_a_worker_has(worker)
    packages_are_changed_and_the_machine_restarts(worker)
    packages_are_put_back_by_an_agent_that_is_killed_meanwhile(worker)
    a_kubelet_that_does_not_stay_up_is_put_back(worker)


def what_they_have_is_told(control_plane: Node, worker: Node) -> None:
    expected = dict.fromkeys(PROGRAMS, OLD)
    until(lambda: expected.items() <= worker.versions.items(), 60, 0.5)
    until(lambda: control_plane.versions.get("kube-apiserver") == "v1.36.3", 60, 0.5)
    assert "kube-apiserver" not in worker.versions
    assert worker.host.run("systemctl", "is-active", "shiplift-agent").stdout == "active\n"


def a_copy_of_etcd_is_made(control_plane: Node) -> None:
    outcome = control_plane.outcome(control_plane.give(control_plane.order(Operation.SNAPSHOT)))
    assert outcome.result is Result.DONE
    assert outcome.message.endswith("the members of etcd are m1")
    assert int(control_plane.host.run("stat", "-c", "%s", outcome.path).stdout) > 100_000


def packages_and_images_are_fetched_beforehand(worker: Node) -> None:
    token = worker.give(
        worker.order(Operation.PREPARE, version="v1.36.4"), **dict.fromkeys(PROGRAMS, "1.36.4")
    )
    assert worker.outcome(token).result is Result.DONE
    listed = worker.host.run("ctr", "--namespace=k8s.io", "images", "list", "--quiet").stdout
    assert "registry.k8s.io/kube-proxy:v1.36.4" in listed
    assert worker.versions["kubelet"] == OLD


def kubeadm_upgrades_what_a_worker_has(worker: Node) -> None:
    token = worker.give(worker.order(Operation.UPGRADE_NODE), kubeadm="1.36.4")
    assert worker.outcome(token).result is Result.DONE
    assert (worker.versions["kubeadm"], worker.versions["kubelet"]) == (NEW, OLD)


def packages_are_changed_and_the_machine_restarts(worker: Node) -> None:
    worker.cordon()
    boot = worker.host.read("/proc/sys/kernel/random/boot_id").decode().strip()
    assert worker.info["bootID"] == boot
    order = worker.order(Operation.PACKAGES, reboot=Reboot.ALWAYS)
    assert worker.outcome(worker.give(order, **dict.fromkeys(PROGRAMS, "1.36.4"))).result is Result.DONE
    until(lambda: worker.info["kubeletVersion"] == "v1.36.4" and worker.info["bootID"] != boot, 60, 0.5)
    assert [worker.versions[name] for name in PROGRAMS] == [NEW] * 3
    assert worker.host.run("apt-mark", "showhold").stdout.split() == sorted(PROGRAMS)


def packages_are_put_back_by_an_agent_that_is_killed_meanwhile(worker: Node) -> None:
    order = worker.order(Operation.PACKAGES, 2, back=True)
    token = worker.give(order, **dict.fromkeys(PROGRAMS, "1.36.3"))
    until(lambda: protocol.readiness_of(worker.annotations) == Readiness(False, token), 60, 0.1)
    worker.host.run("systemctl", "kill", "--signal=KILL", "shiplift-agent")
    assert worker.outcome(token).result is Result.DONE
    assert [worker.versions[name] for name in PROGRAMS] == [OLD] * 3
    until(lambda: worker.info["kubeletVersion"] == "v1.36.3", 60, 0.5)


def a_kubelet_that_does_not_stay_up_is_put_back(worker: Node) -> None:
    worker.host.run("sh", "-c", BROKEN)
    outcome = worker.outcome(worker.give(worker.order(Operation.PACKAGES, 3), kubelet="1.36.9"))
    assert outcome.result is Result.FAILED
    assert outcome.message == (
        "kubelet 1.36.9-1.1 does not stay up after its restart; what was there before was put back"
    )
    assert worker.versions["kubelet"] == OLD
    assert worker.host.run("systemctl", "is-active", "kubelet").stdout == "active\n"
