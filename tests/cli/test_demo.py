"""`shiplift demo` on the real Kubernetes: it shows the shop, and leaves nothing behind however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from shiplift.demo import shop
from shiplift.local.cluster import Cluster
from shiplift.local.components import Component
from tests.cli.terminal import Terminal
from tests.local.leftovers import processes_of
from tests.until import until

DEMO = (sys.executable, "-c", "from shiplift.cli import main; main()", "demo")
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


def test_elsewhere_than_on_a_terminal_it_tells_and_ends(environment: dict[str, str], tmp_path: Path) -> None:
    picture = tmp_path / "picture.svg"
    ran = subprocess.run(
        [*DEMO, "--svg", picture], env=environment, capture_output=True, text=True, timeout=180, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "starting kube-apiserver\n" in ran.stderr
    assert "19 of 19 pods ready\n" in ran.stderr
    assert "\x1b" not in ran.stdout + ran.stderr

    lines = ran.stdout.splitlines()
    assert lines[0] == "shiplift demo · Kubernetes v1.36.3 · nodes: 6 on v1.35.4 · pods: 19 of 19 ready"
    workloads = [line.split()[0] for line in lines if "StatefulSet" in line or "Deployment" in line]
    assert workloads == [f"shop/{name}" for name in ("api", "cache", "database", "queue", "web", "worker")]
    assert sum("● ready" in line and "v1.35.4" in line for line in lines) == 6 + 6
    assert "StatefulSet" in picture.read_text()
    assert "http" not in picture.read_text().replace("http://www.w3.org", "").replace(
        "https://www.textualize.io", ""
    ), "the picture loads nothing"
    assert_nothing_left(tmp_path)


def test_two_demos_run_side_by_side_and_end_by_key_and_by_interrupt(
    environment: dict[str, str], tmp_path: Path
) -> None:
    with Terminal(DEMO, environment) as one, Terminal(DEMO, environment) as other:
        one.read_until("shop/database")
        other.read_until("shop/database")

        one.press("q")
        assert one.wait() == 0
        assert LEAVE_SCREEN in one.output
        assert "shop/worker" in one.output.rpartition(LEAVE_SCREEN)[2], "the last picture stays"
        assert one.settings_now == one.settings

        other.forget()
        other.read_until("pods:")
        other.press(CTRL_C)
        assert other.wait() == 130
        assert other.output.endswith("nothing is left\r\ninterrupted\r\n")
        assert other.settings_now == other.settings
    assert_nothing_left(tmp_path)


def test_an_interrupt_while_it_starts_leaves_nothing(environment: dict[str, str], tmp_path: Path) -> None:
    with Terminal(DEMO, environment) as terminal:
        terminal.read_until("starting kube-controller-manager")
        terminal.press(CTRL_C)
        assert terminal.wait() == 130
        assert "Traceback" not in terminal.output
    assert_nothing_left(tmp_path)


def test_a_closed_terminal_ends_it(environment: dict[str, str], tmp_path: Path) -> None:
    with Terminal([*DEMO, "--seconds", "600"], environment) as terminal:
        terminal.read_until("shop/database")
        terminal.close()
        terminal.process.wait(30)
    assert_nothing_left(tmp_path)


def test_it_ends_when_a_part_of_its_cluster_dies(environment: dict[str, str], tmp_path: Path) -> None:
    with Terminal([*DEMO, "--seconds", "600"], environment) as terminal:
        terminal.read_until("shop/database")
        [folder] = tmp_path.glob("shiplift-demo-*")
        Cluster("demo", folder).kill(Component.SCHEDULER)
        assert terminal.wait() == 1
        assert "error: kube-scheduler has stopped\r\nhint: " in terminal.output
    assert_nothing_left(tmp_path)


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


def test_the_shop_protects_all_that_keeps_state() -> None:
    kinds = [(one["kind"], one["metadata"]["name"]) for one in shop()]
    for kind, name in kinds:
        if kind == "StatefulSet":
            assert ("PodDisruptionBudget", name) in kinds
            assert ("Service", name) in kinds
