"""`shiplift bootstrap` on real machines: bare hosts become one cluster, though it is killed, and it grows."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiplift.local.machines import Machines, kubeadm, programs
from tests.until import until

pytestmark = pytest.mark.crash
FOLDER = "/var/lib/shiplift/bootstrap"
KUBECTL = ("kubectl", "--kubeconfig=/etc/kubernetes/admin.conf")
NETWORK = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: pod-network, namespace: kube-system}\n"
JOIN = """---
apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
nodeRegistration: {ignorePreflightErrors: [SystemVerification]}
"""
TOKEN = r"\b[a-z0-9]{6}\.[a-z0-9]{16}\b"


@pytest.fixture(scope="module")
def made(machine_programs: Path, clusters_folder: Path) -> Iterator[Machines]:
    """Three bare machines that find packages; containerd is there, and brings the pods' network."""
    found = Machines(f"bootstrap-{uuid.uuid4().hex[:8]}", clusters_folder)
    found.up(3)
    found.publish(programs.NEWEST)
    for host in found.hosts:
        source = f"deb [trusted=yes] {found.repository}/v1.36/ ./\n"
        host.write("/etc/apt/sources.list.d/kubernetes.list", source.encode())
    yield found
    found.down()


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


def asked(made: Machines, workers: list[str], folder: Path) -> tuple[str, ...]:
    """The words of the command."""
    documents = kubeadm.documents(programs.NEWEST, made.host("m1").address)
    without_dns = "kind: InitConfiguration\nskipPhases: [addon/coredns]"
    documents = documents.replace("kind: InitConfiguration", without_dns)
    ignored = "nodeRegistration: {ignorePreflightErrors: [SystemVerification], "
    file = pool(made, "control-plane", "ControlPlane", ["m1"]) + pool(made, "workers", "Worker", workers)
    file += f"---\n{documents.replace('nodeRegistration: {', ignored)}{JOIN}"
    (folder / "pools.yaml").write_text(file)
    (folder / "network.yaml").write_text(NETWORK)
    words = ("bootstrap", "-f", f"{folder}/pools.yaml", "--ssh-key", str(made.key))
    return (
        sys.executable,
        "-c",
        "from shiplift.cli import main; main()",
        *words,
        "--pod-network",
        f"{folder}/network.yaml",
    )


def run(words: tuple[str, ...], *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*words, *more], capture_output=True, text=True, timeout=300, check=False)


def journal(made: Machines, machine: str) -> list[str]:
    said = made.host(machine).run("find", f"{FOLDER}/journal", "-name", "begun", check=False).stdout
    return sorted(line.split("/")[-2] for line in said.splitlines())


def ready(made: Machines) -> dict[str, bool]:
    said = made.host("m1").run(*KUBECTL, "get", "nodes", "--output=json").stdout
    return {
        node["metadata"]["name"]: any(
            one["type"] == "Ready" and one["status"] == "True" for one in node["status"]["conditions"]
        )
        for node in json.loads(said)["items"]
    }


def boots(made: Machines) -> list[str]:
    return [host.run("cat", "/proc/sys/kernel/random/boot_id").stdout for host in made.hosts[:2]]


def test_bare_machines_become_one_cluster_though_bootstrap_is_killed(made: Machines, tmp_path: Path) -> None:
    words, before = asked(made, ["m2"], tmp_path), boots(made)

    plan = run(words, "--dry-run")
    assert (plan.returncode, plan.stderr) == (0, "nothing was changed\n")
    assert plan.stdout.splitlines()[0] == ("take machine m1 for pool control-plane: the cluster begins there")
    assert plan.stdout.splitlines()[-1] == "let machine m2 join as a worker"
    assert made.host("m1").run("test", "-e", FOLDER, check=False).returncode == 1

    first = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    until(lambda: "init-1" in journal(made, "m1") or first.poll() is not None, 240, every=0.5)
    first.kill()
    told = first.communicate()[1]
    assert "init-1" in journal(made, "m1"), told

    again = run(words, "--kubeconfig-to", str(tmp_path / "admin.conf"))
    assert again.returncode == 0, again.stderr
    assert "2 of 2 machines are part of the cluster" in again.stderr
    assert ready(made) == {"m1": True, "m2": True}
    assert [one for one in journal(made, "m1") if one.startswith("init")] == ["init-1"]
    assert journal(made, "m2") == ["join-1", "restart-1", "software-1"]
    assert not set(boots(made)) & set(before)
    made.host("m1").run(*KUBECTL, "get", "configmap", "pod-network", "--namespace=kube-system")
    assert (tmp_path / "admin.conf").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "admin.conf").read_bytes() == made.host("m1").read("/etc/kubernetes/admin.conf")


def test_no_token_is_left_on_a_machine_or_said(made: Machines, tmp_path: Path) -> None:
    said = run(asked(made, ["m2"], tmp_path))
    assert (said.returncode, said.stdout) == (0, "")
    assert not re.search(TOKEN, said.stderr)
    for name in ("m1", "m2"):
        found = made.host(name).run("grep", "-rlwE", "[a-z0-9]{6}[.][a-z0-9]{16}", FOLDER, check=False)
        assert found.stdout == ""


def test_a_machine_that_is_added_joins_and_the_others_are_left_alone(made: Machines, tmp_path: Path) -> None:
    before = journal(made, "m2")
    said = run(asked(made, ["m2", "m3"], tmp_path))
    assert said.returncode == 0, said.stderr
    assert ready(made) == {"m1": True, "m2": True, "m3": True}
    assert journal(made, "m2") == before


def test_a_silent_control_plane_lets_no_second_cluster_begin(made: Machines, tmp_path: Path) -> None:
    """The only machine that knows of the cluster among those that are named."""
    words = asked(made, ["m2"], tmp_path)
    file = (tmp_path / "pools.yaml").read_text()
    (tmp_path / "pools.yaml").write_text(
        file.replace(f"address: {made.host('m2').address}", "address: 192.0.2.1")
    )
    made.host("m1").cut()
    try:
        said = run(words, "--dry-run")
    finally:
        made.host("m1").mend()
    assert (said.returncode, said.stdout) == (1, "")
    assert said.stderr.startswith("error: no host answers; m1: ")
