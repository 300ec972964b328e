"""An outage of the provider on virtual time: the layer's own decisions, no clock and no waiting.

The provider is away for a while and then back. Counted is how often it was asked meanwhile, against how often
the backoff allows at most, and how long after its return the next sync took, against the step of the backoff
that was under way.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import msgspec

from shiplift.engine.probes import Probe
from shiplift.outside.letters import Box
from shiplift.policy.config import Section
from shiplift.policy.decide.decision import decide
from shiplift.policy.model import Answer, Asking, Record, View
from shiplift.policy.steps import Ask

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


class Outage(msgspec.Struct, frozen=True):
    """What one outage cost."""

    calls: int
    allowed: int
    recovery: timedelta
    step: timedelta
    """The step of the backoff that was under way when the provider came back."""


def outage(period: timedelta, lasts: timedelta, chance: Callable[[], float]) -> Outage:
    """From the first call that fails until the first that does not."""
    config = _config(period)
    asked: list[datetime] = []
    now, asking = _BEGIN, Asking(Probe[Answer]("policy", timedelta(days=30)))
    back = _BEGIN + lasts
    while True:
        decision = decide(_view(config, asking), now)
        ask = next((one for one in decision.steps if isinstance(one, Ask)), None)
        if ask is None:
            now += decision.look_again_after or timedelta(0)
            continue
        if now >= back:
            break
        asked.append(now)
        probe = asking.probe.failed("connection refused", now)
        asking = Asking(probe, ask.purpose, attempts=len(asked), jitter=chance())
    step = _wait(period, len(asked)) * 1.1
    return Outage(len(asked), _allowed(period, lasts), now - back, step)


def _allowed(period: timedelta, lasts: timedelta) -> int:
    """The most calls that may happen in that time, were every wait as short as it may be: by a tenth."""
    now, calls = timedelta(0), 0
    while now < lasts:
        calls += 1
        now += _wait(period, calls) * 0.9
    return calls


def _wait(period: timedelta, failures: int) -> timedelta:
    """As the specification has it: 1, 2, 4 … minutes, up to the period, at least 5 and at most 60 minutes.
    Written out, and not asked of the code that is measured."""
    steps = (1, 2, 4, 8, 16, 32)
    plain = steps[failures - 1] if failures <= len(steps) else 64
    return min(timedelta(minutes=plain), max(period, timedelta(minutes=5)), timedelta(minutes=60))


def _config(period: timedelta) -> Section:
    seconds = int(period.total_seconds())
    said = {"provider": "HTTP", "watchInterval": f"{seconds}s", "http": {"url": "https://policies.example/"}}
    return msgspec.convert(said, Section)


def _view(config: Section, asking: Asking) -> View:
    return View(config=config, asking=asking, box=Box(), record=Record())


def worst(period: timedelta, seed: int = 7, rounds: int = 200) -> tuple[float, float]:
    """Calls against what is allowed, and recovery against one step; the worst of many outages."""
    dice = random.Random(seed)
    lengths = (timedelta(seconds=dice.uniform(1, 6 * 3600)) for _ in range(rounds))
    found = [outage(period, lasts, dice.random) for lasts in lengths]
    return max(one.calls / one.allowed for one in found), max(one.recovery / one.step for one in found)
