"""What kubeadm is given: the user's own words, and ours where nobody else can know."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

import pytest
import yaml
from msgspec.structs import replace

from shiplift.engine.step import Answer, Started
from shiplift.machines.act import Actor
from shiplift.machines.kubeadm import Admission, ca_hash, init_text, join_text
from shiplift.machines.model import Purpose, View
from shiplift.machines.pools import read
from shiplift.machines.steps import Run
from tests.machines.world import START, bare, pool, text

JOIN = """---
apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
nodeRegistration: {ignorePreflightErrors: [SystemVerification]}
controlPlane: {localAPIEndpoint: {bindPort: 7443}}
"""
INIT = """---
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
skipPhases: [addon/coredns]
nodeRegistration: {kubeletExtraArgs: [{name: v, value: "2"}]}
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failSwapOn: false
"""


def test_init_has_the_users_documents_and_the_name_of_the_machine() -> None:
    wanted = read((text(1, 0) + INIT).encode())
    init, cluster, kubelet = yaml.safe_load_all(init_text(wanted, wanted.candidates[0]))
    assert init["skipPhases"] == ["addon/coredns"]
    assert init["nodeRegistration"] == {"kubeletExtraArgs": [{"name": "v", "value": "2"}], "name": "cp-1"}
    assert cluster["kubernetesVersion"] == "v1.36.3"
    assert cluster["controlPlaneEndpoint"] == "api.example.test:6443"
    assert kubelet["failSwapOn"] is False


def test_labels_and_taints_of_the_pool_are_those_of_its_nodes(authority: str) -> None:
    taints = "[{key: gpu, effect: NoSchedule}]"
    file = pool("control-plane", "ControlPlane", 1, ["cp-1"], taints=taints)
    file += pool("w", "Worker", 1, ["w-1"], 100, labels="{b: x, a: y}", taints=taints)
    wanted = read(file.encode())
    init = next(yaml.safe_load_all(init_text(wanted, wanted.candidates[0])))
    assert init["nodeRegistration"]["taints"] == [
        {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"},
        {"key": "gpu", "effect": "NoSchedule"},
    ]
    admission = Admission("10.0.0.10:6443", authority, "abcdef.0123456789abcdef")
    join = yaml.safe_load(join_text(wanted, wanted.candidates[1], admission))
    assert join["nodeRegistration"] == {
        "name": "w-1",
        "kubeletExtraArgs": [{"name": "node-labels", "value": "a=y,b=x"}],
        "taints": [{"key": "gpu", "effect": "NoSchedule"}],
    }


def test_labels_that_the_user_gives_a_kubelet_stay_beside_those_of_the_pool(authority: str) -> None:
    args = "[{name: v, value: '2'}, {name: node-labels, value: 'c=z,a=x'}]"
    own = f"nodeRegistration: {{kubeletExtraArgs: {args}}}\n"
    file = pool("control-plane", "ControlPlane", 1, ["cp-1"])
    file += pool("w", "Worker", 1, ["w-1"], 100, labels="{a: y}")
    file += f"---\napiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n{own}"
    wanted = read(file.encode())
    admission = Admission("10.0.0.10:6443", authority, "abcdef.0123456789abcdef")
    join = yaml.safe_load(join_text(wanted, wanted.candidates[1], admission))
    assert join["nodeRegistration"]["kubeletExtraArgs"] == [
        {"name": "v", "value": "2"},
        {"name": "node-labels", "value": "c=z,a=x,a=y"},
    ]


@pytest.mark.parametrize("own", ["{name: node-labels, value: }", "{name: node-labels}"])
def test_labels_that_the_user_leaves_empty_are_none(own: str) -> None:
    file = pool("control-plane", "ControlPlane", 1, ["cp-1"], labels="{a: y}")
    file += "---\napiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\n"
    file += f"nodeRegistration: {{kubeletExtraArgs: [{own}]}}\n"
    wanted = read(file.encode())
    init = next(yaml.safe_load_all(init_text(wanted, wanted.candidates[0])))
    assert init["nodeRegistration"]["kubeletExtraArgs"] == [{"name": "node-labels", "value": "a=y"}]


def test_who_joins_trusts_one_ca_and_only_control_planes_get_the_certificates(authority: str) -> None:
    wanted = read((text(3, 1) + JOIN).encode())
    admission = Admission("api.example.test:6443", authority, "abcdef.0123456789abcdef", "k" * 64)
    plane, worker = (
        yaml.safe_load(join_text(wanted, wanted.candidates[number], admission)) for number in (1, 3)
    )
    for found in (plane, worker):
        assert found["discovery"]["bootstrapToken"] == {
            "apiServerEndpoint": "api.example.test:6443",
            "token": "abcdef.0123456789abcdef",
            "caCertHashes": [ca_hash(authority)],
        }
        assert found["nodeRegistration"]["ignorePreflightErrors"] == ["SystemVerification"]
    assert plane["controlPlane"] == {"localAPIEndpoint": {"bindPort": 7443}, "certificateKey": "k" * 64}
    assert "controlPlane" not in worker
    assert ca_hash(authority).startswith("sha256:")


def test_what_lets_a_machine_join_does_not_show_itself() -> None:
    assert "abcdef" not in repr(Admission("10.0.0.10:6443", "ca", "abcdef.0123456789abcdef", "key"))


GARBAGE = "-----BEGIN CERTIFICATE-----\nMIIgarbage\n-----END CERTIFICATE-----\n"


@pytest.mark.parametrize("ca", [GARBAGE, "x", "-----BEGIN CERTIFICATE-----\n"])
def test_a_control_plane_whose_ca_is_none_lets_nobody_in_and_is_named(ca: str) -> None:
    asked: list[object] = []

    class Door:
        def ask(self, *_: object) -> dict[str, object]:
            asked.append(_)
            return {"said": ["abcdef.0123456789abcdef", "a" * 64]}

    wanted = read(text(1, 1).encode())
    plane = replace(bare("cp-1"), ca=ca, server="https://10.0.0.10:6443", joined=True, kubeadm=True)
    view = View(wanted=wanted, hosts={"cp-1": plane, "w-1": bare("w-1")}, run="r", fresh="f")
    started = Started.begin("join", START, timedelta(minutes=5))
    join = Run(started=started, machine="w-1", purpose=Purpose.JOIN, what="", via="cp-1")
    outcome = Actor(cast("Any", Door()), wanted, "r").act(join, view)
    told = "control plane cp-1: /etc/kubernetes/pki/ca.crt on it is no certificate: "
    assert (outcome.answer, outcome.message[: len(told)], asked) == (Answer.REFUSED, told, [])
