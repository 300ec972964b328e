"""How things are counted and named for people."""

from __future__ import annotations

from collections.abc import Sequence

_NAMED = 3
LONGEST = 2048


def some(names: Sequence[str]) -> str:
    """The first few, and how many more."""
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def counted(number: int, thing: str) -> str:
    return f"1 {thing}" if number == 1 else f"{number} {thing}s"


def short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
