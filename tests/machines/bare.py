"""Bare machines on this computer, and the words by which `shiplift bootstrap` makes a cluster of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from shiplift.local.machines import Machines, kubeadm, pools, programs

NETWORK = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: pod-network, namespace: kube-system}\n"
SHIPLIFT = (sys.executable, "-c", "from shiplift.cli import main; main()")


def publish(made: Machines, *versions: str) -> None:
    """Machines find packages; containerd is there, and brings the pods' network."""
    made.offer(*(versions or (programs.NEWEST,)))


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
    file = pools.pool(made, "control-plane", "ControlPlane", [*wanted.planes], wanted.version)
    file += pools.pool(made, "workers", "Worker", workers, wanted.version)
    file += pools.kubeadms(documents)
    (folder / "pools.yaml").write_text(file)
    (folder / "network.yaml").write_text(NETWORK)
    words = ("bootstrap", "-f", f"{folder}/pools.yaml", "--ssh-key", str(made.key))
    return (*SHIPLIFT, *words, "--pod-network", f"{folder}/network.yaml")


def run(words: tuple[str, ...], *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*words, *more], capture_output=True, text=True, timeout=600, check=False)
