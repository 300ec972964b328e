"""Whatever becomes of a test run, its clusters end with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.until import until

from .leftovers import processes_of, running

HANGING = """
import time
from shiplift.local.components import Component, Settings

def test_hangs(private_cluster, clusters_folder):
    private_cluster(Settings(components=(Component.ETCD,)))
    print(clusters_folder, flush=True)
    time.sleep(600)
"""

PARALLEL = """
import pytest
from shiplift.local.cluster import Cluster
from shiplift.local.components import Component, Settings
from shiplift.local.lock import locked

@pytest.mark.parametrize("number", range(4))
def test_shares(clusters_folder, number):
    shared = Cluster("shared", clusters_folder)
    with locked(clusters_folder / "run.lock"):
        shared.up(Settings(components=(Component.ETCD,)))
    with open({report!r}, "a") as report:
        report.write(f"{{clusters_folder}} {{shared.state.processes[Component.ETCD].pid}}\\n")
"""


@pytest.fixture
def project(programs, tmp_path) -> Path:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["shiplift.local.testing"]\n')
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def command(project: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", *options, str(project)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.crash
def test_a_run_that_is_ended_leaves_no_cluster(project, number):
    (project / "test_hangs.py").write_text(HANGING)
    with running(command(project), cwd=project, stdout=subprocess.PIPE) as run:
        assert run.stdout
        folder = next(Path(line.strip()) for line in run.stdout if line.startswith("/"))
        assert any("etcd" in process for process in processes_of(folder))
        os.kill(run.pid, number)
        run.stdout.read()
    until(lambda: processes_of(folder) == [])
    until(lambda: not folder.exists())


def test_workers_share_one_cluster_and_the_last_turns_off_the_light(project):
    report = project / "report"
    (project / "test_shares.py").write_text(PARALLEL.format(report=str(report)))
    subprocess.run(command(project, "-n", "2"), cwd=project, check=True, capture_output=True, timeout=120)
    (line,) = set(report.read_text().splitlines())
    folder = Path(line.split()[0])
    assert processes_of(folder) == []
    assert not folder.exists()
