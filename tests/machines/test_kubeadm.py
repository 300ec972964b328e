"""What kubeadm is given: the user's own words, and ours where nobody else can know."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from shiplift.machines.kubeadm import Admission, ca_hash, init_text, join_text
from shiplift.machines.pools import read
from tests.machines.world import pool, text

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


@pytest.fixture(scope="module")
def authority() -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kubernetes")])
    now = datetime(2026, 1, 1, tzinfo=UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(days=1))
    from cryptography.hazmat.primitives.serialization import Encoding

    return made.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()


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
