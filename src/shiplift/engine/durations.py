"""Lengths of time as users write them: 90s, 15m, 1h30m."""

from __future__ import annotations

from datetime import timedelta

_UNITS = ((3600, "h"), (60, "m"), (1, "s"))


def as_written(length: timedelta) -> str:
    """To the second; the units that are not needed are left out."""
    left, parts = int(length.total_seconds()), ""
    for seconds, unit in _UNITS:
        number, left = divmod(left, seconds)
        parts += f"{number}{unit}" if number else ""
    return parts or "0s"
