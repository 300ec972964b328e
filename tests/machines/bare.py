"""Bare machines on this computer, and the words by which `shiplift bootstrap` makes a cluster of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from shiplift.local.machines import Machines, kubeadm, programs

NETWORK = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: pod-network, namespace: kube-system}\n"
JOIN = """---
apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
nodeRegistration: {ignorePreflightErrors: [SystemVerification]}
"""
SHIPLIFT = (sys.executable, "-c", "from shiplift.cli import main; main()")


def publish(made: Machines) -> None:
    """Machines find packages; containerd is there, and brings the pods' network."""
    made.publish(programs.NEWEST)
    for host in made.hosts:
        source = f"deb [trusted=yes] {made.repository}/v1.36/ ./\n"
        host.write("/etc/apt/sources.list.d/kubernetes.list", source.encode())


def pool(made: Machines, name: str, role: str, hosts: list[str]) -> str:
    keys = dict(line.split(" ", 1) for line in made.known_hosts.read_text().splitlines())
    lines = [
        f"---\napiVersion: shiplift.dev/v1alpha1\nkind: MachinePool\nmetadata: {{name: {name}}}\nspec:",
        f"  role: {role}\n  provider: Static\n  replicas: {len(hosts)}\n  version: {programs.NEWEST}",
        "  static:\n    sshKeySecret: key\n    hosts:",
    ]
    for one in hosts:
        address = made.host(one).address
        key = " ".join(keys[address].split()[:2])
        lines.append(f"    - {{name: {one}, address: {address}, hostKey: {key}}}")
    return "\n".join(lines) + "\n"


def asked(made: Machines, workers: list[str], folder: Path, *, dns: bool = True) -> tuple[str, ...]:
    """The words of the command."""
    documents = kubeadm.documents(programs.NEWEST, made.host("m1").address)
    if not dns:
        without = "kind: InitConfiguration\nskipPhases: [addon/coredns]"
        documents = documents.replace("kind: InitConfiguration", without)
    ignored = "nodeRegistration: {ignorePreflightErrors: [SystemVerification], "
    file = pool(made, "control-plane", "ControlPlane", ["m1"]) + pool(made, "workers", "Worker", workers)
    file += f"---\n{documents.replace('nodeRegistration: {', ignored)}{JOIN}"
    (folder / "pools.yaml").write_text(file)
    (folder / "network.yaml").write_text(NETWORK)
    words = ("bootstrap", "-f", f"{folder}/pools.yaml", "--ssh-key", str(made.key))
    return (*SHIPLIFT, *words, "--pod-network", f"{folder}/network.yaml")


def run(words: tuple[str, ...], *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*words, *more], capture_output=True, text=True, timeout=300, check=False)
