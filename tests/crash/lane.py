"""One plan after the other on one cluster: the operator, its doors, everybody else, and the judge."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from shiplift.kube.account import acting_as
from shiplift.local.cluster import Cluster
from shiplift.local.components import Settings
from tests.crash import layers, oracle
from tests.crash.crew import Crew, Factory
from tests.crash.director import PlanDirector
from tests.crash.doors import Doors
from tests.crash.mutants import Mutant
from tests.crash.oracle import Evidence, Reference
from tests.crash.plans import Plan
from tests.crash.stage import Stage
from tests.crash.suite import Player, Scenario
from tests.until import Deadline

PATIENCE = 30.0
"""How long a plan may take, in seconds; a clean one takes 2 to 4."""
_QUIET = 0.5
_RESTLESS = 8.0
_LOOK = 0.03


class Result(msgspec.Struct, frozen=True):
    """What came of a plan."""

    plan: Plan
    seconds: float
    fired: bool
    found: tuple[str, ...] = ()
    phases: dict[str, float] = {}


class Lane:
    """Runs plans of one layer on its own cluster."""

    settings = Settings()
    """Of that cluster."""

    def __init__(self, cluster: Cluster, folder: Path, layer: str, patience: float = PATIENCE) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._layer = folder, layer
        self.patience, self._takes = patience, 1.0
        self._suite = layers.suite(layer)
        involved = {layer, *(name for one in self._suite.scenarios for name in one.layers)}
        judged = [name for name in sorted(involved) if not layers.runs_beside(name)]
        watched = {kind: None for name in judged for kind in layers.suite(name).watched}
        self.stage = Stage(cluster, tuple(watched), folder)
        self.crew = Crew(self.stage.admin, folder / "run", cluster.kubeconfig)
        self.director = PlanDirector(self.crew)
        self.doors = self.crew.doors = Doors(self.director, folder)
        self.stage.url = self.doors.url
        self.use(None)

    def use(self, source: Path | None, mutant: Mutant | None = None) -> None:
        """From now on the operators run that copy of the code, of the mutant if any; without one, ours."""
        self._end_factory()
        self.mutant = mutant
        self.crew.factory = Factory(source)

    def close(self) -> None:
        self._end_factory()
        self.doors.close()
        self.stage.close()

    def _end_factory(self) -> None:
        self.crew.end()
        if self.crew.factory:
            self.crew.factory.close()

    def run(self, plan: Plan, clean: Reference | None = None) -> tuple[Result, Evidence]:
        """One plan from start to verdict."""
        clock = Clock()
        scenario = layers.scenario(self._layer, plan.scenario)
        self.crew.layers = names = layers.run_by(self._layer, scenario)
        self.doors.use(scenario.outside)
        parts = [layers.part(name) for name in names]
        credentials = self.stage.set(plan.scenario, parts, lambda: self._suite.build(self.stage, scenario))
        player = self._suite.playing(self.stage, scenario)
        try:
            self.doors.lead_to_api(credentials)
            self._lead_beside(scenario)
            self.doors.lead_to(player.upstreams)
            clock.lap("reset")
            evidence = self._operate(plan, player, clock)
        finally:
            player.close()
        others = [
            layers.suite(name) for name in names if name != self._layer and not layers.runs_beside(name)
        ]
        found = tuple(oracle.judge(self._suite, scenario, evidence, clean, others))
        clock.lap("judge")
        return Result(plan, clock.total, evidence.book.fired, found, clock.laps), evidence

    def _lead_beside(self, scenario: Scenario) -> None:
        """Who runs beside the operator, each with a token of its own account."""
        admin = self.stage.cluster.credentials()
        self.crew.companions, self._takes = scenario.companions, scenario.takes
        self.doors.lead_beside({one.name: acting_as(one.account, admin) for one in scenario.companions})

    def _operate(self, plan: Plan, player: Player, clock: Clock) -> Evidence:
        shutil.rmtree(self._folder / "run", ignore_errors=True)
        self.stage.recorder.begin()
        self.director.arm(plan.trouble)
        try:
            self.crew.start_beside()
            self.crew.start()
            complaints, book = self._play(player, clock), self.director.book()
        finally:
            self.crew.end()
        trace = self.stage.recorder.end()
        logs = tuple(path.read_text() for path in sorted((self._folder / "run").glob("*.log")))
        return Evidence(trace, book, logs, (*complaints, *player.complaints()), player.beyond())

    def _play(self, player: Player, clock: Clock) -> tuple[str, ...]:
        if not self._wait(lambda: self.crew.led, self.patience):
            return (f"{oracle.STUCK}: nobody came to lead", *self._why())
        clock.lap("lead")

        def over() -> bool:
            state = self.stage.recorder.live()
            player.play(state)
            return player.over(state)

        ended = self._wait(over, self.patience * self._takes)
        clock.lap("work")
        if not ended:
            return (f"{oracle.STUCK}: {self._suite.told(self.stage.recorder.live())}", *self._why())
        calm = self._wait(self._is_quiet, _RESTLESS)
        clock.lap("quiet")
        restless = () if calm else ("writes go on after the end",)
        return (*self._dead(), *self.crew.complaints, *restless)

    def _is_quiet(self) -> bool:
        return time.monotonic() - max(self.director.last_write, self.crew.led_since()) > _QUIET

    def _why(self) -> tuple[str, ...]:
        """Those that live tell in their logs what each thread is doing."""
        said = self.crew.ask()
        time.sleep(0.3)
        return (*self._dead(), *said, f"events passed on: {self.director.book().events}")

    def _dead(self) -> tuple[str, ...]:
        return tuple(f"the process of {one.log.name} ended by itself" for one in self.crew.died())

    def _wait(self, what: Callable[[], bool], seconds: float) -> bool:
        deadline = Deadline(seconds)
        while not what():
            if deadline.over or self.crew.died():
                return False
            time.sleep(_LOOK)
        return True


class Clock:
    """Where the time of a run goes."""

    def __init__(self) -> None:
        self._began = self._last = time.monotonic()
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        now = time.monotonic()
        self.laps[name] = round(now - self._last, 2)
        self._last = now

    @property
    def total(self) -> float:
        return time.monotonic() - self._began
