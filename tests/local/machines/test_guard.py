"""Whatever becomes of a test run, its machines end with it."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from shiplift.local.machines.network import Network
from tests.local.leftovers import processes_of, running
from tests.local.test_guard import command
from tests.until import until

from .leftovers import traces

HANGING = """
import time

def test_hangs(machines):
    made = machines(1)
    print(made.state.network.number, made.root, flush=True)
    time.sleep(600)
"""


@pytest.mark.crash
@pytest.mark.usefixtures("machine_root")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_no_machine(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["shiplift.local.testing"]\n')
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_hangs.py").write_text(HANGING)
    with running(command(tmp_path), cwd=tmp_path, stdout=subprocess.PIPE) as run:
        assert run.stdout
        network, folder = next(line.split() for line in run.stdout if line[:1].isdigit())
        assert traces(Network(int(network)))
        run.send_signal(number)
        run.stdout.read()
    until(lambda: traces(Network(int(network))) == set())
    until(lambda: processes_of(Path(folder)) == [])
    until(lambda: not Path(folder).exists())
