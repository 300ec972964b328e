"""The software of simulated machines: what is on one, and what an order leaves there."""

from __future__ import annotations

from collections.abc import Mapping

from shiplift.agent import protocol
from shiplift.agent.model import Record
from shiplift.agent.protocol import Operation
from shiplift.facts.nodes import Node, is_control_plane

KUBELET, KUBEADM, CONTAINERD = "kubelet", "kubeadm", "containerd"
CONTROL_PLANE = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
_RUNTIME = "containerd://"


def found_on(row: Node) -> dict[str, str]:
    """What a machine of such a node has; what its agent has said of the rest is so."""
    version = row.kubelet_version.removeprefix("v")
    has: dict[str, str] = dict.fromkeys([KUBELET, KUBEADM, "kubectl"], version)
    has |= dict.fromkeys(CONTROL_PLANE, row.kubelet_version) if is_control_plane(row) else {}
    if row.container_runtime.startswith(_RUNTIME):
        has[CONTAINERD] = row.container_runtime.removeprefix(_RUNTIME)
    return has | protocol.current_versions(row.annotations)


def left_by(record: Record, *, control_plane: bool) -> Mapping[str, str]:
    """What an order leaves on a machine."""
    operation, kubeadm = record.order.token.operation, record.desired.get(KUBEADM, "")
    if operation is Operation.PACKAGES:
        return record.desired
    if operation not in {Operation.UPGRADE_APPLY, Operation.UPGRADE_NODE}:
        return {}
    version = record.order.version or (_kubernetes(kubeadm) if kubeadm else "")
    components = dict.fromkeys(CONTROL_PLANE, version) if control_plane and version else {}
    return components | ({KUBEADM: kubeadm} if kubeadm else {})


def reported_of(software: Mapping[str, str]) -> dict[str, str]:
    """What a kubelet says of such packages, in `nodeInfo`."""
    reported: dict[str, str] = {}
    if KUBELET in software:
        reported["kubeletVersion"] = _kubernetes(software[KUBELET])
    if CONTAINERD in software:
        reported["containerRuntimeVersion"] = _RUNTIME + software[CONTAINERD]
    return reported


def _kubernetes(package: str) -> str:
    """The version that a package of Kubernetes installs: `1.36.3-1.1` is of v1.36.3. What comes before a
    release (`1.37.0-rc.1`) has no such revision."""
    version, _, revision = package.removeprefix("v").partition("-")
    return f"v{version}" + (f"-{revision}" if revision[:1].isalpha() else "")
