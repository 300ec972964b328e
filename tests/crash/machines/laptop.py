"""`shiplift bootstrap` as a process: started, killed, stopped and woken; again, until it has come to its end.

The command line is the product's own; only the import of it is shared by all, in the process that forks.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

import shiplift.agent_package
import shiplift.cli.bootstrap
import shiplift.machines.bootstrap
import shiplift.machines.foresee
import shiplift.machines.ssh.door
from shiplift.cli.main import run
from tests.crash.crew import Factory, Operator
from tests.crash.machines.machine import Machine
from tests.crash.orders import Order
from tests.until import Deadline

IMPORTED = (
    shiplift.agent_package,
    shiplift.cli.bootstrap,
    shiplift.machines.bootstrap,
    shiplift.machines.foresee,
    shiplift.machines.ssh.door,
)
"""Before any process is forked: a process of its own would take a second for that."""
_WORDS = "words"
_AMID_SECONDS = 20.0


def main(order: Order) -> None:
    """What a process does; its exit code is a file, since it is a child of nobody who is asked."""
    words = msgspec.json.decode(order.environment[_WORDS], type=list[str])
    code = run(words)
    fresh = Path(f"{order.log}.new")
    fresh.write_text(str(int(code)))
    fresh.rename(f"{order.log}.code")


class Laptop:
    """One run of the command."""

    def __init__(self, process: Operator) -> None:
        self.process = process

    @property
    def log(self) -> Path:
        return self.process.log

    @property
    def code(self) -> int | None:
        """How it ended; None as long as it runs, and for ever when it was killed."""
        path = Path(f"{self.log}.code")
        return int(path.read_text()) if path.exists() else None

    @property
    def over(self) -> bool:
        return self.code is not None or not self.process.expected or not self.process.alive

    @property
    def died(self) -> bool:
        """Whether it ended by itself, and did not say how."""
        return self.code is None and self.process.expected

    def said(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""


class Laptops:
    """All runs of one plan: what the director asks for is done to the one that was started last."""

    def __init__(self, machines: dict[str, Machine]) -> None:
        self._machines = machines
        self._lock = threading.Lock()
        self.folder = Path()
        self.words: tuple[str, ...] = ()
        self.factory: Factory | None = None
        self.all: list[Laptop] = []
        self._stopped: Laptop | None = None
        self.patience = 60.0

    def start(self) -> Laptop:
        assert self.factory
        with self._lock:
            log = self.folder / f"bootstrap-{len(self.all)}.log"
            environment = {_WORDS: msgspec.json.encode(self.words).decode()}
            order = Order(
                "", "", str(log), environment=environment, main=f"{__name__}:{main.__name__}", ends=True
            )
            found = Laptop(self.factory.start(order))
            self.all.append(found)
        return found

    def end(self) -> None:
        """All that still run."""
        for one in self.all:
            one.process.kill()
        self.all, self._stopped = [], None

    # --- what the director asks for ---

    def crash(self) -> None:
        for one in self.all:
            one.process.kill()

    def pause(self, over: Callable[[], bool]) -> None:
        """Stopped with a command on its way; another one comes to its end meanwhile, or goes on beside it."""
        self._stopped = next(one for one in self.all if not one.over)
        self._stopped.process.send(signal.SIGSTOP)
        second = self.start()
        _wait(lambda: second.over or over(), self.patience)

    def wake(self) -> None:
        if self._stopped:
            self._stopped.process.send(signal.SIGCONT)
            self._stopped = None

    def cut_power(self, machine: str, entry: str) -> None:
        found = self._machines[machine]
        if entry:
            _wait(lambda: found.is_amid(entry) or _is_through(found, entry), _AMID_SECONDS)
        found.cut_power()
        found.wait_answering()


def _is_through(machine: Machine, entry: str) -> bool:
    """Nothing of it runs any more, or it has no middle."""
    folder = machine.bootstrap / "journal" / entry
    return (folder / "exit.json").exists() or not (folder / "begun").exists()


def _wait(what: Callable[[], bool], seconds: float) -> None:
    """For as long as that; whoever judges sees what is not so."""
    deadline = Deadline(seconds)
    while not what() and not deadline.over:
        time.sleep(0.02)
