"""One plan after the other on a yard of machines: bootstrap, started again until it has come to its end, and
what there is then."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

from shiplift.facts import kinds
from shiplift.kube.errors import NotFound
from shiplift.local.cluster import Cluster
from shiplift.local.components import API_ONLY, Component, Settings
from tests.crash import layers, oracle
from tests.crash.crew import Factory
from tests.crash.lane import Clock, Result
from tests.crash.machines import events, facts
from tests.crash.machines.director import Director
from tests.crash.machines.laptop import Laptop, Laptops
from tests.crash.machines.scenarios import Scenario
from tests.crash.machines.yard import Yard
from tests.crash.mutants import Mutant
from tests.crash.oracle import Evidence, Reference
from tests.crash.plans import Clean, Pause, Plan
from tests.crash.recorder import State
from tests.until import Deadline

PATIENCE = 75.0
"""How long a plan may take, in seconds, until it is said that it does not end."""
_MOST_RUNS = 6
_FINE, _ACT = 0, 1
_GIVES_BACK = re.compile(r"`kubeadm reset -f` on (\S+) gives it back")


class MachineLane:
    """Runs plans of bootstrap on machines of its own."""

    settings = Settings(
        components=API_ONLY, extra={Component.API_SERVER: ("--enable-bootstrap-token-auth=true",)}
    )

    def __init__(self, cluster: Cluster, folder: Path, layer: str, patience: float = PATIENCE) -> None:
        self._folder, self._layer = folder, layer
        self.patience = patience
        self._suite = layers.suite(layer)
        self.yard = Yard(cluster, folder / "yard")
        self.crew = Laptops(self.yard.machines)
        self.director = Director(self.crew)
        self.yard.open(self.director)
        self._may_give_up = False
        """Who was stopped while another did it all may find that its own is refused."""
        self.use(None)

    def use(self, source: Path | None, mutant: Mutant | None = None) -> None:
        """From now on bootstrap is that copy of the code, of the mutant if any; without one, ours."""
        self._end_factory()
        self.mutant = mutant
        self.crew.factory = Factory(source)

    def close(self) -> None:
        self._end_factory()
        self.yard.close()

    def _end_factory(self) -> None:
        self.crew.end()
        if self.crew.factory:
            self.crew.factory.close()

    def run(self, plan: Plan, clean: Reference | None = None) -> tuple[Result, Evidence]:
        """One plan from start to verdict."""
        clock = Clock()
        scenario: Scenario = layers.scenario(self._layer, plan.scenario)  # type: ignore[assignment]
        self.yard.set(scenario, lambda: self._build(scenario))
        self.crew.words = self.yard.words(scenario.planes, scenario.workers, self._fresh_folder())
        self.crew.patience = self.patience
        clock.lap("reset")
        evidence = self._bootstrap(plan, scenario, clock)
        found = tuple(oracle.judge(self._suite, scenario, evidence, clean))
        clock.lap("judge")
        return Result(plan, clock.total, evidence.book.fired, found, clock.laps), evidence

    def _fresh_folder(self) -> Path:
        self.crew.folder = self._folder / "run"
        shutil.rmtree(self.crew.folder, ignore_errors=True)
        return self.crew.folder

    def _build(self, scenario: Scenario) -> None:
        """The cluster that is there before, made as anybody makes one."""
        self.crew.words = self.yard.words(scenario.before, (), self._fresh_folder())
        self.director.arm(Clean())
        wrong = self._until_complete()
        self.crew.end()
        if wrong:
            raise AssertionError(f"no cluster to begin with: {wrong}")

    # --- one run ---

    def _bootstrap(self, plan: Plan, scenario: Scenario, clock: Clock) -> Evidence:
        self._may_give_up = isinstance(plan.trouble, Pause)
        self.director.arm(plan.trouble)
        try:
            complaints = self._until_complete()
            clock.lap("work")
            book = self.director.book()
            if not complaints:
                complaints = self._once_more()
                clock.lap("again")
            logs = tuple(one.said() for one in self.crew.all)
        finally:
            self.crew.end()
            self.yard.relays.hang_up()
        machines = [self.yard.machines[name] for name in scenario.names]
        found = sorted((event for one in machines for event in one.events()), key=lambda one: one.at)
        return Evidence(events.trace(found), book, logs, tuple(complaints), self._beyond(scenario, logs))

    def _until_complete(self) -> list[str]:
        """Run after run: one that was killed is started again, one that asks for a person gets one."""
        deadline = Deadline(self.patience)
        said = ""
        for _ in range(_MOST_RUNS):
            laptop = self.crew.start()
            while not self._all_over() and not deadline.over:
                time.sleep(0.03)
            if not laptop.over or deadline.over:
                return [f"{oracle.STUCK}: {_last_line(laptop)}"]
            if laptop.code == _FINE:
                return []
            if laptop.code not in (None, _ACT) or laptop.died:
                return [f"bootstrap ended with {laptop.code}: {_last_line(laptop)}"]
            if laptop.code == _ACT and not self._look_after(laptop) and not self._may_give_up:
                return [f"it gave up: {_last_line(laptop)}"]
            said = _last_line(laptop)
        return [f"{oracle.STUCK}: {_MOST_RUNS} runs; {said}"]

    def _all_over(self) -> bool:
        return all(one.over for one in self.crew.all)

    def _look_after(self, laptop: Laptop) -> bool:
        """A person does what the hint says, if it says something."""
        asked = set(_GIVES_BACK.findall(laptop.said()))
        for name in asked:
            self.yard.machines[name].reset()
            self._remove_node(name)
        return bool(asked)

    def _remove_node(self, name: str) -> None:
        try:
            found = self.yard.admin.get(kinds.NODE, name)
            self.yard.admin.delete(kinds.NODE, name, uid=found["metadata"]["uid"])
        except NotFound:
            return

    def _once_more(self) -> list[str]:
        """Where all is done, another run does nothing, and says so."""
        self.director.arm(Clean())
        laptop = self.crew.start()
        deadline = Deadline(self.patience)
        while not laptop.over and not deadline.over:
            time.sleep(0.03)
        if laptop.code != _FINE:
            return [f"when all was done, another run ended with {laptop.code}: {_last_line(laptop)}"]
        return [f"when all was done, another run did {one.spot}" for one in self.director.book().writes]

    def _beyond(self, scenario: Scenario, logs: tuple[str, ...]) -> State:
        machines = [self.yard.machines[name] for name in scenario.names]
        every = [one for machine in self.yard.machines.values() for one in machine.secrets()]
        return facts.state(machines, self.yard.admin, every, logs)


def _last_line(laptop: Laptop) -> str:
    lines = [one for one in laptop.said().splitlines() if one.strip()]
    return " | ".join(lines[-3:]) if lines else "it said nothing"
