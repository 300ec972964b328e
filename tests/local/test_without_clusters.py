"""`pytest --no-clusters`: the tests that start no cluster, by their fixtures; others cannot hide."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shiplift.local.cluster import Cluster

PLAIN = """
def test_plain():
    pass
"""
BY_FIXTURE = """
import pytest

@pytest.fixture
def shop(namespace):
    return namespace

def test_by_a_fixture_of_its_own(shop):
    pass

@pytest.mark.usefixtures("programs")
def test_by_its_own_word():
    pass
"""
UNANNOUNCED = """
import subprocess
import sys
from shiplift.local.cluster import Cluster

UP = [sys.executable, "-c", "from shiplift.cli import main; main()", "local", "up"]

def test_here(tmp_path):
    Cluster("small", tmp_path).up()

def test_in_a_process():
    subprocess.run(UP, check=True)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["shiplift.local.testing"]\n')
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def run(project: Path, *options: str, **files: str) -> tuple[int, str]:
    for name, text in files.items():
        (project / f"test_{name}.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(project)]
    own = os.environ | {"SHIPLIFT_STATE": str(project / "state")}  # clusters of the user are none of its own
    done = subprocess.run(
        command, cwd=project, env=own, capture_output=True, text=True, check=False, timeout=120
    )
    return done.returncode, done.stdout


def test_who_asks_for_a_cluster_by_whatever_fixture_is_left_out(project: Path) -> None:
    code, said = run(project, "--no-clusters", plain=PLAIN, by_fixture=BY_FIXTURE)
    assert (code, said.splitlines()[-1].partition(" in ")[0]) == (0, "1 passed, 2 deselected")


def test_who_starts_one_unannounced_fails_and_nothing_is_started(project: Path) -> None:
    code, said = run(project, "--no-clusters", "-n", "1", unannounced=UNANNOUNCED)
    assert (code, said.splitlines()[-1].partition(" in ")[0]) == (1, "2 failed")
    assert "KUBEBUILDER_ASSETS is hidden by --no-clusters, but no program is there" in said
    assert not Cluster("small", project).exists


def test_without_the_option_all_are_run(project: Path) -> None:
    code, said = run(project, "--collect-only", plain=PLAIN, by_fixture=BY_FIXTURE)
    assert code == 0
    assert "3 tests collected" in said
