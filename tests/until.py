"""Waiting for something to become true, with a deadline that names it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(what: Callable[[], T], seconds: float = 60.0, every: float = 0.02) -> T:
    """The first true answer."""
    deadline = time.monotonic() + seconds
    while not (answer := what()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s; the last answer was {answer!r}")
        time.sleep(every)
    return answer
