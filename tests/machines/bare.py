"""Bare machines on this computer, and the words by which `shiplift bootstrap` makes a cluster of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from shiplift.local.machines import Machines, kubeadm, packages, programs

NETWORK = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: pod-network, namespace: kube-system}\n"
JOIN = """---
apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
nodeRegistration: {ignorePreflightErrors: [SystemVerification]}
"""
SHIPLIFT = (sys.executable, "-c", "from shiplift.cli import main; main()")


def publish(made: Machines, *versions: str) -> None:
    """Machines find packages; containerd is there, and brings the pods' network."""
    wanted = versions or (programs.NEWEST,)
    for version in wanted:
        made.publish(version)
    sources = [f"deb [trusted=yes] {made.repository}/{packages.channel(one)}/ ./\n" for one in wanted]
    for host in made.hosts:
        host.write("/etc/apt/sources.list.d/kubernetes.list", "".join(sources).encode())


def pool(made: Machines, name: str, role: str, hosts: list[str], version: str = programs.NEWEST) -> str:
    keys = dict(line.split(" ", 1) for line in made.known_hosts.read_text().splitlines())
    lines = [
        f"---\napiVersion: shiplift.dev/v1alpha1\nkind: MachinePool\nmetadata: {{name: {name}}}\nspec:",
        f"  role: {role}\n  provider: Static\n  replicas: {len(hosts)}\n  version: {version}",
        "  static:\n    sshKeySecret: key\n    hosts:",
    ]
    for one in hosts:
        address = made.host(one).address
        key = " ".join(keys[address].split()[:2])
        lines.append(f"    - {{name: {one}, address: {address}, hostKey: {key}}}")
    return "\n".join(lines) + "\n"


class Wanted(NamedTuple):
    """Which cluster is to be made."""

    version: str = programs.NEWEST
    planes: tuple[str, ...] = ("m1",)
    endpoint: str = ""
    """Where all control planes answer; empty where there is one."""
    dns: bool = True


ONE = Wanted()
WITHOUT_DNS = Wanted(dns=False)


def asked(made: Machines, workers: list[str], folder: Path, wanted: Wanted = ONE) -> tuple[str, ...]:
    """The words of the command."""
    first = made.host(wanted.planes[0]).address
    documents = kubeadm.documents(wanted.version, first)
    if wanted.endpoint:
        documents = documents.replace(f'"{first}:{kubeadm.PORT}"', f'"{wanted.endpoint}"')
    if not wanted.dns:
        without = "kind: InitConfiguration\nskipPhases: [addon/coredns]"
        documents = documents.replace("kind: InitConfiguration", without)
    ignored = "nodeRegistration: {ignorePreflightErrors: [SystemVerification], "
    file = pool(made, "control-plane", "ControlPlane", [*wanted.planes], wanted.version)
    file += pool(made, "workers", "Worker", workers, wanted.version)
    file += f"---\n{documents.replace('nodeRegistration: {', ignored)}{JOIN}"
    (folder / "pools.yaml").write_text(file)
    (folder / "network.yaml").write_text(NETWORK)
    words = ("bootstrap", "-f", f"{folder}/pools.yaml", "--ssh-key", str(made.key))
    return (*SHIPLIFT, *words, "--pod-network", f"{folder}/network.yaml")


def run(words: tuple[str, ...], *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*words, *more], capture_output=True, text=True, timeout=600, check=False)
