"""A small layer made of all the parts: it labels objects in dependency order, then takes everything back.

Its API server may refuse, fail, or write and not answer, at any call; its store lags behind; the process may
be killed between any two steps. Whatever happens, the order holds, and in the end nothing of ours is left.
"""

import copy
import threading
from datetime import UTC, datetime, timedelta

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from shiplift.engine import Condition, Decision, Outcome, Outcomes, Reason, Seen, Step, await_change
from shiplift.engine.backoff import Backoff
from shiplift.engine.conditions import KSTATUS, Phase, merge, phase, ready, reconciling
from shiplift.engine.graph import Edge, Graph, Progress
from shiplift.engine.layer import Settings
from shiplift.engine.ledger import Change, change_in_place, read, undo_in_place
from shiplift.engine.loop import Loop
from shiplift.engine.pointer import get, pointer
from shiplift.facts.kinds import NODE
from tests.engine.test_pointer import apply
from tests.engine.virtual import eventually
from tests.examples import tries

NOW = datetime(2026, 3, 1, tzinfo=UTC)
NOTE = "ledger.shiplift.dev/toy"
LABEL = pointer("metadata", "labels", "moved")
ORDER = [Edge("web", "api", "toy"), Edge("api", "db", "toy"), Edge("jobs", "db", "toy")]
NAMES = ["web", "api", "db", "jobs"]


class Why(Reason):
    DONE = "Done"
    MOVING = "Moving"


class Patch(Step, frozen=True):
    name: str
    version: int
    operations: tuple[str, ...]

    @property
    def key(self) -> str:
        return f"patch {self.name}"

    def describe(self) -> str:
        return f"patch object {self.name}"


class Told(Decision, frozen=True, kw_only=True):
    conditions: tuple[Condition, ...]


class View(msgspec.Struct, frozen=True):
    objects: dict[str, dict]
    cleaning: bool
    conditions: tuple[Condition, ...]


class Server:
    """Objects with versions; `faults` says what happens to each write in turn."""

    def __init__(self, faults):
        self.lock = threading.Lock()
        self.objects = {name: {"metadata": {"name": name}} for name in NAMES}
        self.versions = dict.fromkeys(NAMES, 1)
        self.version = 1
        self.faults = list(faults)
        self.history: list[str] = []
        self.snapshot = (1, copy.deepcopy(self.objects), dict(self.versions))

    def write(self, step: Patch) -> Outcome:
        with self.lock:
            fault = self.faults.pop(0) if self.faults else "fine"
            if fault == "refused":
                return Outcome.refused(step, "429", timedelta(milliseconds=1))
            if fault == "failed":
                return Outcome.failed(step, "500")
            if self.versions[step.name] != step.version:
                return Outcome.failed(step, "409")
            operations = [msgspec.json.decode(text) for text in step.operations]
            self.objects[step.name] = apply(self.objects[step.name], operations)
            self.version += 1
            self.versions[step.name] = self.version
            if get(self.objects[step.name], LABEL) == "yes":
                self.history.append(step.name)
        if fault == "no answer":
            return Outcome.unknown(step, "timeout")
        if fault == "raises":
            raise ConnectionResetError(step.name)
        return Outcome.done(step, Seen(NODE, self.version))

    def catch_up(self) -> None:
        with self.lock:
            self.snapshot = (self.version, copy.deepcopy(self.objects), dict(self.versions))

    def settled(self, barriers) -> bool:
        return all(barrier.resource_version <= self.snapshot[0] for barrier in barriers)


class Toy:
    """The layer."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.cleaning = False
        self.conditions: tuple[Condition, ...] = ()

    def observe(self, key: str, outcomes: Outcomes) -> View:
        _, objects, versions = self.server.snapshot
        stamped = {name: {**item, "version": versions[name]} for name, item in objects.items()}
        return View(stamped, self.cleaning, self.conditions)

    def decide(self, view: View, now: datetime) -> Told:
        steps = self.undo(view) if view.cleaning else self.move(view)
        said = reconciling(Why.MOVING, f"{len(steps)} to go") if steps else ready(Why.DONE)
        conditions = merge(view.conditions, said, owned=KSTATUS, generation=1, now=now)
        return Told(steps, await_change(), conditions=conditions)

    def move(self, view: View) -> tuple[Step, ...]:
        met = [name for name, item in view.objects.items() if get(item, LABEL) == "yes"]
        free = Progress(Graph(NAMES, ORDER), met).ready
        wanted = [Change(LABEL, "yes")]
        return tuple(self.patch(view, name, change_in_place(bare(view, name), NOTE, wanted)) for name in free)

    def undo(self, view: View) -> tuple[Step, ...]:
        ours = [name for name in NAMES if read(view.objects[name], NOTE)]
        return tuple(self.patch(view, name, undo_in_place(bare(view, name), NOTE)) for name in ours)

    def patch(self, view: View, name: str, patched) -> Step:
        operations = tuple(msgspec.json.encode(one).decode() for one in patched.patch)
        return Patch(name, view.objects[name]["version"], operations)

    def act(self, step: Step) -> Outcome:
        assert isinstance(step, Patch)
        return self.server.write(step)

    def publish(self, key: str, decision: Told) -> tuple[Seen, ...]:
        self.conditions = decision.conditions
        return ()

    def phase(self) -> Phase:
        return phase(self.conditions, 1)


def bare(view: View, name: str) -> dict:
    return {key: value for key, value in view.objects[name].items() if key != "version"}


def in_order(history: list[str]) -> bool:
    return all(history.index(edge.dependency) < history.index(edge.dependent) for edge in ORDER)


faults = st.lists(st.sampled_from(["fine", "refused", "failed", "no answer", "raises"]), max_size=12)


def run_by_hand(server: Server, cleaning: bool, caught_up, killed) -> None:
    """Rounds without the loop: a new layer whenever it was killed, a store that catches up now and then."""
    toy = Toy(server)
    for number in range(60):
        if number >= 40 or caught_up(number):
            server.catch_up()
        toy = Toy(server) if killed(number) else toy
        toy.cleaning = cleaning
        decision = toy.decide(toy.observe("all", Outcomes()), NOW)
        for step in decision.steps:
            if killed(number + 1):
                break
            try:
                toy.act(step)
            except ConnectionResetError:
                continue
    server.catch_up()


@settings(max_examples=tries(60))
@given(faults, st.sets(st.integers(0, 40)), st.sets(st.integers(0, 30)))
def test_whatever_fails_the_order_holds_and_nothing_is_left_in_the_end(plan, caught_up, killed):
    server = Server(plan)
    clean = copy.deepcopy(server.objects)
    for cleaning in (False, True):
        run_by_hand(server, cleaning, caught_up.__contains__, killed.__contains__)
        if not cleaning:
            assert all(get(item, LABEL) == "yes" for item in server.objects.values())
            assert sorted(server.history) == sorted(NAMES)
            assert in_order(server.history)
    assert server.objects == clean


def test_the_loop_gets_there_too():
    server = Server(["fine", "refused", "no answer", "failed", "raises", "fine", "refused"])
    clean = copy.deepcopy(server.objects)
    toy = Toy(server)
    pace = Settings(
        debounce=timedelta(0),
        settle=timedelta(milliseconds=50),
        backoff=Backoff(first=timedelta(milliseconds=1), cap=timedelta(milliseconds=5)),
    )
    loop: Loop[str, View, Told] = Loop("toy", toy, settled=server.settled, settings=pace)
    loop.start()

    def catches_up_until(goal) -> bool:
        server.catch_up()
        loop.notify()
        loop.wake("all")
        return goal()

    eventually(lambda: catches_up_until(lambda: toy.phase() is Phase.READY and len(server.history) == 4))
    assert in_order(server.history)
    toy.cleaning = True
    eventually(lambda: catches_up_until(lambda: server.objects == clean))
    assert loop.stop(timedelta(seconds=20))
