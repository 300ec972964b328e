"""Times that others have written as text, as the API has them."""

from __future__ import annotations

from datetime import datetime


def read(text: object) -> datetime | None:
    """A time as somebody else wrote it; None for what says none, or not of which zone."""
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found if found.tzinfo is not None else None
