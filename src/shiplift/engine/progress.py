"""How far something is: since when nothing has changed, whether that is too long, and when it may end."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple


def since(before: datetime | None, now: datetime, *, same: bool) -> datetime:
    """Since when things are as they are: as it was told, while they are the same."""
    return before if same and before is not None else now


def overdue(began: datetime, now: datetime, limit: timedelta) -> timedelta | None:
    """For how long nothing has changed, where that is longer than the limit."""
    return now - began if now - began >= limit else None


class Estimate(NamedTuple):
    """When something is expected to end, and between which bounds."""

    likely: datetime
    earliest: datetime
    latest: datetime


def estimate(started: datetime | None, done: int, total: int, now: datetime) -> Estimate | None:
    """From the pace so far, to the second; none before there is a pace, or where nothing is left."""
    if started is None or not done or done >= total:
        return None
    left = (now - started) * (total - done) / done
    bounds = (now + left, now + left / 2, now + 2 * left)
    return Estimate(*(one.replace(microsecond=0) for one in bounds))
