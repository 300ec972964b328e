"""When a catalog is read again."""

from __future__ import annotations

from datetime import datetime, timedelta

from shiplift.api.values import duration
from shiplift.engine.backoff import Backoff
from shiplift.engine.conditions import Status as Holds
from shiplift.operators.model import Line, Reason, SourceView, catalog_of
from shiplift.operators.steps import ReadCatalog

_SHORTEST = timedelta(seconds=1)
_AFTER_TROUBLE = Backoff(first=timedelta(seconds=2), cap=timedelta(minutes=5), jitter=0.0)


def read(view: SourceView, now: datetime) -> Line:
    """Whether it was read, and whether it is to be read now."""
    reading = view.reading
    left = _left(view, now)
    steps = () if left > timedelta(0) or reading.pending else (ReadCatalog(view.row.name, reading.attempts),)
    due = max(left, _SHORTEST)
    if reading.trouble:
        return Line(Reason.UNREADABLE, reading.trouble, steps=steps, due=due)
    if reading.catalog is None:
        return Line(Reason.READING, "it is being read", steps=steps, due=due)
    faults = len(reading.catalog.faults)
    told = f"{len(reading.catalog.packages):,} packages with {reading.catalog.bundles:,} versions"
    return Line(Reason.READ, told + (f", {faults:,} faults" if faults else ""), Holds.TRUE, steps, due)


def _left(view: SourceView, now: datetime) -> timedelta:
    """How long reading has time."""
    reading = view.reading
    if reading.ended is None or reading.generation != view.row.generation:
        return timedelta(0)
    every = max(duration(catalog_of(view.row).spec.poll_interval), _SHORTEST)
    if reading.trouble:
        every = min(every, _AFTER_TROUBLE.delay(max(reading.failures, 1), 0.0))
    return reading.ended + every - now
