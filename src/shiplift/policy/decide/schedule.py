"""When to ask the provider: after the period where all is well, ever more slowly where it is not.

Every wait is spread by a tenth either way. Who asks us to wait longer is heeded. New settings, and somebody
who is about to start the upgrade, are a reason to ask at once, but not sooner than a failure allows.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from shiplift.api.marks import REFRESH_ASKED, REFRESH_DONE
from shiplift.engine.backoff import Backoff
from shiplift.facts.meta import NO_LABELS
from shiplift.policy.config import Section
from shiplift.policy.model import Purpose, View

FIRST = timedelta(minutes=1)
SHORTEST_CAP, LONGEST_CAP = timedelta(minutes=5), timedelta(hours=1)
_SPREAD = 0.1
_NOW = timedelta(0)


def backoff(period: timedelta) -> Backoff:
    """How long to wait after failures: 1, 2, 4 … minutes."""
    return Backoff(first=FIRST, cap=min(LONGEST_CAP, max(period, SHORTEST_CAP)), jitter=_SPREAD)


def purpose(view: View, config: Section) -> Purpose:
    """What the provider would be asked for now."""
    return Purpose(config.source, wish(view))


def wish(view: View) -> str:
    """The wish to start that was not answered yet."""
    marks = view.current.annotations if view.current is not None else NO_LABELS
    asked = marks.get(REFRESH_ASKED, "")
    return asked if asked != marks.get(REFRESH_DONE, "") else ""


def left(view: View, config: Section, now: datetime) -> timedelta:
    """How long to wait before asking; nothing where it is time."""
    probe = view.asking.probe
    if view.asking.last is None or probe.ended is None:
        return _NOW
    wanted, last = purpose(view, config), view.asking.last
    asked_to = max(probe.not_before - now, _NOW) if probe.not_before is not None else _NOW
    if wanted.source != last.source:
        return asked_to
    if probe.failures == 0 and wanted.refresh not in ("", last.refresh):
        return asked_to
    return max(probe.ended + _wait(view, config) - now, asked_to, _NOW)


def _wait(view: View, config: Section) -> timedelta:
    failures, chance = view.asking.probe.failures, view.asking.jitter
    if failures:
        return backoff(config.period).delay(failures, chance)
    return config.period * (1 + _SPREAD * (2 * chance - 1))
