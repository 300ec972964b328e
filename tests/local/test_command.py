"""`shiplift local`: data on stdout, the rest on stderr, errors with a hint, nothing left after Ctrl-C."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys

import msgspec
import pytest

from shiplift.local.cluster import Cluster
from shiplift.local.components import Component
from shiplift.local.nodes import Pool

from .leftovers import processes_of, running

main = importlib.import_module("shiplift.cli.main")
COMMAND = [sys.executable, "-c", "from shiplift.cli import main; main()", "local"]


@pytest.fixture(autouse=True)
def state_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("SHIPLIFT_STATE", str(tmp_path))
    yield tmp_path / "clusters"
    for folder in (tmp_path / "clusters").glob("*/"):
        Cluster(folder.name, tmp_path / "clusters").down()


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.usefixtures("programs")
def test_a_cluster_from_up_to_down(state_folder):
    up = run("up", "--nodes", "2", "--node-version", "v1.35.4")
    assert (up.returncode, up.stdout) == (0, "")
    assert "cluster default is up" in up.stderr
    assert run("kubeconfig").stdout == f"{state_folder}/default/kubeconfig\n"
    cluster = Cluster("default", state_folder)
    versions = {node["status"]["nodeInfo"]["kubeletVersion"] for node in cluster.nodes.list()}
    assert versions == {"v1.35.4"}
    assert run("status").stdout.startswith("default\trunning\thttps://127.0.0.1:")

    cluster.kill(Component.CONTROLLERS)
    broken = run("status", "--output", "json")
    assert broken.returncode == 1
    assert "hint: shiplift local up --name default" in broken.stderr
    (report,) = msgspec.json.decode(broken.stdout)
    assert report["components"]["kube-controller-manager"] == "not running"
    assert report["components"]["etcd"] == "healthy"
    assert run("up", "--nodes", "2").returncode == 0
    assert run("status").returncode == 0

    down = run("down")
    assert (down.returncode, down.stdout) == (0, "")
    assert processes_of(state_folder) == []
    assert run("status").stdout == ""


@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_an_interrupted_up_leaves_nothing(state_folder, number):
    with running([*COMMAND, "up"], stderr=subprocess.PIPE) as process:
        assert process.stderr
        until_line(process.stderr, "starting kube-apiserver")
        os.kill(process.pid, number)
        assert "nothing was left behind" in process.stderr.read()
        assert process.wait(20) == 130
    assert processes_of(state_folder) == []
    assert run("status").stdout == ""


@pytest.mark.usefixtures("programs")
def test_a_cluster_in_the_foreground_ends_with_ctrl_c(state_folder):
    command = [*COMMAND, "up", "--foreground", "--nodes", "0"]
    with running(command, stderr=subprocess.PIPE) as process:
        assert process.stderr
        until_line(process.stderr, "Ctrl-C ends it")
        assert processes_of(state_folder)
        os.kill(process.pid, signal.SIGINT)
        process.stderr.read()
        assert process.wait(20) == 130
    assert processes_of(state_folder) == []
    assert not (state_folder / "default").exists()


def until_line(lines, wanted):
    for line in lines:
        if wanted in line:
            return
    pytest.fail(f"never said {wanted!r}")


ADD = ("nodes", "add", "1", "--version", "v1.36.3")


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (("kubeconfig",), "there is no cluster 'default'", "up --name default"),
        (("status", "--name", "absent"), "there is no cluster 'absent'", "up --name absent"),
        (("up", "--name", "../escape"), "'../escape' cannot be the name", "lower-case"),
        (("up", "--nodes=-1"), "-1 is no number of nodes", "from 0"),
        (("up", "--node-version", "1.35"), "'1.35' is not a kubelet version", "v1.35.4"),
        (("up", "--emulate", "1.12"), "'1.12' cannot be emulated", "1.33"),
        (("up", "--port", "80"), "80 cannot be the port", "1024"),
        (("env",), "there is no cluster 'default'", "up --name default"),
        (("nodes", "list"), "there is no cluster 'default'", "up --name default"),
        (("nodes", "add", "1", "--version", "v1.36.3"), "there is no cluster 'default'", "up --name default"),
        (("nodes", "add", "0", "--version", "v1.36.3"), "0 is no number of nodes", "from 1 to 10000"),
        (("nodes", "add", "10001", "--version", "v1.36.3"), "10001 is no number of nodes", "from 1 to 10000"),
        (("nodes", "add", "few", "--version", "v1.36.3"), "COUNT 'few' is no number", "--help"),
        (("nodes", "add", "1"), "--version is missing", "nodes add --help"),
        (("nodes", "add", "1", "--version", "1.36"), "'1.36' is not a kubelet version", "v1.35.4"),
        (
            ("nodes", "add", "1", "--version", "v1.36.3", "--pool", "A/B"),
            "'A/B' is not the name of nodes",
            "lower-case",
        ),
    ],
)
def test_a_mistake_is_one_line_and_a_hint(arguments, error, hint, capsys):
    code = main.run(["local", *arguments])
    said = capsys.readouterr()
    assert (code, said.out) == (1, "")
    first, second = said.err.splitlines()
    assert first.startswith(f"error: {error}")
    assert second.startswith("hint: ")
    assert hint in second


def test_down_without_a_cluster_is_fine():
    done = run("down")
    assert done.returncode == 0
    assert "there is no cluster" in done.stderr


def test_pools_of_a_cluster_have_different_addresses():
    addresses = {
        manifest["status"]["addresses"][0]["address"]
        for name in ("blue", "green")
        for manifest in Pool(name, count=600).manifests()
    }
    assert len(addresses) == 1200
