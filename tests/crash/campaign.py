"""All of it for one layer: clean runs, the plans made from them, its mutants, and the figures at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from tests.crash import generate, layers, oracle, plans, thin
from tests.crash.director import Book
from tests.crash.lane import Result
from tests.crash.mutants import Mutant
from tests.crash.oracle import CleanRun, Reference
from tests.crash.plans import Plan
from tests.crash.runner import RIG, Done, Lanes, Task, say

CLEAN_RUNS = 3
FAILURES = Path("build/crash")


ENOUGH_CAUGHT = 0.95
"""Of the mutants that ran."""


class Figures(msgspec.Struct):
    """What `make crash` ends with, for each layer."""

    layer: str
    scenarios: int = 0
    writes: int = 0
    plans: int = 0
    thinned: int = 0
    """Plans that were left out, because others stand for them."""
    divergences: int = 0
    seconds_per_plan: float = 0.0
    mutants: int = 0
    mutants_caught: int = 0
    unfired: int = 0
    slowest: float = 0.0

    def wrong(self, *, all_caught: bool) -> int:
        """What makes the run fail: every divergence, and mutants that nothing caught, where these are more
        than a few; with `all_caught` each of them."""
        missed = self.mutants - self.mutants_caught
        enough = self.mutants_caught >= ENOUGH_CAUGHT * self.mutants
        return self.divergences + (0 if enough and not all_caught else missed)


class Campaign:
    """Runs on some lanes; whatever diverges is kept as a file that replays."""

    def __init__(self, lanes: Lanes, layer: str, scenarios: Iterable[str] = ()) -> None:
        self._lanes, self._layer, self._suite = lanes, layer, layers.suite(layer)
        self._names = list(scenarios) or [one.name for one in self._suite.scenarios]
        self._references: dict[str, Reference] = {}
        self._books: dict[str, list[Book]] = {}
        self.figures = Figures(layer, len(self._names))

    def learn(self) -> None:
        """Clean runs, which must be faultless themselves."""
        runs: dict[str, list[CleanRun]] = {name: [] for name in self._names}
        for done in self._lanes.map(
            Task(Plan(self._layer, name)) for name in self._names for _ in range(CLEAN_RUNS)
        ):
            self._tell(done)
            if done.clean:
                runs[done.task.plan.scenario].append(done.clean)
            self.figures.divergences += bool(done.result.found)
        self._names = [name for name in self._names if runs[name]]
        self._references = {name: oracle.reference(runs[name]) for name in self._names}
        self._books = {name: [run.book for run in runs[name]] for name in self._names}
        self.figures.writes = sum(len(generate.writes(books)) for books in self._books.values())

    def every_plan(self) -> list[Plan]:
        """All that are to be run; what is left out is told, and counted."""
        kept = [plan for name in self._names for plan in self._plans(name)]
        say(f"{len(kept)} plans, {self.figures.thinned} thinned")
        return kept

    def _plans(self, name: str) -> list[Plan]:
        scenario = layers.scenario(self._layer, name)
        every = generate.plans(self._layer, name, self._books[name], scenario.outages, scenario.meant)
        repeated = self._books.get(scenario.repeats)
        kept = thin.thinned(self._suite, scenario, every, self._books[name], repeated)
        self.figures.thinned += len(every) - len(kept)
        also = f" (it repeats {scenario.repeats})" if repeated else ""
        say(f"{name}{also}: {len(kept)} of {len(every)} plans, {len(every) - len(kept)} thinned")
        return kept

    def run(self, chosen: Sequence[Plan]) -> None:
        tasks = (Task(plan, self._references[plan.scenario]) for plan in chosen)
        results: list[Result] = []
        for done in self._lanes.map(tasks):
            results.append(done.result)
            self._tell(done, f"{len(results)}/{len(chosen)} ")
        self.figures.plans = len(results)
        self.figures.divergences += sum(bool(one.found) for one in results)
        self.figures.unfired = sum(not one.fired for one in results)
        self.figures.seconds_per_plan = round(sum(one.seconds for one in results) / max(1, len(results)), 2)
        self.figures.slowest = round(max((one.seconds for one in results), default=0.0), 1)

    def hunt(self, wanted: Callable[[Mutant], bool] = lambda _: True) -> dict[str, str]:
        """For each mutant whose scenarios are run, the plan that caught it, empty where none did."""
        there = [bug for bug in self._suite.mutants if {name for name, _ in bug.plans} <= self._books.keys()]
        bugs = [bug for bug in there if wanted(bug)]
        caught = {bug.name: "" for bug in bugs}
        for done in self._lanes.map(self._hunts(bugs)):
            bug = done.task.mutant
            found = [one for one in done.result.found if not one.startswith(RIG)]
            say(f"mutant {bug and bug.name}: {done.result.seconds:.1f} s {found[:1]}"[:300])
            if bug and found and not caught[bug.name]:
                caught[bug.name] = f"{done.task.plan}: {found[0][:200]}"
        for name, by in caught.items():
            say(f"mutant {name}: {'caught by ' + by if by else 'NOT CAUGHT'}")
        self.figures.mutants = len(bugs)
        self.figures.mutants_caught = sum(map(bool, caught.values()))
        return caught

    def _hunts(self, bugs: Sequence[Mutant]) -> Iterable[Task]:
        for bug in bugs:
            for scenario, trouble in bug.plans:
                yield Task(Plan(self._layer, scenario, trouble), self._references[scenario], bug)

    def _tell(self, done: Done, count: str = "") -> None:
        result = done.result
        verdict = (
            "DIVERGES" if result.found else "ok" if result.fired or not done.task.clean else "not reached"
        )
        say(f"{count}{verdict} {result.seconds:.1f} s {result.phases} {result.plan}")
        for line in result.found:
            say(f"    {line[:1500]}")
        if result.found:
            keep(done)


def keep(done: Done) -> Path:
    """The plan as a file, and beside it what was found and what the operators said."""
    path = plans.write(done.task.plan, FAILURES)
    text = "\n".join([*done.result.found, "", *done.logs])
    path.with_suffix(".txt").write_text(text)
    return path
