"""`shiplift local nodes` and `env`: more nodes beside those that are there, and a shell that finds them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from shiplift.local.cluster import Cluster
from shiplift.local.components import Component
from shiplift.local.nodes import Pool, Ready
from tests.until import until

from .test_command import run


@pytest.fixture(scope="module")
def state(programs: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cluster `it's` would be no name: the folder has a quote and a blank in it instead."""
    folder = tmp_path_factory.mktemp("it's here")
    cluster = Cluster("small", folder / "clusters")
    try:
        cluster.up(pools=[Pool(count=2, version="v1.35.4")])
        yield folder
    finally:
        cluster.down()


@pytest.fixture
def small(state: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setenv("SHIPLIFT_STATE", str(state))
    return Cluster("small")


def listed() -> list[tuple[str, ...]]:
    said = run("nodes", "list", "--name", "small")
    assert (said.returncode, said.stderr) == (0, "")
    return [tuple(line.split("\t")) for line in said.stdout.splitlines()]


def test_new_nodes_come_beside_the_old_ones_and_their_numbers_go_on(small: Cluster) -> None:
    assert listed() == [("node-0", "v1.35.4", "Ready"), ("node-1", "v1.35.4", "Ready")]
    added = run("nodes", "add", "2", "--version", "v1.36.3", "--name", "small")
    assert (added.returncode, added.stdout) == (0, "")
    assert added.stderr == "added node-2 to node-3, v1.36.3\n"
    assert listed()[2:] == [("node-2", "v1.36.3", "Ready"), ("node-3", "v1.36.3", "Ready")]

    other = run("nodes", "add", "1", "--version", "v1.36.3", "--pool", "big", "-n", "small")
    assert other.stderr == "added big-0, v1.36.3\n"
    small.nodes.remove("big-0", "node-2", "node-3")


def test_states_are_told_one_word_each_and_as_json(small: Cluster) -> None:
    kubectl = [small.state.programs["kubectl"], "--kubeconfig", str(small.kubeconfig)]
    subprocess.run([*kubectl, "cordon", "node-0"], check=True, capture_output=True)
    small.nodes.set_ready("node-1", Ready.FALSE)
    until(lambda: listed()[1][2] == "NotReady")
    said = run("nodes", "list", "--name", "small", "-o", "json")
    assert msgspec.json.decode(said.stdout) == [
        {"name": "node-0", "version": "v1.35.4", "state": "cordoned"},
        {"name": "node-1", "version": "v1.35.4", "state": "NotReady"},
    ]
    small.nodes.set_ready("node-1", Ready.TRUE)
    subprocess.run([*kubectl, "uncordon", "node-0"], check=True, capture_output=True)


def test_together_they_may_not_be_too_many(small: Cluster) -> None:
    said = run("nodes", "add", "9999", "--version", "v1.36.3", "--name", "small")
    assert (said.returncode, said.stderr.splitlines()) == (
        1,
        ["error: 2 nodes and 9999 more are too many", "hint: at most 10000"],
    )
    assert len(listed()) == 2


def test_a_shell_finds_the_cluster_and_a_kubectl(small: Cluster) -> None:
    command = f"{sys.executable} -c 'from shiplift.cli import main; main()' local env --name small"
    script = f'eval "$({command})" && kubectl get nodes -o name'
    said = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert said.stdout.splitlines() == ["node/node-0", "node/node-1"], said.stderr


def test_a_cluster_that_is_not_whole_says_how_to_start_it(small: Cluster) -> None:
    small.kill(Component.API_SERVER)
    said = run("nodes", "list", "--name", "small")
    assert (said.returncode, said.stdout) == (1, "")
    assert said.stderr.splitlines() == [
        "error: kube-apiserver of cluster small does not run",
        "hint: shiplift local up --name small starts it",
    ]
    small.up()
