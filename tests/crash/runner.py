"""A campaign: lanes side by side, each a process with a cluster of its own, fed with plans one by one."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

import msgspec

from shiplift.local import guard
from shiplift.local.cluster import Cluster
from shiplift.local.components import Settings
from tests.crash import layers, oracle, recorder
from tests.crash.lane import Lane, Result
from tests.crash.mutants import Mutant, mutated
from tests.crash.oracle import CleanRun, Evidence, Reference
from tests.crash.plans import Plan

RIG = "the rig failed"
_TRIES = 2


class Task(msgspec.Struct, frozen=True):
    """A plan to be run, maybe on mutated code; without a reference it is a clean run to make one from."""

    plan: Plan
    clean: Reference | None = None
    mutant: Mutant | None = None


class Done(msgspec.Struct, frozen=True):
    """What came of a task."""

    task: Task
    result: Result
    clean: CleanRun | None = None
    logs: tuple[str, ...] = ()
    """What the operators said and what they asked, where something was found."""


@contextmanager
def own_cluster(name: str, folder: Path, settings: Settings | None = None) -> Generator[Cluster]:
    cluster = Cluster(name, folder)
    cluster.up(settings or Settings())
    try:
        yield cluster
    finally:
        cluster.down()


class Crew(Protocol):
    """The processes that a lane runs."""

    def end(self) -> None:
        """All of them."""
        ...


class Runs(Protocol):
    """A lane, as a campaign knows it: of operators, or of what else a layer is run by."""

    mutant: Mutant | None

    @property
    def crew(self) -> Crew: ...

    def run(self, plan: Plan, clean: Reference | None = None) -> tuple[Result, Evidence]: ...

    def use(self, source: Path | None, mutant: Mutant | None = None) -> None: ...


def perform(lane: Runs, task: Task) -> Done:
    """One task; a spot that was not reached, or a rig that failed, is tried once more."""
    for attempt in range(_TRIES):
        last = attempt == _TRIES - 1
        try:
            result, evidence = lane.run(task.plan, task.clean)
        except Exception:
            lane.crew.end()
            if last:
                return Done(task, Result(task.plan, 0.0, False, (f"{RIG}: {traceback.format_exc()}",)))
            continue
        wanted = task.clean is None or result.fired or result.found
        if wanted or last:
            kept = _kept(task.plan, evidence) if task.clean is None else None
            return Done(task, result, kept, _said(evidence) if result.found else ())
    raise AssertionError("the last try returns")


def _kept(plan: Plan, evidence: Evidence) -> CleanRun:
    return oracle.clean_run(layers.suite(plan.layer), layers.scenario(plan.layer, plan.scenario), evidence)


def _said(evidence: Evidence) -> tuple[str, ...]:
    entries = evidence.book.entries
    began = entries[0].at if entries else 0.0
    calls = [f"{one.at - began:7.2f} {one.status or '---'} {one.spot}" for one in entries]
    changes = [recorder.told(one) for one in evidence.trace.changes]
    return ("\n".join(calls), *evidence.logs, "\n".join(changes))


def _lane(layer: str, number: int, root: Path, tasks: Any, results: Any) -> None:
    """The main function of a lane's process: until there is nothing left to do."""
    with ExitStack() as closing:
        kind = layers.lane(layer) or Lane
        cluster = closing.enter_context(own_cluster(f"lane-{number}", root, kind.settings))
        lane = kind(cluster, root / f"runs-{number}", layer)
        closing.callback(lane.close)
        for task in _until_orphaned(tasks):
            results.put(_on_its_code(lane, task, root / f"code-{number}"))


def _on_its_code(lane: Runs, task: Task, folder: Path) -> Done:
    """A code that does not even start is told like any other trouble of the rig."""
    try:
        if task.mutant != lane.mutant:
            lane.use(mutated(task.mutant, folder) if task.mutant else None, task.mutant)
    except Exception:
        return Done(task, Result(task.plan, 0.0, False, (f"{RIG}: {traceback.format_exc()}",)))
    return perform(lane, task)


def _until_orphaned(tasks: Any) -> Iterator[Task]:
    """Until there are no more, or nobody is left to hear of them."""
    parent = os.getppid()
    while os.getppid() == parent:
        with contextlib.suppress(queue.Empty):
            task = tasks.get(timeout=2)
            if task is None:
                return
            yield task


class Lanes:
    """The processes, for plans of one layer; `map` gives the results as they come."""

    def __init__(self, number: int, layer: str) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._number, self._layer = number, layer
        self._root = Path(tempfile.mkdtemp(prefix="shiplift-crash-"))
        self._tasks: Any = self._context.Queue()
        self._results: Any = self._context.Queue()
        self._processes: list[Any] = []

    def __enter__(self) -> Lanes:
        guard.own(self._root)
        guard.start_once(self._root)
        for number in range(self._number):
            arguments = (self._layer, number, self._root, self._tasks, self._results)
            process = self._context.Process(target=_lane, args=arguments)
            process.start()
            self._processes.append(process)
        return self

    def __exit__(self, *_: object) -> None:
        for _process in self._processes:
            self._tasks.put(None)
        for process in self._processes:
            process.join(60)
            if process.is_alive():
                process.terminate()
        guard.sweep(self._root)
        guard.stop(self._root)
        shutil.rmtree(self._root, ignore_errors=True)

    def map(self, tasks: Iterable[Task]) -> Iterator[Done]:
        waiting = 0
        for task in tasks:
            self._tasks.put(task)
            waiting += 1
        while waiting:
            yield self._next()
            waiting -= 1

    def _next(self) -> Done:
        while True:
            try:
                return self._results.get(timeout=5)
            except queue.Empty:
                if not any(process.is_alive() for process in self._processes):
                    raise RuntimeError("all lanes have ended") from None


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def cores() -> int:
    return max(1, min(2, os.cpu_count() or 1))
