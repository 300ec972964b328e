"""How far something is: since when nothing has changed, whether that is too long, when it may end, and what
of it has to be told at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Generic, NamedTuple, TypeVar

import msgspec

S = TypeVar("S", bound=msgspec.Struct)


def since(before: datetime | None, now: datetime, *, same: bool) -> datetime:
    """Since when things are as they are: as it was told, while they are the same. A time that is yet to come
    was told by a clock that was ahead: it counts as now."""
    return min(before, now) if same and before is not None else now


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
    if started is None or started >= now or not done or done >= total:
        return None
    left = (now - started) * (total - done) / done
    bounds = (now + left, now + left / 2, now + 2 * left)
    return Estimate(*(one.replace(microsecond=0) for one in bounds))


class Weight(NamedTuple, Generic[S]):
    """What of a status is pressing, and which fields are mere progress."""

    essence: Callable[[S], object]
    """What decisions, or people who wait, depend on: a change of it is told at once."""
    progress: tuple[str, ...] = ()

    def pressing(self, before: S, after: S) -> bool:
        return self.essence(before) != self.essence(after)

    def only_progress(self, before: S, after: S) -> bool:
        """Whether the two differ in nothing but how far things are."""
        return (
            msgspec.structs.replace(after, **{one: getattr(before, one) for one in self.progress}) == before
        )
