"""The agent as a program: `run` is the agent, `work` does what it has begun, `status` says what it sees.

`run` looks, decides and acts for as long as it lives, and remembers nothing: it may be killed at any moment.
What goes wrong in one loop is told, and the next begins anew. Before there is a cluster it goes by the orders
in a file; from the moment on that the kubelet has credentials, by those on its Node.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from shiplift import __version__
from shiplift.agent import patience
from shiplift.agent import settings as agent_settings
from shiplift.agent.door.first import FirstDoor
from shiplift.agent.door.node import NodeDoor
from shiplift.agent.errors import AgentError
from shiplift.agent.loop import Loop
from shiplift.agent.machine import disk, work
from shiplift.agent.machine.apt import Apt
from shiplift.agent.machine.hands import MachineHands
from shiplift.agent.machine.journal import Journal
from shiplift.agent.machine.packages import Packages
from shiplift.agent.model import Decision, Seen, Write
from shiplift.agent.settings import CACHE, FIRST, KUBECONFIG, STATE

_WORKING, _RESTING = 1.0, 30.0
"""Seconds until the next look, if nothing is heard before."""
_AFTER_FAULT, _RESTARTING = 5.0, 20.0
"""Seconds until the next look, whatever is heard: of a machine that goes down its Node tells often."""
_log = logging.getLogger(__name__)


class Doors:
    """The door that is open now: to files until the kubelet has credentials, then to the Node."""

    def __init__(self, folder: Path = FIRST, kubeconfig: Path = KUBECONFIG) -> None:
        self._kubeconfig = kubeconfig
        self._first, self._node = FirstDoor(folder, kubeconfig), NodeDoor(kubeconfig)

    @property
    def _open(self) -> FirstDoor | NodeDoor:
        return self._node if self._kubeconfig.exists() else self._first

    def read(self) -> Seen | None:
        return self._open.read()

    def write(self, write: Write) -> bool:
        return self._open.write(write)

    def wait(self, seconds: float) -> None:
        self._open.wait(seconds)


class Agent:
    """One agent; `step` is a loop and what is waited for after it. `chance` is from 0 to 1."""

    def __init__(
        self,
        doors: Doors,
        loop: Loop,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._doors, self._loop, self._sleep, self._chance = doors, loop, sleep, chance
        self._faults = 0
        """Loops in a row in which the Node was not read or not written."""
        self._said = ""

    def step(self) -> None:
        """What goes wrong in it is told; a disk that is full, say, may have room by the next."""
        try:
            decision = self._loop.once(time.monotonic())
            self._tell(decision.says)
            self._faults = self._faults + 1 if self._loop.failed else 0
            if self._loop.restarting:
                self._sleep(_RESTARTING)
            else:
                self._doors.wait(self._pause(decision))
        except (AgentError, OSError) as error:
            self._tell(str(error))
            self._sleep(_AFTER_FAULT)

    def _pause(self, decision: Decision) -> float:
        """Until the next look, if nothing is heard before: of a Node that somebody else wrote first it is."""
        if self._faults:
            return patience.pause(self._faults, self._chance())
        if decision.busy:
            return _WORKING
        due = self._loop.due
        return _AFTER_FAULT if due is None else min(max(due - time.monotonic(), _WORKING), _RESTING)

    def _tell(self, line: str) -> None:
        """Once, until it is something else."""
        if line and line != self._said:
            _log.info("%s", line)
        self._said = line


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        "shiplift-agent", description="Changes the software of this machine, on order."
    )
    parser.add_argument("verb", choices=["run", "work", "status", "version"])
    verb = parser.parse_args(words).verb
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        _VERBS[verb]()
    except AgentError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _run() -> None:
    signal.signal(signal.SIGTERM, _end)
    agent_settings.load()
    disk.private_folder(STATE)
    doors = Doors()
    agent = Agent(doors, Loop(doors, MachineHands(Journal(STATE)), __version__))
    _log.info("shiplift-agent %s", __version__)
    while True:
        agent.step()


def _end(*_: object) -> None:
    sys.exit(0)


def _work() -> None:
    journal, apt = Journal(STATE), Apt(CACHE)
    work.work(work.Bench(journal, Packages(apt, journal), agent_settings.load(), apt.archives))


def _status() -> None:
    machine = MachineHands(Journal(STATE)).observe(frozenset())
    record = machine.record
    said = {
        "agent": __version__,
        "bootID": machine.boot_id,
        "can": sorted(operation.value for operation in machine.can),
        "kubelet": machine.kubelet,
        "machineID": machine.id,
        "order": record.token if record else "",
        "restartRequired": machine.restart_required,
        "software": dict(sorted(machine.software.items())),
        "work": {"message": machine.work.message, "progress": machine.work.progress.value},
    }
    print(json.dumps(said, indent=2))


def _version() -> None:
    print(__version__)


_VERBS = {"run": _run, "work": _work, "status": _status, "version": _version}
