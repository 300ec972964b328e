"""kubeadm's own documents for one machine: what the user wrote, and what bootstrap knows.

JSON is YAML, so they are written as JSON. A CA is named by the digest of its public key, as kubeadm has it:
who joins talks to no other cluster.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, cast

import msgspec
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from shiplift.machines.names import KUBEADM_GROUP
from shiplift.machines.pools import Candidate, Document, Wanted

_CHECK = re.compile(r"[A-Za-z0-9.-]{1,128}")
_LABELS = "node-labels"
_CONTROL_PLANE_TAINT = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}


class Admission(msgspec.Struct, frozen=True):
    """What lets a machine join: short-lived, and never written into a log."""

    endpoint: str
    ca: str
    token: str
    certificate_key: str = ""

    def __repr__(self) -> str:
        return f"Admission({self.endpoint})"


class NoCertificateError(Exception):
    """A text that is no certificate."""


def ca_hash(certificate: str) -> str:
    """As kubeadm names a CA: the SHA-256 of its public key."""
    try:
        key = x509.load_pem_x509_certificate(certificate.encode()).public_key()
    except (ValueError, UnsupportedAlgorithm) as error:
        raise NoCertificateError(str(error)) from error
    public = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return f"sha256:{hashlib.sha256(public).hexdigest()}"


def init_text(wanted: Wanted, machine: Candidate) -> str:
    """What `kubeadm init --config` reads on the first machine."""
    init = _document(wanted, "InitConfiguration")
    cluster = _document(wanted, "ClusterConfiguration")
    cluster["kubernetesVersion"] = f"v{machine.pool.spec.version.removeprefix('v')}"
    init["nodeRegistration"] = registration(machine, init.get("nodeRegistration", {}))
    init["bootstrapTokens"] = [{"ttl": "15m0s"}]  # kubeadm's own would last a day
    components = [dict(one) for kind, one in wanted.kubeadm.items() if kind.startswith("Kube")]
    return _text(init, cluster, *components)


def join_text(wanted: Wanted, machine: Candidate, admission: Admission) -> str:
    """What `kubeadm join --config` reads on any other."""
    join = _document(wanted, "JoinConfiguration")
    join["nodeRegistration"] = registration(machine, join.get("nodeRegistration", {}))
    join["discovery"] = {
        "bootstrapToken": {
            "apiServerEndpoint": admission.endpoint,
            "token": admission.token,
            "caCertHashes": [ca_hash(admission.ca)],
        }
    }
    control_plane: Mapping[str, Any] = join.pop("controlPlane", None) or {}
    if machine.control_plane:
        join["controlPlane"] = {**control_plane, "certificateKey": admission.certificate_key}
    return _text(join)


def registration(machine: Candidate, given: Mapping[str, Any]) -> dict[str, Any]:
    """How a machine enters the cluster: under its own name, with the labels and taints of its pool."""
    found = {**given, "name": machine.name}
    spec = machine.pool.spec
    if spec.labels:
        found["kubeletExtraArgs"] = _labelled(given.get("kubeletExtraArgs", []), spec.labels)
    if spec.taints:
        own = [_CONTROL_PLANE_TAINT] if machine.control_plane else []
        found["taints"] = [*given.get("taints", own), *(msgspec.to_builtins(one) for one in spec.taints)]
    return found


def _labelled(args: list[Document], labels: Mapping[str, str]) -> list[Document]:
    """The user's own arguments, whose labels stay; those of the pool come last, and so prevail."""
    given = [one.get("value") for one in args if one.get("name") == _LABELS]
    own = [str(one) for one in given if one is not None]
    ours = [f"{key}={value}" for key, value in sorted(labels.items())]
    text = ",".join(one for one in (*own, *ours) if one)
    return [*(one for one in args if one.get("name") != _LABELS), {"name": _LABELS, "value": text}]


def ignored_checks(wanted: Wanted, machine: Candidate) -> list[str]:
    """The checks of kubeadm whose failure the user overlooks on a machine, by name. `all` is not among them:
    it is said of a machine's first day, and would let an upgrade begin on a cluster that is not healthy."""
    kinds = ("InitConfiguration", "JoinConfiguration") if machine.control_plane else ("JoinConfiguration",)
    registered: list[Document] = [_document(wanted, kind).get("nodeRegistration", {}) for kind in kinds]
    lists = [one.get("ignorePreflightErrors") for one in registered]
    given = [one for found in lists if isinstance(found, list) for one in cast("list[object]", found)]
    return sorted({str(one) for one in given if _is_check(one)})


def _is_check(value: object) -> bool:
    return isinstance(value, str) and _CHECK.fullmatch(value) is not None and value.lower() != "all"


def _document(wanted: Wanted, kind: str) -> dict[str, Any]:
    given: Document = wanted.kubeadm.get(kind, {})
    return {**given, "apiVersion": KUBEADM_GROUP, "kind": kind}


def _text(*documents: Mapping[str, Any]) -> str:
    return "---\n".join(msgspec.json.format(msgspec.json.encode(one)).decode() + "\n" for one in documents)
