"""Bare machines become a cluster, and the cluster is upgraded, by the programs that users run, while somebody
uses it. kubeadm, kubelet, containerd, apt, systemd and etcd are real; so are the operator and the agents."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shiplift.facts import kinds
from shiplift.local.machines import Host, Machines
from tests.machines import traffic
from tests.machines.rig import NEW, PROGRAMS, Rig
from tests.machines.traffic import Asking
from tests.machines.witness import Witness

WORKERS = ["m2", "m3"]
MANIFESTS = "/etc/kubernetes/manifests"


@pytest.fixture
def rig(
    machines: Callable[[int], Machines],
    machine_programs: Path,
    tmp_path: Path,
) -> Iterator[Rig]:
    with Rig(machines(3), tmp_path) as made:
        yield made


@pytest.mark.long(seconds=360)
def test_a_cluster_is_upgraded_under_load_and_no_request_fails(rig: Rig) -> None:
    containerd = rig.publish_news()
    kubelets_are_to_take_more_pods(rig)
    traffic.serve(rig.client)
    asking = Asking(rig.made.depot, rig.made.host("m1").address)
    asking.start()
    rig.start()
    with Witness(rig) as witness:
        rig.roll("patch", version=NEW)
        status = rig.until_phase("patch", "Complete", 420)
        etcd_was_copied_first(rig, status["snapshot"])
        everything_runs_the_patch(rig)
        rig.forget("patch")
        rig.roll("containerd", software=[{"name": "containerd", "version": containerd}])
        rig.until_phase("containerd", "Complete", 240)
    seen = asking.stop()
    assert {rig.versions(host.name)["containerd"] for host in rig.made.hosts} == {containerd}
    nodes_went_in_order_one_at_a_time(witness)
    assert rig.residue() == []
    assert seen.failed == ()
    assert seen.rate >= 10, seen
    assert len(seen.answered) > 2  # its pods were moved


def etcd_was_copied_first(rig: Rig, snapshot: dict[str, str]) -> None:
    assert snapshot["machine"] == "m1"
    host = rig.made.host("m1")
    told = host.run(
        "sh", "-c", f"head -c -32 {snapshot['path']} | sha256sum; tail -c 32 {snapshot['path']} | od -An -tx1"
    ).stdout
    digest, tail = told.split()[0], "".join(told.split()[2:])
    assert digest == tail
    assert len(digest) == hashlib.sha256().digest_size * 2


def kubelets_are_to_take_more_pods(rig: Rig) -> None:
    """Somebody has changed what kubeadm keeps for all kubelets; it comes to machines with their upgrade."""
    kept = rig.client.get(kinds.CONFIG_MAP, "kubelet-config", "kube-system")
    kept["data"]["kubelet"] = kept["data"]["kubelet"].rstrip() + "\nmaxPods: 123\n"
    rig.client.update(kinds.CONFIG_MAP, kept)


def everything_runs_the_patch(rig: Rig) -> None:
    for node in rig.client.list(kinds.NODE):
        assert node["status"]["capacity"]["pods"] == "123", node["metadata"]["name"]
    assert {rig.kubelet(host.name) for host in rig.made.hosts} == {NEW}
    for host in rig.made.hosts:
        assert [rig.versions(host.name)[name] for name in PROGRAMS] == [f"{NEW.removeprefix('v')}-1.1"] * 3
    assert images(rig.made.host("m1")) == {"kube-apiserver", "kube-controller-manager", "kube-scheduler"}
    proxy = rig.client.get(kinds.DAEMON_SET, "kube-proxy", "kube-system")
    assert proxy["spec"]["template"]["spec"]["containers"][0]["image"].endswith(f":{NEW}")
    config = rig.client.get(kinds.CONFIG_MAP, "kubeadm-config", "kube-system")["data"]
    assert f"kubernetesVersion: {NEW}" in config["ClusterConfiguration"]


def images(host: Host) -> set[str]:
    """Static pods of the new version."""
    lines = host.run("sh", "-c", f"grep -h image: {MANIFESTS}/*.yaml").stdout.split()
    return {line.rpartition("/")[2].removesuffix(f":{NEW}") for line in lines if line.endswith(f":{NEW}")}


def nodes_went_in_order_one_at_a_time(witness: Witness) -> None:
    assert witness.most_away == 1
    assert witness.upgraded(NEW)[0] == "m1"
    assert sorted(witness.upgraded(NEW)[1:]) == WORKERS
    orders = [one for one in witness.orders() if one[1] != "Prepare"]
    assert orders[:3] == [("m1", "Snapshot"), ("m1", "UpgradeApply"), ("m1", "Packages")]
    assert sorted(orders[3:]) == [("m2", "Packages"), ("m3", "Packages")]
