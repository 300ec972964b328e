"""`shiplift bootstrap` on real machines: bare hosts become one cluster, though it is killed, and it grows."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiplift.local.errors import LocalError
from shiplift.local.machines import Machines
from tests.machines.bare import WITHOUT_DNS, asked, publish, run
from tests.until import until

pytestmark = pytest.mark.crash
FOLDER = "/var/lib/shiplift/bootstrap"
KUBECTL = ("kubectl", "--kubeconfig=/etc/kubernetes/admin.conf")
TOKEN = r"\b[a-z0-9]{6}\.[a-z0-9]{16}\b"


@pytest.fixture(scope="module")
def made(machine_programs: Path, clusters_folder: Path) -> Iterator[Machines]:
    """Three bare machines that find packages; containerd is there, and brings the pods' network."""
    found = Machines(f"bootstrap-{uuid.uuid4().hex[:8]}", clusters_folder)
    found.up(3)
    publish(found)
    yield found
    found.down()


def journal(made: Machines, machine: str) -> list[str]:
    """Commands that have begun there; none are known while it restarts."""
    try:
        said = made.host(machine).run("find", f"{FOLDER}/journal", "-name", "begun", check=False).stdout
    except LocalError:
        return []
    return sorted(line.split("/")[-2] for line in said.splitlines())


def ready(made: Machines) -> dict[str, bool]:
    said = made.host("m1").run(*KUBECTL, "get", "nodes", "--output=json").stdout
    return {
        node["metadata"]["name"]: any(
            one["type"] == "Ready" and one["status"] == "True" for one in node["status"]["conditions"]
        )
        for node in json.loads(said)["items"]
    }


def agents(made: Machines) -> set[str]:
    """Nodes whose agent has written there that it lives, and what it finds."""
    said = made.host("m1").run(*KUBECTL, "get", "nodes", "--output=json").stdout
    notes = {node["metadata"]["name"]: node["metadata"]["annotations"] for node in json.loads(said)["items"]}
    keys = {"node.shiplift.dev/agent", "kubelet.shiplift.dev/current-version"}
    return {name for name, found in notes.items() if keys <= found.keys()}


def scopes(made: Machines, machine: str, command: str) -> str:
    """Of a command that runs: not the one of the connection that it was begun through."""
    pattern = f"shiplift-{command}-*.scope"
    return made.host(machine).run("systemctl", "list-units", "--no-legend", pattern).stdout


def boots(made: Machines) -> list[str]:
    return [host.run("cat", "/proc/sys/kernel/random/boot_id").stdout for host in made.hosts[:2]]


def struck(
    made: Machines, words: tuple[str, ...], number: int, machine: str, command: str
) -> tuple[int, str]:
    """Bootstrap gets a signal as soon as that command has begun there; how it ended, and what it said."""
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as one:
        try:
            until(lambda: command in journal(made, machine) or one.poll() is not None, 240, every=0.5)
            one.send_signal(number)
            told = one.communicate(timeout=30)[1]
        finally:
            one.kill()
    assert command in journal(made, machine), told
    return [*told.splitlines(), f"exit {one.returncode}"]


def mistyped(words: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    """The same command, with a field that kubeadm does not know in one of its documents."""
    text = (folder / "pools.yaml").read_text()
    (folder / "slip.yaml").write_text(text.replace("skipPhases", "skipFases"))
    return tuple(one.replace("pools.yaml", "slip.yaml") for one in words)


@pytest.mark.long(seconds=75)
def test_bare_machines_become_one_cluster_though_bootstrap_is_killed(made: Machines, tmp_path: Path) -> None:
    words, before = asked(made, ["m2"], tmp_path, WITHOUT_DNS), boots(made)

    plan = run(words, "--dry-run")
    assert (plan.returncode, plan.stderr) == (0, "nothing was changed\n")
    assert plan.stdout.splitlines()[0] == ("take machine m1 for pool control-plane: the cluster begins there")
    assert plan.stdout.splitlines()[-1] == "let machine m2 join as a worker"
    assert made.host("m1").run("test", "-e", FOLDER, check=False).returncode == 1

    said = struck(made, words, signal.SIGINT, "m2", "software-1")
    assert said[-3:] == [
        "what runs on machines goes on there; run it again to go on",
        "interrupted",
        "exit 130",
    ]
    refused = run(mistyped(words, tmp_path))
    assert (refused.returncode, "init-1" in journal(made, "m1")) == (1, True)
    assert 'unknown field "skipFases"' in refused.stderr, refused.stderr
    assert made.host("m1").run("test", "-e", "/etc/kubernetes/pki", check=False).returncode == 1
    struck(made, words, signal.SIGKILL, "m1", "init-2")
    until(lambda: "running" in scopes(made, "m1", "init-2"))

    again = run(words, "--kubeconfig-to", str(tmp_path / "admin.conf"))
    assert again.returncode == 0, again.stderr
    assert "2 of 2 machines are part of the cluster" in again.stderr
    assert ready(made) == {"m1": True, "m2": True}
    assert [one for one in journal(made, "m1") if one.startswith("init")] == ["init-1", "init-2"]
    assert journal(made, "m2") == ["agent-1", "join-1", "restart-1", "software-1"]
    assert not set(boots(made)) & set(before)
    until(lambda: agents(made) == {"m1", "m2"}, 60, 0.5)
    made.host("m1").run(*KUBECTL, "get", "configmap", "pod-network", "--namespace=kube-system")
    assert (tmp_path / "admin.conf").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "admin.conf").read_bytes() == made.host("m1").read("/etc/kubernetes/admin.conf")


def test_no_token_is_left_on_a_machine_or_said(made: Machines, tmp_path: Path) -> None:
    said = run(asked(made, ["m2"], tmp_path, WITHOUT_DNS))
    assert (said.returncode, said.stdout) == (0, "")
    assert not re.search(TOKEN, said.stderr)
    for name in ("m1", "m2"):
        found = made.host(name).run("grep", "-rlwE", "[a-z0-9]{6}[.][a-z0-9]{16}", FOLDER, check=False)
        assert found.stdout == ""


def test_a_machine_that_is_added_joins_and_the_others_are_left_alone(made: Machines, tmp_path: Path) -> None:
    before = journal(made, "m2")
    said = run(asked(made, ["m2", "m3"], tmp_path, WITHOUT_DNS))
    assert said.returncode == 0, said.stderr
    assert ready(made) == {"m1": True, "m2": True, "m3": True}
    assert journal(made, "m2") == before


def test_a_silent_control_plane_lets_no_second_cluster_begin(made: Machines, tmp_path: Path) -> None:
    """The only machine that knows of the cluster among those that are named."""
    words = asked(made, ["m2"], tmp_path, WITHOUT_DNS)
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
