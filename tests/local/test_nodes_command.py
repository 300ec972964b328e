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
    like = {"pool": "node", "architecture": "amd64", "capacity": "8/32Gi/110"}
    shown = [{key: one[key] for key in ("name", "version", "state", *like)} for one in _json(said.stdout)]
    assert shown == [
        {"name": "node-0", "version": "v1.35.4", "state": "cordoned", **like},
        {"name": "node-1", "version": "v1.35.4", "state": "NotReady", **like},
    ]
    small.nodes.set_ready("node-1", Ready.TRUE)
    subprocess.run([*kubectl, "uncordon", "node-0"], check=True, capture_output=True)


def _json(text: str) -> list[dict[str, str]]:
    return msgspec.json.decode(text)


def test_nodes_of_any_kind_come_fall_ill_report_another_version_and_go(small: Cluster) -> None:
    kind = ("--zone", "east", "--arch", "arm64", "--cpu", "2", "--memory", "4Gi", "--pods", "9")
    done("add", "2", "--version", "v1.36.3", "--pool", "odd", *kind, "--taint", "dedicated=gpu:NoSchedule")
    assert odd(small) == [
        f"odd-{number}\tv1.36.3\tReady\todd\teast\tarm64\t2/4Gi/9\tdedicated=gpu:NoSchedule"
        for number in (0, 1)
    ]
    assert done("version", "v1.36.4", "odd-1") == "odd-1: v1.36.4\n"
    assert [line.split("\t")[1] for line in odd(small)] == ["v1.36.3", "v1.36.4"]
    assert done("ready", "silent", "--pool", "odd") == "odd-0 to odd-1: silent\n"
    until(lambda: [line.split("\t")[2] for line in odd(small)] == ["NotReady"] * 2)
    done("ready", "ready", "odd-0", "odd-1")
    until(lambda: [line.split("\t")[2] for line in odd(small)] == ["Ready"] * 2)
    assert done("remove", "--pool", "odd") == "removed odd-0 to odd-1\n"
    assert odd(small) == []


def done(*arguments: str) -> str:
    said = run("nodes", *arguments, "--name", "small")
    assert (said.returncode, said.stdout) == (0, ""), said.stderr
    return said.stderr


def odd(small: Cluster) -> list[str]:
    said = run("nodes", "list", "--name", "small", "-o", "wide")
    return [line for line in said.stdout.splitlines() if line.startswith("odd-")]


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (("remove", "node-7"), "there is no node node-7", "shiplift local nodes list prints them"),
        (("remove",), "which nodes?", "name them, or give --pool for all of a pool"),
        (("remove", "node-1", "--pool", "node"), "which nodes?", "name them, or give --pool"),
        (("version", "v1.36.3", "--pool", "gone"), "no node is of pool gone", "nodes list -o wide"),
    ],
)
def test_nodes_that_are_not_there_are_named_and_nothing_is_done(
    small: Cluster, arguments: tuple[str, ...], error: str, hint: str
) -> None:
    said = run("nodes", *arguments, "--name", "small")
    assert (said.returncode, said.stdout) == (1, "")
    first, second = said.stderr.splitlines()
    assert first == f"error: {error}"
    assert hint in second
    assert len(listed()) == 2


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
