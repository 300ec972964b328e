"""The agents of all nodes as one program: `python -m benchmarks.rollout.agents KUBECONFIG CHANGE LEASE`.

They are the same for every contender: what an order takes, and how often nodes that have one renew their
Leases, is set. The program says that it is ready, and ends when its standard input does.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import IO, cast

from benchmarks.progress import quiet, say
from benchmarks.rig.programs import end
from benchmarks.rollout.plan import Times
from shiplift.kube.credentials import load
from shiplift.local.agents import Agents, Pace, Timing

_ROOT = Path(__file__).parent.parent.parent


@contextlib.contextmanager
def played(kubeconfig: Path, times: Times) -> Generator[None]:
    """All agents answer; ended afterwards."""
    command = [sys.executable, "-m", "benchmarks.rollout.agents", str(kubeconfig)]
    command += [str(times.change), str(times.lease)]
    with subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            if cast("IO[bytes]", process.stdout).readline() != b"ready\n":
                raise RuntimeError("the agents did not start")
            yield
        finally:
            end(process)


def main(kubeconfig: str, change: str, lease: str) -> None:
    quiet()
    pace, timing = Pace(change=float(change)), Timing(lease=float(lease))
    with Agents(load(Path(kubeconfig)), pace, timing, say):
        print("ready", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
