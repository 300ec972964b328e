"""The file of pools: what is read from it, and what is refused by name before anything is looked at."""

from __future__ import annotations

import pytest

from shiplift.machines.pools import PoolsError, read
from tests.machines.world import CLUSTER, KEY, pool, text

ONE = pool("control-plane", "ControlPlane", 1, ["cp-1"])
KUBELET = "---\napiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfailSwapOn: false\n"


def kubeadm(kind: str, more: str = "", version: str = "v1beta4") -> str:
    return f"---\napiVersion: kubeadm.k8s.io/{version}\nkind: {kind}\n{more}"


def test_pools_are_read_control_planes_first() -> None:
    found = read((pool("workers", "Worker", 2, ["w-1", "w-2"], 100) + ONE + CLUSTER + KUBELET).encode())
    assert [one.name for one in found.candidates] == ["cp-1", "w-1", "w-2"]
    assert (found.endpoint, found.control_planes) == ("api.example.test:6443", 1)
    assert set(found.kubeadm) == {"ClusterConfiguration", "KubeletConfiguration"}


def test_a_machine_gets_the_software_of_its_pool() -> None:
    software = "[{name: containerd, version: 1.7.1-1}, {name: kubectl, version: 1.36.3-1.1}]"
    found = read(pool("control-plane", "ControlPlane", 1, ["cp-1"], software=software).encode())
    assert found.candidates[0].packages() == {
        "kubelet": "1.36.3-*",
        "kubeadm": "1.36.3-*",
        "kubectl": "1.36.3-1.1",
        "containerd": "1.7.1-1",
    }


REFUSED = [
    ("a: [", "pools.yaml is no YAML: line 1, column 5: expected the node content"),
    (
        "a: &a [x]\n" + "".join(f"b{number}: *a\n" for number in range(33)),
        "pools.yaml has 33 aliases; 32 at most are followed",
    ),
    (
        ONE.replace("  version:", "  replicas: 3\n  version:"),
        "document 1 of pools.yaml has replicas twice in one place: line 9",
    ),
    (
        CLUSTER
        + pool("w", "Worker", 1, ["w-1"], 100)
        + f"    hosts: [{{name: w-2, address: h, hostKey: {KEY}}}]\n",
        "document 2 of pools.yaml has hosts twice in one place: line 18",
    ),
    (
        ONE.replace("{name: cp-1,", "{name: cp-1, 'name': cp-2,"),
        "document 1 of pools.yaml has name twice in one place: line 13",
    ),
    (
        ONE
        + CLUSTER
        + "apiServer: {extraArgs: [{name: v, value: '1'}, {name: v, value: '2', value: '3'}]}\n",
        "document 2 of pools.yaml has value twice in one place: line 18",
    ),
    (ONE.replace("MachinePool", "MachinePools"), "document 1 of pools.yaml is a MachinePools"),
    (ONE + "---\na: 1\n", "document 2 of pools.yaml has no kind"),
    (ONE.replace("spec:", "sepc: {}\nspec:"), "document 1 of pools.yaml: a MachinePool has no field sepc"),
    (
        ONE.replace("name: control-plane", "name: ControlPlane"),
        "document 1 of pools.yaml: 'ControlPlane' cannot be the name of a MachinePool",
    ),
    (
        ONE.replace("10.0.0.10", "'10.0.0.10:22'"),
        "MachinePool control-plane: address 10.0.0.10:22 of cp-1 has a port",
    ),
    ("- 1", "document 1 of pools.yaml is no object"),
    ("", "no MachinePool has the role ControlPlane"),
    (ONE.replace("Static", "Docker"), "document 1 of pools.yaml: there is no provider 'Docker'"),
    (
        ONE.replace("Static", "Kwok"),
        "document 1 of pools.yaml: provider Kwok makes its machines from within a cluster",
    ),
    (
        ONE.replace("v1alpha1", "v9"),
        "document 1 of pools.yaml: apiVersion of a MachinePool is 'shiplift.dev/v9'",
    ),
    (ONE.replace("MachinePool", "NodeRollout"), "document 1 of pools.yaml is a NodeRollout"),
    (ONE.replace("metadata: {name: control-plane}", "metadata: {}"), "a MachinePool has no name"),
    (ONE.replace("replicas: 1", "replicas: many"), "it has to be a whole number, and is a text"),
    (ONE.replace("version: 1.36.3", "version: latest"), "spec.version"),
    (
        ONE.replace("  role:", "  paced: true\n  role:"),
        "MachinePool control-plane has no field spec.paced",
    ),
    (
        ONE.replace("hostKey:", "prot: 22, hostKey:"),
        "MachinePool control-plane has no field spec.static.hosts[0].prot",
    ),
    (pool("w", "Worker", 1, ["w-1"]), "no MachinePool has the role ControlPlane"),
    (
        pool("cp", "ControlPlane", 3, ["cp-1", "cp-2"]) + CLUSTER,
        "MachinePool cp asks for 3 machines and names 2 hosts",
    ),
    (
        pool("cp", "ControlPlane", 2, ["cp-1", "cp-2"]) + CLUSTER,
        "MachinePool cp asks for 2 control planes",
    ),
    (
        ONE + pool("more", "ControlPlane", 1, ["cp-2"], 20) + CLUSTER,
        "the pools ask for 2 control planes in all",
    ),
    (
        pool("cp", "ControlPlane", 3, ["cp-1", "cp-2", "cp-3"]),
        "3 control planes need a controlPlaneEndpoint",
    ),
    (
        ONE + pool("w", "Worker", 1, ["cp-1"], 100),
        "MachinePools control-plane and w both claim machine cp-1",
    ),
    (
        ONE + pool("w", "Worker", 1, ["w-1"]),
        "MachinePools control-plane and w both claim address 10.0.0.10 port 22",
    ),
    (ONE + pool("w", "Worker", 1, ["w-1", "w-1"], 100), "MachinePool w names w-1 twice"),
    (ONE + ONE, "there are two MachinePools control-plane"),
    (
        ONE + pool("w", "Worker", 1, ["w-1"], 100).replace("1.36.3", "1.37.0"),
        "MachinePool w has version 1.37.0, the control planes 1.36.3",
    ),
    *(
        (
            ONE + pool("w", "Worker", 1, ["w-1"], 100, software=f"[{{name: kubelet, version: '{version}'}}]"),
            message,
        )
        for version, message in (
            ("1.37.0-1.1", "MachinePool w has kubelet 1.37.0, the control planes 1.36.3"),
            ("1:1.37.0-1.1", "MachinePool w has kubelet 1.37.0, the control planes 1.36.3"),
            ("1.32.9-2", "MachinePool w has kubelet 1.32.9, the control planes 1.36.3"),
            ("latest", "MachinePool w: the kubelet of its software has no version"),
        )
    ),
    (
        ONE + pool("w", "Worker", 1, ["w-1"], 100, software="[{name: shiplift-agent, version: 0.1.0-1}]"),
        "MachinePool w: its software names shiplift-agent",
    ),
    (
        ONE + pool("w", "Worker", 1, ["w-1"], 100, labels='{node-role.kubernetes.io/x: ""}'),
        "MachinePool w: a node may not give itself the label node-role.kubernetes.io/x",
    ),
    (ONE + "---\nkind: Secret\napiVersion: v1\n", "document 2 of pools.yaml is of kind 'Secret'"),
    (
        ONE + kubeadm("ClusterConfiguration", version="v1beta3"),
        "document 2 of pools.yaml: apiVersion of ClusterConfiguration is 'kubeadm.k8s.io/v1beta3'",
    ),
    (ONE + CLUSTER + CLUSTER, "document 3 of pools.yaml is a second ClusterConfiguration"),
    (
        ONE + kubeadm("ClusterConfiguration", "kubernetesVersion: v1.35.0\n"),
        "ClusterConfiguration has kubernetesVersion v1.35.0, the control planes 1.36.3",
    ),
    (
        ONE + kubeadm("JoinConfiguration", "discovery: {file: {}}\n"),
        "document 2 of pools.yaml: JoinConfiguration has discovery",
    ),
    *(
        (
            ONE + kubeadm("JoinConfiguration", f"controlPlane: {given}\n"),
            "document 2 of pools.yaml: controlPlane of JoinConfiguration is no object",
        )
        for given in ("x", "[localAPIEndpoint]")
    ),
    (
        ONE + kubeadm("InitConfiguration", "nodeRegistration: {name: x}\n"),
        "document 2 of pools.yaml: InitConfiguration has nodeRegistration.name",
    ),
    (
        ONE + kubeadm("JoinConfiguration", "nodeRegistration:\n"),
        "document 2 of pools.yaml: nodeRegistration of JoinConfiguration is no object",
    ),
    (
        ONE + kubeadm("JoinConfiguration", "nodeRegistration: {kubeletExtraArgs: {v: 2}}\n"),
        "document 2 of pools.yaml: nodeRegistration.kubeletExtraArgs of JoinConfiguration is no list",
    ),
    (
        ONE + kubeadm("JoinConfiguration", "nodeRegistration: {kubeletExtraArgs: [v=2]}\n"),
        "nodeRegistration.kubeletExtraArgs of JoinConfiguration is no list of objects",
    ),
    (
        ONE + kubeadm("InitConfiguration", "nodeRegistration: {taints: }\n"),
        "nodeRegistration.taints of InitConfiguration is no list",
    ),
    (
        ONE + kubeadm("InitConfiguration", "nodeRegistration: {ignorePreflightErrors: [1]}\n"),
        "nodeRegistration.ignorePreflightErrors of InitConfiguration is no list of texts",
    ),
    (
        pool("cp", "ControlPlane", 3, ["a", "b", "c"])
        + kubeadm("ClusterConfiguration", "controlPlaneEndpoint:\n"),
        "document 2 of pools.yaml: controlPlaneEndpoint of ClusterConfiguration is no text",
    ),
    *(
        (
            ONE + kubeadm("ClusterConfiguration", f"controlPlaneEndpoint: '{given}'\n"),
            "controlPlaneEndpoint of ClusterConfiguration: ",
        )
        for given in (
            "https://api:6443",
            "api:",
            "api:0",
            "api:65536",
            "[api]:6443",
            "a b",
            "API",
            "fe80::1%0",
        )
    ),
    (
        ONE + pool("w", "Worker", 1, ["w-1"], 100, labels="{a/b/c: x}"),
        "MachinePool w: no node can have the label 'a/b/c'",
    ),
    (
        ONE + pool("w", "Worker", 1, ["w-1"], 100, joinTimeout="0s"),
        "MachinePool w: with a joinTimeout of 0s nothing comes to its end",
    ),
]


@pytest.mark.parametrize(("given", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_cannot_be_followed_is_named(given: str, message: str) -> None:
    with pytest.raises(PoolsError) as refused:
        read(given.encode())
    assert message in refused.value.message
    assert refused.value.hint


def test_a_host_without_a_key_is_refused() -> None:
    with pytest.raises(PoolsError, match="hostKey"):
        read(text().replace(f", hostKey: {KEY}", "").encode())


def test_a_file_that_contains_itself_is_refused() -> None:
    for kind in (
        "shiplift.dev/v1alpha1\nkind: MachinePool",
        "kubeadm.k8s.io/v1beta4\nkind: InitConfiguration",
    ):
        with pytest.raises(PoolsError, match="document 1 of pools.yaml contains itself".replace(".", r"\.")):
            read(f"apiVersion: {kind}\nspec: &a {{provider: Static, b: *a}}\n".encode())


def test_what_a_merge_brings_may_be_said_otherwise() -> None:
    """One key of its own, and one that it takes over: that is what merges are for."""
    shared = ONE.replace("spec:\n", "spec:\n  <<: &of {replicas: 3, role: Worker}\n")
    found = read((shared + pool("w", "Worker", 1, ["w-1"], 100)).encode())
    assert [(one.spec.role.value, one.spec.replicas) for one in found.pools] == [
        ("ControlPlane", 1),
        ("Worker", 1),
    ]


@pytest.mark.parametrize(
    ("software", "kubelet"),
    [("1.35.1-1.1", "1.35.1"), ("1:1.36.0~rc.1-2", "1.36.0"), ("v1.34", "1.34")],
)
def test_a_kubelet_that_its_software_names_is_judged_by_that(software: str, kubelet: str) -> None:
    more = pool("w", "Worker", 1, ["w-1"], 100, software=f"[{{name: kubelet, version: '{software}'}}]")
    found = read((ONE + more).encode())
    assert [one.kubelet for one in found.candidates] == ["1.36.3", kubelet]
