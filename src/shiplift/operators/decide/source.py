"""When a catalog is read again."""

from __future__ import annotations

from datetime import datetime, timedelta

from shiplift.api.values import duration
from shiplift.engine.backoff import Backoff
from shiplift.engine.conditions import Status as Holds
from shiplift.operators.model import ANSWERS_WITHIN, Line, Reading, Reason, SourceView
from shiplift.operators.rows import catalog_of
from shiplift.operators.steps import ReadCatalog

_SHORTEST = timedelta(seconds=1)
_AFTER_TROUBLE = Backoff(first=timedelta(seconds=2), cap=timedelta(minutes=5), jitter=0.0)


def read(view: SourceView, now: datetime) -> Line:
    """Whether it was read, and whether it is to be read now."""
    reading = view.reading
    left = _left(view, now)
    steps = () if left > timedelta(0) or reading.pending else (ReadCatalog(view.row.name, reading.attempts),)
    due = max(_late_in(reading, now) if reading.pending else left, _SHORTEST)
    if is_late(reading, now):
        told = f"it has not answered for {ANSWERS_WITHIN.seconds // 60} minutes"
        return Line(Reason.UNREADABLE, told, due=ANSWERS_WITHIN)
    if reading.trouble:
        return Line(Reason.UNREADABLE, reading.trouble, steps=steps, due=due)
    if reading.catalog is None:
        return Line(Reason.READING, "it is being read", steps=steps, due=due)
    faults = len(reading.catalog.faults)
    told = f"{len(reading.catalog.packages):,} packages with {reading.catalog.bundles:,} versions"
    return Line(Reason.READ, told + (f", {faults:,} faults" if faults else ""), Holds.TRUE, steps, due)


def is_late(reading: Reading, now: datetime) -> bool:
    """Whether it has been asked for so long that no answer is expected any more; one that comes counts."""
    return reading.pending and reading.since is not None and now - reading.since >= ANSWERS_WITHIN


def _late_in(reading: Reading, now: datetime) -> timedelta:
    return reading.since + ANSWERS_WITHIN - now if reading.since is not None else _SHORTEST


def _left(view: SourceView, now: datetime) -> timedelta:
    """How long reading has time."""
    reading = view.reading
    if reading.ended is None or reading.generation != view.row.generation:
        return timedelta(0)
    every = max(duration(catalog_of(view.row).spec.poll_interval), _SHORTEST)
    if reading.trouble:
        every = min(every, _AFTER_TROUBLE.delay(max(reading.failures, 1), 0.0))
    return reading.ended + every - now
