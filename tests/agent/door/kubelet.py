"""Credentials of kubelets, as kubeadm and the kubelet leave them on a machine."""

from __future__ import annotations

from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from shiplift.local.cluster import Cluster
from shiplift.local.pki import Authority

CONFIG = """apiVersion: v1
clusters:
- cluster:
    certificate-authority: {authority}
    server: https://127.0.0.1:{port}
  name: kubernetes
contexts:
- context:
    cluster: kubernetes
    user: system:node:{name}
  name: system:node:{name}@kubernetes
current-context: system:node:{name}@kubernetes
kind: Config
preferences: {{}}
users:
- name: system:node:{name}
  user:
    client-certificate: {folder}/kubelet-client-current.pem
    client-key: {folder}/kubelet-client-current.pem
"""


def authority(cluster: Cluster, name: str = "ca") -> Authority:
    """The one that signs for the cluster."""
    pki = cluster.layout.pki
    key = serialization.load_pem_private_key((pki / f"{name}.key").read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return Authority(key, x509.load_pem_x509_certificate((pki / f"{name}.crt").read_bytes()))


def kubelet_config(cluster: Cluster, folder: Path, name: str) -> Path:
    """A kubelet.conf of that node, with a certificate that can be rotated."""
    folder.mkdir(exist_ok=True)
    rotate(authority(cluster), folder, f"system:node:{name}")
    path = folder / "kubelet.conf"
    port, trusted = cluster.state.ports.api, cluster.layout.pki / "ca.crt"
    path.write_text(CONFIG.format(authority=trusted, port=port, folder=folder, name=name))
    return path


def rotate(signer: Authority, folder: Path, user: str) -> None:
    """A new certificate, to which the link is moved, as the kubelet does it."""
    count = len(list(folder.glob("kubelet-client-2*.pem")))
    signer.sign(folder, "new", user, "system:nodes")
    pem = folder / f"kubelet-client-2026-11-17-{count:02}.pem"
    pem.write_bytes((folder / "new.crt").read_bytes() + (folder / "new.key").read_bytes())
    link = folder / ".current"
    link.symlink_to(pem)
    link.replace(folder / "kubelet-client-current.pem")
