"""Equal parts of rows are one object.

Most pods differ from their siblings in little more than a name, so a label set, a specification or an
owner is decoded once, keyed by its bytes, and shared. Strings are interned by Python itself, which
forgets them with their last use; what a pool remembers is bounded: past its limit it starts anew, and
rows that are already made keep what they have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class Pool(Generic[Value]):
    """Values by the bytes (or other key) that they were made from."""

    def __init__(self, make: Callable[[Any], Value], limit: int = 200_000) -> None:
        self._make = make
        self._limit = limit
        self._values: dict[Any, Value] = {}
        self.get: Callable[[Any], Value | None] = self._values.get

    def __call__(self, key: Any) -> Value:
        value = self.get(key)
        return self.add(key) if value is None else value

    def add(self, key: Any) -> Value:
        """Make and remember the value of a key that is not there yet."""
        if len(self._values) >= self._limit:
            self._values.clear()
        value = self._values[key] = self._make(key)
        return value
