"""Maintenance windows as objects have them, made into what can be asked, and said in words."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

from shiplift.api.values import Window as Stored
from shiplift.api.values import duration
from shiplift.engine.windows import Window, WindowError, Windows


@lru_cache(64)
def windows_of(stored: tuple[Stored, ...]) -> Windows:
    """Raises where one cannot be used."""
    return Windows(tuple(Window(one.schedule, duration(one.duration), one.time_zone) for one in stored))


def complaint(stored: tuple[Stored, ...]) -> str:
    """Why they cannot be used and what would help; nothing where they can."""
    try:
        windows_of(stored)
    except WindowError as error:
        return f"{error}; {error.hint}"
    except ValueError as error:
        return str(error)
    return ""


def opening(opens: datetime | None) -> str:
    """When the next one opens, in words."""
    return f"the next one opens at {to_the_minute(opens)}" if opens else "none opens any more"


def to_the_minute(moment: datetime) -> str:
    """In UTC; a time that UTC has no year for, at the ends of all time, as it was given."""
    try:
        return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    except OverflowError:
        return f"{moment:%Y-%m-%d %H:%M} {moment.tzname()}"
