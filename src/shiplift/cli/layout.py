"""What all pictures have in common."""

from __future__ import annotations


def duration(seconds: int) -> str:
    """Roughly, in one unit."""
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"
