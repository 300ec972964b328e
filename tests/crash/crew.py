"""The operators of one run: started, killed, stopped and woken; each a real process with its own log."""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import msgspec

from shiplift.facts.kinds import LEASE
from shiplift.kube.client import Client
from shiplift.kube.errors import KubeError, NotFound
from tests.crash.doors import Doors
from tests.crash.orders import SPACE, Order
from tests.crash.outside import Companion
from tests.until import until


class Operator:
    """One process, known by what its log says. Held by a descriptor: its number may soon be another's."""

    def __init__(self, pid: int, log: Path) -> None:
        self.log = log
        self.expected = True
        """Whether it should be alive."""
        self._process = os.pidfd_open(pid)

    def send(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._process, number)

    def kill(self) -> None:
        if self.expected:
            self.expected = False
            self.send(signal.SIGKILL)
            self._exited(5.0)
            os.close(self._process)

    @property
    def alive(self) -> bool:
        return not self._exited(0.0)

    def _exited(self, seconds: float) -> bool:
        return bool(select.select([self._process], [], [], seconds)[0])

    def said(self, event: str) -> list[dict[str, Any]]:
        if not self.log.exists():
            return []
        lines = [line for line in self.log.read_text().splitlines() if event in line and line.endswith("}")]
        return [said for line in lines if (said := json.loads(line))["event"] == event]

    def probe(self, path: str = "readyz") -> tuple[bool, str]:
        """What a kubelet would hear when it asks whether it is ready, or (`healthz`) alive."""
        address = "".join(one["address"] for one in self.said("started"))
        try:
            with urllib.request.urlopen(f"http://{address}/{path}", timeout=2) as answer:
                return True, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return False, error.read().decode()
        except OSError as error:
            return False, str(error)

    @property
    def leads(self) -> bool:
        return len(self.said("leading")) > len(self.said("not acting any more"))


class Factory:
    """Forks operators from a process that has imported everything; `source` is the code that they run."""

    def __init__(self, source: Path | None = None) -> None:
        path = [str(source), os.environ.get("PYTHONPATH", ""), str(Path.cwd())]
        environment = os.environ | ({"PYTHONPATH": ":".join(filter(None, path))} if source else {})
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.driver"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            cwd=source,  # what is there comes first, before everything else
            text=True,
        )
        self._lock = threading.Lock()
        self._answer()

    def start(self, order: Order) -> Operator:
        assert self._process.stdin
        with self._lock:
            self._process.stdin.write(msgspec.json.encode(order).decode() + "\n")
            self._process.stdin.flush()
            return Operator(int(self._answer()), Path(order.log))

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()

    def _answer(self) -> str:
        assert self._process.stdout
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError("operators cannot be started: see above")
        return answer


class Crew:
    """Runs the operators of one plan and the programs beside them, and does what its director says."""

    def __init__(self, admin: Client, folder: Path, kubeconfig: Path) -> None:
        self._admin, self._folder, self._kubeconfig = admin, folder, kubeconfig
        self.operators: list[Operator] = []
        self._stopped: Operator | None = None
        self.factory: Factory | None = None
        self.doors: Doors | None = None
        self.layers: tuple[str, ...] = ()
        """What each operator runs."""
        self.companions: tuple[Companion, ...] = ()
        self._beside: list[tuple[str, Operator]] = []
        """The programs beside the operator, those that were killed too."""
        self._led_since = math.inf
        self.complaints: list[str] = []
        """What was found wrong with operators while the API server was away."""

    def start(self) -> Operator:
        assert self.doors
        assert self.factory
        self._folder.mkdir(parents=True, exist_ok=True)
        kubeconfig = self.doors.kubeconfig(self._folder / "kubeconfig")
        log = self._folder / f"operator-{len(self.operators)}.log"
        log.unlink(missing_ok=True)
        self._led_since = math.inf
        order = Order(str(kubeconfig), SPACE, str(log), self.layers, self.doors.environment())
        self.operators.append(self.factory.start(order))
        return self.operators[-1]

    def start_beside(self) -> None:
        """The programs beside the operator; before it, since they are there in a cluster."""
        for companion in self.companions:
            self._start_beside(companion)

    def _start_beside(self, companion: Companion) -> None:
        assert self.doors
        assert self.factory
        self._folder.mkdir(parents=True, exist_ok=True)
        name = companion.name
        log = self._folder / f"{name}-{len(self._beside)}.log"
        kubeconfig = self.doors.kubeconfig(self._folder / f"kubeconfig-{name}", name)
        order = Order(str(kubeconfig), SPACE, str(log), main=companion.main, admin=str(self._kubeconfig))
        self._beside.append((name, self.factory.start(order)))

    def end(self) -> None:
        """All of them, and nothing is left open."""
        for process in self._processes():
            process.kill()
        names = {name for name, _ in self._beside}
        self.operators, self._beside, self.complaints = [], [], []
        self._stopped = None
        if self.doors:
            for name in ("", *names):
                self.doors.hang_up(name)

    # --- what the director asks for ---

    def crash(self) -> None:
        assert self.doors
        for operator in self.operators:
            operator.kill()
        self.doors.hang_up()
        self._free_the_lease()
        self.start()

    def crash_beside(self, name: str) -> None:
        assert self.doors
        for process in (one for known, one in self._beside if known == name):
            process.kill()
        self.doors.hang_up(name)
        self._start_beside(next(one for one in self.companions if one.name == name))

    def away(self, seconds: float) -> None:
        """Right before the API server is back, it is asked for what a kubelet restarts an operator for."""
        assert self.doors
        self.doors.away(seconds)
        asking = threading.Timer(0.9 * seconds, self._ask_alive)
        asking.daemon = True
        asking.start()

    def _ask_alive(self) -> None:
        for one in self.operators:
            well, said = one.probe("healthz") if one.expected else (True, "")
            if not well:
                self.complaints.append(f"{one.log.name} would be restarted while the server is away: {said}")

    def pause(self) -> None:
        self._stopped = next(one for one in self.operators if one.expected)
        self._stopped.send(signal.SIGSTOP)
        second = self.start()
        self._free_the_lease()
        until(lambda: second.leads)

    def wake(self) -> None:
        if self._stopped:
            self._stopped.send(signal.SIGCONT)
            self._stopped = None

    # --- what the run asks ---

    def ask(self) -> list[str]:
        """Let each write down what its threads do, and say how it is."""
        living = [one for one in self.operators if one.expected and one.alive]
        for operator in living:
            operator.send(signal.SIGUSR1)
        return [f"{one.log.name} says of itself: {one.probe()[1]}" for one in living]

    @property
    def led(self) -> bool:
        """Whether somebody leads."""
        return any(one.leads for one in self.operators if one.expected)

    def led_since(self) -> float:
        """Since when, by the monotonic clock, somebody was seen to lead after the latest start."""
        if math.isinf(self._led_since) and self.led:
            self._led_since = time.monotonic()
        return self._led_since

    def died(self) -> list[Operator]:
        return [one for one in self._processes() if one.expected and not one.alive]

    def _processes(self) -> list[Operator]:
        return [*self.operators, *(process for _, process in self._beside)]

    def _free_the_lease(self) -> None:
        """As if its time were over: what is tested is what comes then, not the waiting."""
        for _ in range(20):
            try:
                found = self._admin.get(LEASE, "shiplift", SPACE)
                freed = {"spec": {"holderIdentity": None}}
                self._admin.patch(LEASE, "shiplift", freed, SPACE, uid=found["metadata"]["uid"])
                return
            except NotFound:
                return
            except KubeError:
                time.sleep(0.05)
