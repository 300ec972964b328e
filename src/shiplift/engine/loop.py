"""The loop: the only place that schedules. It runs a layer's observe, decide, act and publish, for ever.

What is kept true:
- a key is in the hands of one round at a time, and wishes to look at it again meanwhile are not lost;
- after steps were taken the key is not decided again before the store shows what they did, or a deadline has
  passed, which is logged and handed to observe until the store does show it;
- steps run side by side, at most so many, on threads that all loops share; a round waits for its own, but
  not for those put aside (and not for operations): at most one of each runs while its key goes on being
  decided, and observe is told of it;
- what was put aside, has not begun yet and is in no newer decision is dropped;
- whatever a layer raises is logged, counted and tried again later, ever more slowly; it never ends the loop;
- stopping starts nothing new and waits for the steps in flight; operations are left, they can be re-attached.
No code of a layer or of the store is called while the loop's own lock is held.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Generator, Hashable, Iterable
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Generic, Protocol, TypeVar

import msgspec
import structlog

from shiplift.engine import clock as system
from shiplift.engine.backoff import Failures
from shiplift.engine.barrier import Barrier
from shiplift.engine.decision import Decision, Requeue
from shiplift.engine.keys import Keys
from shiplift.engine.layer import Hooks, Layer, Retry, Settings, Stage
from shiplift.engine.memory import Memory
from shiplift.engine.retries import look_after
from shiplift.engine.step import Answer, Operation, Outcome, Outcomes, Step
from shiplift.engine.workers import SURE_ASIDE, SURE_OPERATIONS, SURE_STEPS, Workers

log = structlog.get_logger(__name__)
_dice = random.Random()
"""Our own: threads of ours leave the one that all share alone."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
D = TypeVar("D", bound=Decision)

MOST_REMEMBERED = 10_000
_SHOWN_SOON = timedelta(milliseconds=200)
"""When to look again for what a step put aside did: mostly an event comes first."""


class Clock(Protocol):
    """The time, and waiting for it."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...

    def wait(self, condition: threading.Condition, seconds: float) -> None:
        """Wait for the held condition, at most that long."""
        ...


class SystemClock:
    """The computer's own clocks; the time of day never goes back."""

    def now(self) -> datetime:
        return system.now()

    def monotonic(self) -> float:
        return time.monotonic()

    def wait(self, condition: threading.Condition, seconds: float) -> None:
        condition.wait(seconds)


class Loop(Generic[K, V, D]):
    """Runs one layer: `wake` wants a key, `notify` says that the store has changed; both return at once."""

    def __init__(  # noqa: PLR0913 - a layer, and what it runs on
        self,
        name: str,
        layer: Layer[K, V, D],
        *,
        settled: Callable[[tuple[Barrier, ...]], bool],
        workers: Workers | None = None,
        settings: Settings | None = None,
        hooks: Hooks | None = None,
        clock: Clock | None = None,
        chance: Callable[[], float] = _dice.random,
    ) -> None:
        self.name = name
        self._layer = layer
        self._settled = settled
        self._settings = settings or Settings()
        self._hooks = hooks or Hooks()
        self._clock = clock or SystemClock()
        self._chance = chance
        self._changed = threading.Condition()
        self._keys: Keys[K] = Keys()
        self._failures: Failures[K] = Failures()
        self._memories: dict[K, Memory] = {}
        self._settling: dict[K, float] = {}
        self._said: dict[tuple[Stage, K | None], str] = {}
        """What went wrong last, so that it is logged when it changes."""
        self._running: list[_Running] = []
        self._aside: dict[tuple[str, str], _Aside[K]] = {}
        self._notified = self._stopping = False
        self._beat = _Running("start", self._clock.monotonic())
        self._decider = threading.Thread(target=self._run, name=f"{name}-decide", daemon=True)
        workers = workers or Workers()
        self._step_workers = workers.share(self._settings.steps, SURE_STEPS)
        self._aside_workers = workers.share(self._settings.aside, SURE_ASIDE)
        self._operation_workers = workers.share(self._settings.operations, SURE_OPERATIONS)

    def start(self) -> None:
        self._decider.start()

    def wake(self, key: K, after: timedelta | None = None) -> None:
        """Look at the key after that time, or after the debounce; an earlier wish wins."""
        with self._changed:
            self._add(key, self._settings.debounce if after is None else after)

    def notify(self) -> None:
        """The store has changed: see whether what a key waits for has come."""
        if not self._settling:
            return
        with self._changed:
            self._notified = True
            self._changed.notify_all()

    def stop(self, timeout: timedelta) -> bool:
        """Start nothing more and wait for the steps in flight; whether all of them ended in time."""
        deadline = time.monotonic() + timeout.total_seconds()
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        for workers in (self._operation_workers, self._aside_workers, self._step_workers):
            workers.stop()
        if self._decider.is_alive():
            self._decider.join(max(deadline - time.monotonic(), 0))
        joined = [workers.join(deadline) for workers in (self._aside_workers, self._step_workers)]
        finished = all(joined) and not self._decider.is_alive()
        log.info("loop stopped", loop=self.name, finished=finished)
        return finished

    def depth(self) -> int:
        """How many keys wait to be looked at."""
        with self._changed:
            return len(self._keys) + len(self._settling)

    def stuck(self, limit: timedelta) -> str | None:
        """What has run for longer than the limit, in words for a liveness probe; None when all is well."""
        with self._changed:
            running = [self._beat, *self._running]
            overdue = [
                one.step
                for one in self._aside.values()
                if isinstance(one.step, Operation) and self._clock.now() - one.step.started.deadline > limit
            ]
        if self._stopping or self._decider.ident is None:
            return None
        if not self._decider.is_alive():
            return f"the thread of loop {self.name} has ended"
        now = self._clock.monotonic()
        for one in running:
            if now - one.since > limit.total_seconds():
                return f"{one.what} has not moved for {now - one.since:.0f} s"
        return f"{overdue[0].describe()} is past its deadline" if overdue else None

    # the decider's thread

    def _run(self) -> None:
        while (key := self._wait_for_key()) is not None:
            self._round(key)

    def _wait_for_key(self) -> K | None:
        while not self._stopping:
            key = self._next_settled()
            if key is None:
                key = self._next_due()
                if key is not None and self._must_settle(key):
                    continue
            if key is not None:
                return key
        return None

    def _next_due(self) -> K | None:
        with self._changed:
            now = self._clock.monotonic()
            self._beat = _Running(f"loop {self.name}", now)
            key = self._keys.take(now)
            if key is None and not self._notified and not self._stopping:
                times = [now + self._settings.idle.total_seconds(), *self._settling.values()]
                due = self._keys.next_at()
                self._clock.wait(self._changed, max(min(times if due is None else [due, *times]) - now, 0))
            self._notified = False
            return key

    def _must_settle(self, key: K) -> bool:
        """Whether the key has to wait for the store first; it then counts as taken."""
        memory = self._memory(key)
        if not memory.barriers:
            return False
        with self._changed:
            # from here on notify() wakes us, so what comes after the next look is not missed
            self._settling[key] = memory.settle_by
        return True

    def _next_settled(self) -> K | None:
        for key, deadline in list(self._settling.items()):
            expected = self._memory(key).barriers
            if self._is_settled(expected):
                unsettled = ()
            elif self._clock.monotonic() >= deadline:
                unsettled = expected
            else:
                continue
            if self._release(key, expected, unsettled):
                return key
        return None

    def _release(self, key: K, expected: tuple[Barrier, ...], unsettled: tuple[Barrier, ...]) -> bool:
        with self._changed:
            memory = self._memory(key)
            # an operation may have ended meanwhile and added more to wait for
            memory.barriers = tuple(barrier for barrier in memory.barriers if barrier not in expected)
            memory.outcomes = memory.outcomes.with_unsettled((*memory.outcomes.unsettled, *unsettled))
            if memory.barriers:
                self._settling[key] = memory.settle_by
                return False
            del self._settling[key]
            self._keys.absorb(key, self._clock.monotonic())
        self._warn_unsettled(key, unsettled)
        return True

    def _warn_unsettled(self, key: K, unsettled: tuple[Barrier, ...]) -> None:
        if unsettled:
            log.warning("store lags behind our writes", **self._about(key), waiting_for=str(unsettled))
            self._call(self._hooks.unsettled, unsettled)

    def _is_settled(self, barriers: tuple[Barrier, ...]) -> bool:
        try:
            return self._settled(barriers)
        except Exception as error:
            self._note(Stage.SETTLE, None, error)
            return False

    def _round(self, key: K) -> None:
        stage = Stage.OBSERVE
        begun = self._clock.monotonic()
        try:
            self._enter(stage, key, begun)
            outcomes, under_way = self._known(key)
            view = self._layer.observe(key, outcomes)
            stage = Stage.DECIDE
            self._enter(stage, key, self._clock.monotonic())
            decision = self._layer.decide(view, self._clock.now())
            round_ = _Round(key, decision, under_way)
        except BaseException as error:
            self._note(stage, key, error)
            with self._changed:
                self._finish(key, [self._delay(self._failures.failed(key))])
            return
        self._call(self._hooks.decided, decision, self._clock.monotonic() - begun)
        self._begin(round_)

    def _known(self, key: K) -> tuple[Outcomes, frozenset[tuple[str, str]]]:
        """What is remembered and what is under way; steps put aside are until the store shows it. What it did
        not show in time stays named until it does."""
        with self._changed:
            doubted = self._memory(key).outcomes.unsettled
            ended = [one for one in self._aside.values() if one.key == key and one.ended]
        doubted = tuple(barrier for barrier in doubted if not self._is_settled((barrier,)))
        shown = [one for one in ended if self._is_settled(one.barriers)]
        overdue = [one for one in ended if one not in shown and self._clock.monotonic() >= one.settle_by]
        unsettled = tuple(barrier for one in overdue for barrier in one.barriers)
        with self._changed:
            for one in (*shown, *overdue):
                del self._aside[one.step.identity]
            memory = self._memory(key)
            memory.outcomes = memory.outcomes.with_unsettled((*doubted, *unsettled))
            under_way = {one.step.identity: one.step.key for one in self._aside.values() if one.key == key}
            outcomes = msgspec.structs.replace(memory.outcomes, running=frozenset(under_way.values()))
        self._warn_unsettled(key, unsettled)
        return outcomes, frozenset(under_way)

    def _enter(self, stage: Stage, key: K, now: float) -> None:
        with self._changed:
            self._beat = _Running(f"{stage.value} of {key} in loop {self.name}", now)

    def _begin(self, round_: _Round[K, D]) -> None:
        self._drop_unwanted(round_)
        for step in round_.decision.steps:
            if step.aside:
                self._put_aside(round_, step)
        for step in round_.steps:
            self._step_workers.submit(partial(self._take_step, round_, step))
        if not round_.steps:
            self._step_workers.submit(partial(self._publish, round_))

    def _drop_unwanted(self, round_: _Round[K, D]) -> None:
        """What waits for a thread and was decided against meanwhile; operations are recorded, and kept."""
        wanted = {step.identity for step in round_.decision.steps if step.aside}
        with self._changed:
            for identity, one in list(self._aside.items()):
                droppable = not one.begun and not isinstance(one.step, Operation)
                if droppable and one.key == round_.key and identity not in wanted:
                    del self._aside[identity]

    def _put_aside(self, round_: _Round[K, D], step: Step) -> None:
        one = _Aside(round_.key, step)
        with self._changed:
            # one that has ended since the decision was begun is for the next, which knows its answer
            if step.identity in self._aside or step.identity in round_.under_way:
                return
            self._aside[step.identity] = one
        workers = self._operation_workers if isinstance(step, Operation) else self._aside_workers
        workers.submit(partial(self._take_aside, one), step.lane)

    # the workers' threads

    def _take_step(self, round_: _Round[K, D], step: Step) -> None:
        outcome = self._act(round_.key, step)
        with self._changed:
            round_.outcomes.append((step, outcome))
            last = len(round_.outcomes) == len(round_.steps)
        if last and not self._stopping:
            self._publish(round_)

    def _take_aside(self, one: _Aside[K]) -> None:
        with self._changed:
            if self._aside.get(one.step.identity) is not one:
                return
            one.begun = True
        outcome = self._act(one.key, one.step)
        with self._changed:
            wanted = self._remember(one.key, one.step, outcome)
            if isinstance(one.step, Operation):
                # rare, and much may have changed on its machine: the next decision waits for all of it
                self._expect(self._memory(one.key), outcome.barriers)
            else:
                one.barriers, one.settle_by = outcome.barriers, self._settle_by()
                one.ended = bool(one.barriers)
                wanted = max(wanted, self._settings.debounce)
            if not one.ended:
                del self._aside[one.step.identity]
            self._add(one.key, wanted)

    def _act(self, key: K, step: Step) -> Outcome:
        begun = self._clock.monotonic()
        try:
            with self._visible(step):
                outcome = msgspec.structs.replace(self._layer.act(step), step=step.key)
        except BaseException as error:
            self._note(Stage.ACT, key, error)
            # it may have raised before or after the write: only a look at the cluster can tell
            outcome = Outcome.unknown(step, f"{type(error).__name__}: {error}")
        self._call(self._report, key, step, outcome)
        self._call(self._hooks.acted, step, outcome, self._clock.monotonic() - begun)
        return outcome

    @contextmanager
    def _visible(self, step: Step) -> Generator[None]:
        """Shown to liveness while it runs; operations have deadlines of their own."""
        if isinstance(step, Operation):
            yield
        else:
            with self._shown(step.describe()):
                yield

    @contextmanager
    def _shown(self, what: str) -> Generator[_Running]:
        running = _Running(what, self._clock.monotonic())
        with self._changed:
            self._running.append(running)
        try:
            yield running
        finally:
            with self._changed:
                self._running.remove(running)

    def _report(self, key: K, step: Step, outcome: Outcome) -> None:
        said = {"what": step.describe(), "answer": outcome.answer.value, "message": outcome.message}
        last = self._memory(key).outcomes.last.get(outcome.step)
        repeated = last is not None and not outcome.ok and _answered(last) == _answered(outcome)
        tell = log.debug if repeated else log.info
        tell("step taken", **{**step.fields(), **self._about(key), **said})

    def _publish(self, round_: _Round[K, D]) -> None:
        published: list[Barrier | Requeue] = []
        failed = False
        try:
            with self._shown(f"publish of {round_.key} in loop {self.name}") as running:
                for one in self._layer.publish(round_.key, round_.decision):
                    # many writes take long on a slow API server, and each of them is progress
                    running.since = self._clock.monotonic()
                    published.append(one)
        except BaseException as error:
            self._note(Stage.PUBLISH, round_.key, error)
            failed = True
        with self._changed:
            self._end(round_, tuple(published), failed=failed)

    # with the lock held

    def _end(self, round_: _Round[K, D], published: tuple[Barrier | Requeue, ...], *, failed: bool) -> None:
        key = round_.key
        memory = self._memory(key)
        memory.forget_steps_but(round_.decision.steps)
        delays = [self._remember(key, step, outcome) for step, outcome in round_.outcomes]
        self._expect(memory, (barrier for _, outcome in round_.outcomes for barrier in outcome.barriers))
        self._expect(memory, (one for one in published if not isinstance(one, Requeue)))
        delays += [one.after for one in published if isinstance(one, Requeue)]
        if round_.decision.look_again_after is not None:
            delays.append(round_.decision.look_again_after)
        if any(one.ended and one.key == key for one in self._aside.values()):
            delays.append(_SHOWN_SOON)
        if failed:
            delays.append(self._delay(self._failures.failed(key)))
        else:
            self._failures.succeeded(key)
            self._forget_said(key)
        self._finish(key, delays)

    def _remember(self, key: K, step: Step, outcome: Outcome) -> timedelta:
        """Note the outcome and return when it wants its key to be looked at again."""
        memory = self._memory(key)
        memory.outcomes = memory.outcomes.remember([outcome], self._clock.now())
        times = memory.count(step)
        if not outcome.ok:
            return look_after(memory.outcomes.last[outcome.step], self._settings.backoff, self._chance())
        # the very same step again, though it went well: it does not do what its decision thinks it does
        return timedelta(0) if times == 1 else self._delay(times - 1)

    def _expect(self, memory: Memory, barriers: Iterable[Barrier]) -> None:
        fresh = [barrier for barrier in barriers if barrier not in memory.barriers]
        if fresh:
            memory.barriers = (*memory.barriers, *fresh)
            memory.settle_by = self._settle_by()

    def _settle_by(self) -> float:
        return self._clock.monotonic() + self._settings.settle.total_seconds()

    def _finish(self, key: K, delays: Iterable[timedelta]) -> None:
        self._keys.done(key)
        soonest = min(delays, default=None)
        if soonest is not None:
            self._add(key, soonest)
        self._changed.notify_all()

    def _add(self, key: K, after: timedelta) -> None:
        if self._keys.add(key, self._clock.monotonic() + after.total_seconds()):
            self._changed.notify_all()

    # anywhere

    def _memory(self, key: K) -> Memory:
        with self._changed:
            memory = self._memories.pop(key, None) or Memory()
            self._memories[key] = memory
            if len(self._memories) > MOST_REMEMBERED:
                oldest = next((one for one, held in self._memories.items() if not held.barriers), key)
                del self._memories[oldest]
            return memory

    def _delay(self, attempt: int) -> timedelta:
        return self._settings.backoff.delay(attempt, self._chance())

    def _note(self, stage: Stage, key: K | None, error: BaseException) -> None:
        repeated = self._is_repeated(stage, key, error)
        if isinstance(error, Retry):
            tell = log.debug if repeated else log.warning
            tell("layer tries again", **self._about(key), stage=stage.value, reason=str(error))
            self._call(self._hooks.retried, stage)
            return
        tell = log.debug if repeated else log.error
        tell("layer failed", **self._about(key), stage=stage.value, exc_info=error)
        self._call(self._hooks.failed, stage)

    def _is_repeated(self, stage: Stage, key: K | None, error: BaseException) -> bool:
        """Whether that is what went wrong there the last time too; it is remembered."""
        text = f"{type(error).__name__}: {error}"
        with self._changed:
            before = self._said.get((stage, key))
            self._said[stage, key] = text
        return before == text

    def _forget_said(self, key: K) -> None:
        for stage in Stage:
            self._said.pop((stage, key), None)

    def _about(self, key: K | None) -> dict[str, str]:
        return {"loop": self.name, "key": str(key)}

    def _call(self, hook: Callable[..., None], *arguments: object) -> None:
        try:
            hook(*arguments)
        except Exception as error:
            log.error("hook failed", loop=self.name, exc_info=error)


def _answered(outcome: Outcome) -> tuple[Answer, str]:
    return outcome.answer, outcome.message


class _Running(msgspec.Struct):
    """Something that goes on, and since when."""

    what: str
    since: float


class _Aside(Generic[K]):
    """A step that no round waits for, and how far it is."""

    def __init__(self, key: K, step: Step) -> None:
        self.key = key
        self.step = step
        self.begun = self.ended = False
        self.barriers: tuple[Barrier, ...] = ()
        self.settle_by = 0.0


class _Round(Generic[K, D]):
    """One decision on its way: its steps, and what they have been answered so far."""

    def __init__(self, key: K, decision: D, under_way: frozenset[tuple[str, str]]) -> None:
        self.key = key
        self.decision = decision
        self.under_way = under_way
        self.steps = [step for step in decision.steps if not step.aside]
        self.outcomes: list[tuple[Step, Outcome]] = []
