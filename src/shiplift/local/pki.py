"""The cluster's own certificate authorities, certificates and keys.

Two authorities, because whoever the cluster's signs for must not get into etcd.
Private keys are elliptic (a new cluster costs a millisecond) and readable by their owner only.
"""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from shiplift.local.private import write_private

_LIFETIME = datetime.timedelta(days=365)
_HOSTS = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
_ADDRESSES = ("127.0.0.1", "10.96.0.1")
MASTERS = "system:masters"


class Authority(msgspec.Struct, frozen=True):
    """Signs for one purpose."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    def sign(self, folder: Path, name: str, user: str, *groups: str, server: bool = False) -> None:
        """Write `name`.crt and `name`.key for the user (and, for a server, for loopback)."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name(user, groups), self.certificate.subject, key.public_key())
        builder = builder.add_extension(x509.ExtendedKeyUsage(_usages(server)), critical=False)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        if server:
            builder = builder.add_extension(x509.SubjectAlternativeName(_alternatives()), critical=False)
        _write_pair(folder, name, key, builder.sign(self.key, hashes.SHA256()))


def write_all(folder: Path) -> None:
    """Everything that the components of one cluster need, and the administrator's certificate."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    cluster = _authority(folder, "ca")
    cluster.sign(folder, "server", "kube-apiserver", server=True)
    cluster.sign(folder, "admin", "shiplift-admin", MASTERS)
    cluster.sign(folder, "kwok", "shiplift-kwok", MASTERS)
    cluster.sign(folder, "kube-controller-manager", "system:kube-controller-manager")
    cluster.sign(folder, "kube-scheduler", "system:kube-scheduler")
    etcd = _authority(folder, "etcd-ca")
    etcd.sign(folder, "etcd", "etcd", server=True)
    etcd.sign(folder, "etcd-client", "kube-apiserver")
    _write_key(folder / "service-account.key", ec.generate_private_key(ec.SECP256R1()))


def _authority(folder: Path, name: str) -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _name(f"shiplift-{name}", ())
    builder = _builder(subject, subject, key.public_key())
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_signing_usage(), critical=True)
    authority = Authority(key, builder.sign(key, hashes.SHA256()))
    _write_pair(folder, name, key, authority.certificate)
    return authority


def _builder(
    subject: x509.Name, issuer: x509.Name, public: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + _LIFETIME)
    )


def _name(user: str, groups: tuple[str, ...]) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, user)])


def _usages(server: bool) -> list[x509.ObjectIdentifier]:
    client = [ExtendedKeyUsageOID.CLIENT_AUTH]
    return [ExtendedKeyUsageOID.SERVER_AUTH, *client] if server else client


def _alternatives() -> list[x509.GeneralName]:
    addresses = [x509.IPAddress(ipaddress.ip_address(address)) for address in _ADDRESSES]
    return [*(x509.DNSName(host) for host in _HOSTS), *addresses]


def _signing_usage() -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _write_pair(
    folder: Path, name: str, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate
) -> None:
    (folder / f"{name}.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    _write_key(folder / f"{name}.key", key)


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    # the API server reads service-account keys in this form only
    form = serialization.PrivateFormat.TraditionalOpenSSL
    write_private(path, key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
