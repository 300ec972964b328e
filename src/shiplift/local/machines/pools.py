"""The file for `shiplift bootstrap` that makes a cluster of bare machines on this computer."""

from __future__ import annotations

from collections.abc import Iterable

from shiplift.local.machines import kubeadm
from shiplift.local.machines.machines import Machines

_JOIN = """---
apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
nodeRegistration: {ignorePreflightErrors: [SystemVerification]}
"""
_IGNORED = "nodeRegistration: {ignorePreflightErrors: [SystemVerification], "


def text(made: Machines, version: str) -> str:
    """The first machine is the control plane, the others are workers."""
    first, *others = [host.name for host in made.hosts]
    pools = pool(made, "control-plane", "ControlPlane", [first], version)
    pools += pool(made, "workers", "Worker", others, version) if others else ""
    return pools + kubeadms(kubeadm.documents(version, made.host(first).address))


def kubeadms(documents: str) -> str:
    """kubeadm's own documents, with what it has to overlook on such machines."""
    return f"---\n{documents.replace('nodeRegistration: {', _IGNORED)}{_JOIN}"


def pool(made: Machines, name: str, role: str, hosts: Iterable[str], version: str) -> str:
    keys = dict(line.split(" ", 1) for line in made.known_hosts.read_text().splitlines())
    named = list(hosts)
    lines = [
        f"---\napiVersion: shiplift.dev/v1alpha1\nkind: MachinePool\nmetadata:\n  name: {name}\nspec:",
        f"  role: {role}\n  provider: Static\n  replicas: {len(named)}\n  version: {version}",
        "  static:\n    sshKeySecret: machines\n    hosts:",
    ]
    for one in named:
        address = made.host(one).address
        key = " ".join(keys[address].split()[:2])
        lines.append(f"    - {{name: {one}, address: {address}, hostKey: {key}}}")
    return "\n".join(lines) + "\n"
