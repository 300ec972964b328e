"""One plan after the other on one cluster: the operator, the proxy, the cloud and the user, and the judge."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from shiplift.local.cluster import Cluster
from tests.crash import oracle
from tests.crash.director import PlanDirector
from tests.crash.driver import layer
from tests.crash.mutants import Mutant
from tests.crash.operators import Crew, Factory
from tests.crash.oracle import Evidence, Reference
from tests.crash.plans import Plan
from tests.crash.proxy import Proxy
from tests.crash.scenarios import BY_NAME
from tests.crash.stage import Stage
from tests.crash.world import World

_LONGEST = 30.0
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
    """Runs plans on its own cluster; `source` is a copy of the product's code to run instead of it."""

    def __init__(self, cluster: Cluster, folder: Path, layer_name: str = "workloads") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._layer = folder, layer_name
        self.stage = Stage(cluster, layer(layer_name), folder)
        self._credentials = self.stage.operator_credentials()
        self.use(None)

    def use(self, source: Path | None, mutant: Mutant | None = None) -> None:
        """From now on the operators run that code: of the mutant, if any."""
        self._end_factory()
        self.mutant = mutant
        self._factory = Factory(self._layer, source)
        self.crew = Crew(self._factory, self.stage.admin, self._folder / "run")
        self.director = PlanDirector(self.crew)
        self.crew.proxy = Proxy(self._credentials, self.director)

    def close(self) -> None:
        self._end_factory()
        self.stage.close()

    def _end_factory(self) -> None:
        if hasattr(self, "crew"):
            self.crew.end()
            assert self.crew.proxy
            self.crew.proxy.close()
            self._factory.close()

    def run(self, plan: Plan, clean: Reference | None = None) -> tuple[Result, Evidence]:
        """One plan from start to verdict."""
        scenario = BY_NAME[plan.scenario]
        clock = _Clock()
        self.stage.set(scenario)
        self.stage.recorder.begin()
        clock.lap("reset")
        shutil.rmtree(self._folder / "run", ignore_errors=True)
        self.director.arm(plan.trouble)
        try:
            self.crew.start()
            complaints = self._play(World(self.stage, scenario), clock)
            trace, book = self.stage.recorder.end(), self.director.book()
        finally:
            self.crew.end()
        logs = tuple(path.read_text() for path in sorted((self._folder / "run").glob("*.log")))
        evidence = Evidence(trace, book, logs, complaints)
        found = tuple(oracle.judge(scenario, evidence, clean))
        clock.lap("judge")
        return Result(plan, clock.total, book.fired, found, clock.laps), evidence

    def _play(self, world: World, clock: _Clock) -> tuple[str, ...]:
        if not self._wait(lambda: self.crew.led, _LONGEST):
            return (f"{oracle.STUCK}: nobody came to lead", *self._why())
        clock.lap("lead")

        def over() -> bool:
            state = self.stage.recorder.live()
            world.play(state)
            return world.over(state)

        ended = self._wait(over, _LONGEST)
        clock.lap("migrate")
        if not ended:
            return (f"{oracle.STUCK}: {oracle.ends(self.stage.recorder.live())}", *self._why())
        calm = self._wait(self._is_quiet, _RESTLESS)
        clock.lap("quiet")
        return (*self._dead(), *(() if calm else ("writes go on after the end",)))

    def _is_quiet(self) -> bool:
        return time.monotonic() - max(self.director.last_write, self.crew.led_since()) > _QUIET

    def _why(self) -> tuple[str, ...]:
        """Those that live tell in their logs what each thread is doing."""
        said = self.crew.ask()
        time.sleep(0.3)
        return (*self._dead(), *said, f"events passed on: {self.director.book().events}")

    def _dead(self) -> tuple[str, ...]:
        return tuple(f"the operator of {one.log.name} ended by itself" for one in self.crew.died())

    def _wait(self, what: Callable[[], bool], seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not what():
            if time.monotonic() > deadline or self.crew.died():
                return False
            time.sleep(_LOOK)
        return True


class _Clock:
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
