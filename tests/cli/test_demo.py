"""`shiplift demo` on the real Kubernetes: it moves the shop, or changes its nodes, and leaves nothing behind
however it ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from shiplift.demo import changing, moving
from shiplift.demo.plot import TARGET
from shiplift.facts import kinds
from shiplift.kube.client import Client
from shiplift.kube.credentials import load
from shiplift.local.cluster import Cluster
from shiplift.local.components import Component
from tests.cli.terminal import Terminal
from tests.local.leftovers import processes_of
from tests.until import until

DEMO = (sys.executable, "-c", "from shiplift.cli import main; main()", "demo")
KEPT = "the cluster stays until q or Ctrl-C: export KUBECONFIG="
CTRL_C = "\x03"
LEAVE_SCREEN = "\x1b[?1049l"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """All that a demo makes is under `tmp_path`."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    return kept | {"TMPDIR": str(tmp_path), "TERM": "xterm-256color"}


def assert_nothing_left(folder: Path) -> None:
    assert processes_of(folder) == []
    assert list(folder.glob("shiplift-demo-*")) == []


@pytest.mark.usefixtures("programs")
def test_elsewhere_than_on_a_terminal_it_tells_what_happens_and_keeps_what_it_is_told_to_keep(
    environment: dict[str, str], tmp_path: Path
) -> None:
    picture = tmp_path / "picture.svg"
    with running([*DEMO, "--keep", "--svg", str(picture)], environment) as process:
        told = list(until_kept(process))
        assert told[-1].startswith(KEPT), told
        assert_moved(Path(told[-1].removeprefix(KEPT)))
        process.send_signal(signal.SIGINT)
        shown, rest = process.communicate(timeout=60)
    assert process.returncode == 0
    assert rest.endswith("nothing is left\n")
    assert "\x1b" not in shown

    scenes = list(map(str, moving.PLAY.scenes))
    assert [line for line in told if line in scenes] == scenes
    assert {f"{name}: arrived" for name in ("api", "cache", "database", "queue", "web", "worker")} <= set(
        told
    )
    assert "web: held, waits for api 0/4" in told
    lines = shown.splitlines()
    assert lines[0] == "shiplift demo · control plane v1.36.3 · nodes: 6 on v1.36.3"
    assert "[####################] 19/19 pods and 6/6 workloads have moved" in lines
    assert sum("✓ arrived" in line for line in lines) == 6
    assert "moves   19 for 19 pods: each once" in lines
    assert "order   kept: each after all that it needs" in lines
    assert "left    nothing: no label, budget or placement of ours" in lines
    assert_reported(lines[lines.index(f"# Upgrade to {TARGET}") :])
    assert "waits&#160;for" in picture.read_text()
    assert "http" not in picture.read_text().replace("http://www.w3.org", "").replace(
        "https://www.textualize.io", ""
    ), "the picture loads nothing"
    assert_nothing_left(tmp_path)


def assert_reported(report: list[str]) -> None:
    """It ends with what was changed when, all of it seen."""
    assert report[2].endswith("as UpgradeConfig cluster asks")
    assert report[3].endswith(": Upgraded")
    assert "- nodes: 0 changed, 6 joined, 6 left" in report
    assert "- moves: 19 pods were given a node" in report
    assert sum(line.startswith(("| Deployment shop/", "| StatefulSet shop/")) for line in report) >= 6
    assert report[-1] == "Nothing: somebody watched from the start to the end, and there was room for it."


@contextlib.contextmanager
def running(command: list[str], environment: dict[str, str]) -> Generator[subprocess.Popen[str]]:
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def until_kept(process: subprocess.Popen[str]) -> Iterator[str]:
    """What it tells, up to the line that says that it stays."""
    assert process.stderr
    for line in process.stderr:
        yield line.rstrip("\n")
        if line.startswith(KEPT):
            return


def assert_moved(kubeconfig: Path) -> None:
    """All that the demo says of itself, seen from outside."""
    with Client(load(kubeconfig)) as client:
        nodes = {node["metadata"]["name"]: node for node in client.list(kinds.NODE)}
        assert {node["status"]["nodeInfo"]["kubeletVersion"] for node in nodes.values()} == {TARGET}
        assert not [
            key
            for node in nodes.values()
            for key in node["metadata"]["labels"]
            if key.startswith("shiplift.dev/")
        ]
        assert {pod["spec"].get("nodeName") for pod in client.list(kinds.POD, "shop")} <= set(nodes)
        assert len(list(client.list(kinds.POD, "shop"))) == 19
        assert list(client.list(kinds.WORKLOAD_PLACEMENT)) == []
        migration = client.get(kinds.WORKLOAD_MIGRATION, "cluster")
        assert migration["status"]["state"] == "NoUpgrade"


@pytest.mark.long(seconds=60)
@pytest.mark.usefixtures("programs")
def test_nodes_are_changed_in_place_and_what_happened_is_told(
    environment: dict[str, str], tmp_path: Path
) -> None:
    picture = tmp_path / "picture.svg"
    with running([*DEMO, "--nodes", "--keep", "--svg", str(picture)], environment) as process:
        told = list(until_kept(process))
        assert told[-1].startswith(KEPT), told
        assert_changed(Path(told[-1].removeprefix(KEPT)))
        process.send_signal(signal.SIGTERM)
        shown, rest = process.communicate(timeout=60)
    assert process.returncode == 0
    assert rest.endswith("nothing is left\n")

    scenes = list(map(str, changing.PLAY.scenes))
    assert [line for line in told if line in scenes] == scenes
    passes = [line.partition(":")[0] for line in told if line.startswith("pass ")]
    assert passes == ["pass Prepare", "pass ControlPlane", "pass ControlPlaneKubelets", "pass Workers"]
    names = [name for pool in changing.POOLS for name in pool.names()]
    assert {f"{name}: changed, it runs {TARGET}" for name in names} <= set(told)
    lines = shown.splitlines()
    assert lines[0] == "shiplift demo · nodes: 11 on v1.36.3"
    assert "[####################] 11/11 nodes are changed to v1.36.3" in lines
    assert sum("✓ changed" in line for line in lines) == 11
    assert "nodes     11 changed in place from v1.35.4 to v1.36.3: each once" in lines
    assert "away      at most 2 of 8 workers and 1 of 3 control planes at once" in lines
    assert "budgets   kept: no workload was ever below its own" in lines
    assert "left      nothing: no cordon, order or desired version of ours" in lines
    assert "draining" in picture.read_text()
    assert_nothing_left(tmp_path)


def assert_changed(kubeconfig: Path) -> None:
    """All that the demo says of itself, seen from outside."""
    ours = ("cordoned-by", "changes-allowed", "desired-version")
    with Client(load(kubeconfig)) as client:
        for node in client.list(kinds.NODE):
            assert node["status"]["nodeInfo"]["kubeletVersion"] == TARGET
            assert not node["spec"].get("unschedulable")
            assert not [key for key in node["metadata"]["annotations"] if key.endswith(ours)]
        [rollout] = client.list(kinds.NODE_ROLLOUT)
        assert rollout["status"]["phase"] == "Complete"
        assert rollout["status"]["progress"]["summary"] == "11/11"


@pytest.mark.usefixtures("programs")
def test_an_interrupt_while_nodes_are_changed_leaves_nothing(
    environment: dict[str, str], tmp_path: Path
) -> None:
    with Terminal([*DEMO, "--nodes"], environment) as terminal:
        terminal.read_until("→ changing", 120)
        terminal.press(CTRL_C)
        assert terminal.wait(30) == 130
        assert terminal.output.endswith("nothing is left\r\ninterrupted\r\n")
        assert "Traceback" not in terminal.output
        assert terminal.settings_now == terminal.settings
    assert_nothing_left(tmp_path)


@pytest.mark.usefixtures("programs")
def test_two_demos_run_side_by_side_and_end_by_key_and_by_interrupt(
    environment: dict[str, str], tmp_path: Path
) -> None:
    with Terminal(DEMO, environment) as one, Terminal(DEMO, environment) as other:
        one.read_until("WORKLOAD", 120)
        other.read_until(str(moving.MOVING), 240)

        one.press("q")
        assert one.wait(30) == 0
        assert LEAVE_SCREEN in one.output
        assert "worker" in one.output.rpartition(LEAVE_SCREEN)[2], "the last picture stays"
        assert one.settings_now == one.settings

        other.press(CTRL_C)
        assert other.wait(30) == 130
        assert other.output.endswith("nothing is left\r\ninterrupted\r\n")
        assert "Traceback" not in other.output
        assert other.settings_now == other.settings
    assert_nothing_left(tmp_path)


@pytest.mark.usefixtures("programs")
def test_an_interrupt_while_it_starts_leaves_nothing(environment: dict[str, str], tmp_path: Path) -> None:
    with Terminal(DEMO, environment) as terminal:
        terminal.read_until("starting kube-controller-manager")
        terminal.press(CTRL_C)
        assert terminal.wait() == 130
        assert "Traceback" not in terminal.output
    assert_nothing_left(tmp_path)


@pytest.mark.usefixtures("programs")
def test_a_closed_terminal_ends_it(environment: dict[str, str], tmp_path: Path) -> None:
    with Terminal(DEMO, environment) as terminal:
        terminal.read_until("WORKLOAD", 120)
        terminal.close()
        terminal.process.wait(30)
    assert_nothing_left(tmp_path)


@pytest.mark.usefixtures("programs")
def test_it_ends_when_a_part_of_its_cluster_dies(environment: dict[str, str], tmp_path: Path) -> None:
    with Terminal(DEMO, environment) as terminal:
        terminal.read_until("WORKLOAD", 120)
        [folder] = tmp_path.glob("shiplift-demo-*")
        Cluster("demo", folder).kill(Component.SCHEDULER)
        assert terminal.wait() == 1
        assert "error: kube-scheduler has stopped\r\nhint: " in terminal.output
    assert_nothing_left(tmp_path)


@pytest.mark.usefixtures("programs")
@pytest.mark.crash
def test_when_it_is_killed_its_cluster_ends_all_the_same(environment: dict[str, str], tmp_path: Path) -> None:
    with Terminal(DEMO, environment) as terminal:
        terminal.read_until("starting kube-controller-manager")
        terminal.process.kill()
        assert terminal.wait() == -signal.SIGKILL
        until(lambda: not processes_of(tmp_path))
        until(lambda: not list(tmp_path.glob("shiplift-demo-*")))


def test_without_programs_it_says_so_and_leaves_nothing(environment: dict[str, str], tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    ran = subprocess.run(
        DEMO,
        env=environment | {"KUBEBUILDER_ASSETS": str(empty)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 1
    assert f"error: KUBEBUILDER_ASSETS is {empty}, but no program is there\nhint: " in ran.stderr
    assert_nothing_left(tmp_path)
