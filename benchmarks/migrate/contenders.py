"""The contenders, each a real program with its own account: how it starts, and when it has finished.

All begin from the same cluster, with whatever they need to run already running: the operator leads and is
idle, the drainer has its pods in memory. Then the clock starts.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import IO, cast

import msgspec

from benchmarks.migrate import residue
from benchmarks.migrate.drainer import Mode as DrainMode
from benchmarks.migrate.manifests import NEW_VERSION
from benchmarks.migrate.rig import LAYER, SYSTEM, Rig, end, program
from benchmarks.recipe.base import Json
from shiplift.api.workloads import Cleanup, Hold, MigrationState, Mode, WorkloadMigration
from shiplift.facts import kinds
from shiplift.kube.store import Store

_ROOT = Path(__file__).parent.parent.parent
_PATIENCE = 60.0
_NAME = "cluster"
Finished = Callable[[Store], bool]
Begin = Callable[[], Finished]
"""What to do when the clock starts; it comes back with how to tell that the contender has finished."""


class Name(StrEnum):
    """In the order in which they run."""

    EVERYTHING = "everything at once"
    OURS = "ours"
    SEED = "the seed as written"
    DRAIN = "drainer"
    KUBECTL = "kubectl drain"


@contextlib.contextmanager
def prepared(name: Name, rig: Rig) -> Generator[Begin]:
    """The contender, waiting for its start; ended afterwards."""
    match name:
        case Name.EVERYTHING:
            prepare = _drainer(rig, DrainMode.EVERYTHING)
        case Name.DRAIN:
            prepare = _drainer(rig, DrainMode.NODES)
        case Name.KUBECTL:
            prepare = _kubectl(rig)
        case Name.OURS:
            prepare = _operator(rig, name, {"mode": Mode.INJECT})
        case Name.SEED:
            asked = {"mode": Mode.TEMPLATE, "hold": Hold.ALWAYS, "cleanup": Cleanup.IMMEDIATE}
            prepare = _operator(rig, name, asked)
    with prepare as begin:
        yield begin


@contextlib.contextmanager
def _drainer(rig: Rig, mode: DrainMode) -> Generator[Begin]:
    command = [sys.executable, "-m", "benchmarks.migrate.drainer", str(rig.guest), mode, *rig.old]
    with subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            if cast("IO[bytes]", process.stdout).readline() != b"ready\n":
                raise RuntimeError("the drainer did not start")

            def begin() -> Finished:
                pipe = cast("IO[bytes]", process.stdin)
                pipe.write(b"go\n")
                pipe.flush()
                return lambda _: _ended_well(process)

            yield begin
        finally:
            end(process)


@contextlib.contextmanager
def _kubectl(rig: Rig) -> Generator[Begin]:
    """As the careful do it: cordon all old nodes, so that nothing is moved twice, then drain one by one."""
    kubectl = [rig.kubectl, "--kubeconfig", str(rig.guest)]
    commands = [
        [*kubectl, "cordon", *rig.old],
        *([*kubectl, "drain", node, "--ignore-daemonsets", "--delete-emptydir-data"] for node in rig.old),
    ]
    script = _Script(commands, rig.environment)

    def begin() -> Finished:
        script.start()
        return lambda _: script.finished

    try:
        yield begin
    finally:
        script.stop()


class _Script:
    """Commands, one after the other; the first that fails ends it."""

    def __init__(self, commands: Sequence[list[str]], environment: dict[str, str]) -> None:
        self._commands, self._environment = commands, environment
        self._failure = ""
        self._running: subprocess.Popen[bytes] | None = None
        self._stopping = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def finished(self) -> bool:
        if self._failure:
            raise RuntimeError(self._failure)
        return not self._thread.is_alive()

    def stop(self) -> None:
        self._stopping = True
        if self._thread.is_alive():
            if self._running:
                end(self._running)
            self._thread.join(_PATIENCE)

    def _run(self) -> None:
        for command in self._commands:
            if self._stopping:
                return
            with subprocess.Popen(
                command, env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            ) as running:
                self._running = running
                said = running.communicate()[0]
            if running.returncode and not self._stopping:
                self._failure = f"{' '.join(command[3:5])} failed: {said.decode()[-2000:]}"
                return


@contextlib.contextmanager
def _operator(rig: Rig, name: Name, spec: Json) -> Generator[Begin]:
    log = rig.folder / f"{name.name.lower()}.log"
    address = ["--listen", "127.0.0.1:0"]
    command = [str(program()), "operator", "--layers", LAYER, "--namespace", SYSTEM, *address]
    with (
        log.open("wb") as errors,
        subprocess.Popen([*command, "--kubeconfig", str(rig.operator)], stderr=errors) as process,
    ):
        try:
            _wait_leading(process, log)

            def begin() -> Finished:
                with rig.cluster.client() as client:
                    client.create(kinds.WORKLOAD_MIGRATION, _migration(spec))
                return lambda store: (
                    _still_runs(process, log) and _is_finished(store) and not residue.count(rig)
                )

            yield begin
        finally:
            end(process)


def _migration(spec: Json) -> Json:
    plain = {key: str(value) for key, value in spec.items()}
    return {"metadata": {"name": _NAME}, "spec": {"target": NEW_VERSION, **plain}}


def _wait_leading(process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not _said(log, "leading"):
        _still_runs(process, log)
        if time.monotonic() > deadline:
            raise TimeoutError(f"the operator does not lead: {_tail(log)}")
        time.sleep(0.1)


def _said(log: Path, event: str) -> bool:
    lines = [line for line in log.read_bytes().splitlines() if line.endswith(b"}")]
    return any(msgspec.json.decode(line, type=Json).get("event") == event for line in lines)


def _still_runs(process: subprocess.Popen[bytes], log: Path) -> bool:
    if process.poll() is not None:
        raise RuntimeError(f"the operator has ended: {_tail(log)}")
    return True


def _tail(log: Path) -> str:
    return log.read_bytes()[-2000:].decode(errors="replace")


def _is_finished(store: Store) -> bool:
    """It says that there is nothing left to move; tidying up may still go on."""
    row = store.snapshot(kinds.WORKLOAD_MIGRATION).custom(kinds.WORKLOAD_MIGRATION, _NAME)
    if row is None:
        return False
    found = cast("WorkloadMigration", row.object)
    return found.status.state is MigrationState.NO_UPGRADE and found.status.observed_generation > 0


def _ended_well(process: subprocess.Popen[bytes]) -> bool:
    code = process.poll()
    if code:
        raise RuntimeError(f"the drainer failed with code {code}")
    return code == 0
