"""A loop on a clock that stands still, and a layer that does what a test tells it."""

import threading
from collections import Counter, defaultdict
from datetime import timedelta

from shiplift.engine.backoff import Backoff
from shiplift.engine.barrier import Seen
from shiplift.engine.decision import Decision
from shiplift.engine.layer import Hooks, Settings, Stage
from shiplift.engine.loop import Loop
from shiplift.engine.step import Answer, Operation, Outcome, Outcomes, Step
from shiplift.engine.workers import Workers
from tests.engine.virtual import VirtualClock, eventually

SECOND = timedelta(seconds=1)
QUICK = Settings(
    debounce=SECOND,
    steps=3,
    operations=2,
    settle=30 * SECOND,
    backoff=Backoff(first=SECOND, cap=60 * SECOND, jitter=0.0),
    idle=5 * SECOND,
)


class Do(Step, frozen=True):
    name: str

    @property
    def key(self) -> str:
        return f"do {self.name}"

    def describe(self) -> str:
        return f"do the {self.name} thing"


class Run(Operation, frozen=True):
    name: str

    @property
    def key(self) -> str:
        return f"run {self.name}"

    def describe(self) -> str:
        return f"run {self.name} on the machine"


class Script:
    """A layer that does what a test tells it, and writes down all that is asked of it."""

    def __init__(self) -> None:
        self.plans: dict[str, list[Decision]] = defaultdict(list)
        self.calls: list[tuple[str, str]] = []
        self.seen: dict[str, list[Outcomes]] = defaultdict(list)
        self.answers: dict[str, list[Outcome | BaseException]] = defaultdict(list)
        self.errors: dict[tuple[str, str], list[BaseException]] = defaultdict(list)
        self.gates: dict[str, threading.Event] = {}
        self.published: tuple[Seen, ...] = ()
        self.running: Counter[str] = Counter()
        self.most_running = 0
        self._lock = threading.Lock()

    def observe(self, key: str, outcomes: Outcomes) -> str:
        self._note("observe", key)
        self.seen[key].append(outcomes)
        return key

    def decide(self, view: str, now) -> Decision:
        self._note("decide", view)
        return self.plans[view].pop(0) if self.plans[view] else Decision()

    def act(self, step: Step) -> Outcome:
        with self._lock:
            self.running[step.key] += 1
            self.most_running = max(self.most_running, sum(self.running.values()))
        try:
            self._note("act", step.key)
            if step.key in self.gates:
                assert self.gates[step.key].wait(20)
            answer = self.answers[step.key].pop(0) if self.answers[step.key] else Outcome.done(step)
            if isinstance(answer, BaseException):
                raise answer
            return answer
        finally:
            with self._lock:
                self.running[step.key] -= 1

    def publish(self, key: str, decision: Decision) -> tuple[Seen, ...]:
        self._note("publish", key)
        return self.published

    def _note(self, stage: str, key: str) -> None:
        with self._lock:
            self.calls.append((stage, key))
        if self.errors[stage, key]:
            raise self.errors[stage, key].pop(0)

    def count(self, stage: str, key: str) -> int:
        with self._lock:
            return self.calls.count((stage, key))


class Noted(Hooks):
    def __init__(self) -> None:
        self.failures: list[Stage] = []
        self.lagging: list[tuple] = []
        self.steps: list[tuple[str, Answer, float]] = []
        self.rounds = 0

    def decided(self, decision, seconds):
        self.rounds += 1

    def acted(self, step, outcome, seconds):
        self.steps.append((step.key, outcome.answer, seconds))

    def failed(self, stage):
        self.failures.append(stage)

    def unsettled(self, barriers):
        self.lagging.append(barriers)


class Bench:
    """A loop on a clock that stands still, with all that is injected in reach."""

    def __init__(self, settings: Settings = QUICK, workers: Workers | None = None) -> None:
        self.layer = Script()
        self.clock = VirtualClock()
        self.hooks = Noted()
        self.reached = 0
        self.settled_calls = 0
        self.loop: Loop[str, str, Decision] = Loop(
            "test",
            self.layer,
            settled=self.settled,
            workers=workers,
            settings=settings,
            hooks=self.hooks,
            clock=self.clock,
            chance=lambda: 0.5,
        )

    def settled(self, barriers) -> bool:
        self.settled_calls += 1
        return all(barrier.resource_version <= self.reached for barrier in barriers)

    def wake(self, key: str = "a", after=timedelta(0)) -> None:
        self.loop.wake(key, after)

    def rounds(self, key: str = "a") -> int:
        return self.layer.count("publish", key)

    def await_rounds(self, number: int, key: str = "a") -> None:
        eventually(lambda: self.rounds(key) >= number, f"round {number} of {key}")
        self.await_idle()
        assert self.rounds(key) == number

    def await_idle(self) -> None:
        """Until nothing is under way and nothing is due: only a wish, the store or the clock can go on."""
        eventually(self._idle, "rest")

    def _idle(self) -> bool:
        loop, now = self.loop, self.clock.monotonic()
        with loop._changed:
            due = loop._keys.next_at()
            aside = any(not one.ended for one in loop._aside.values())
            under_way = loop._keys._taken - set(loop._settling) or aside or loop._notified
            waits_until = self.clock.next_deadline()
            nothing_due = (due is None or due > now) and waits_until is not None and waits_until > now
            return nothing_due and not under_way
