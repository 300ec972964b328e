"""Equal parts of rows are one object.

Most pods differ from their siblings in little more than a name, so a label set, a toleration list or an
owner is decoded once, keyed by its bytes, and shared. Strings are interned by Python itself, which
forgets them with their last use; what a pool remembers is bounded: past its limit it starts anew, and
rows that are already made keep what they have. Where keys are long and many, a digest of 20 bytes stands
for them.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha1
from typing import Any, TypeVar

Value = TypeVar("Value")


class Pool(dict[Any, Value]):
    """Values by the bytes (or other key) that they are made from: ask for any key, it is made if need be."""

    def __init__(self, make: Callable[[Any], Value], limit: int = 200_000) -> None:
        super().__init__()
        self._make = make
        self._limit = limit

    def __missing__(self, key: Any) -> Value:
        if len(self) >= self._limit:
            self.clear()
        value = self[key] = self._make(key)
        return value


class DigestPool(dict[bytes, Value]):
    """The same for keys of several parts, each of which tells its own length; only a digest is remembered."""

    def __init__(self, make: Callable[[Any], Value], limit: int = 200_000) -> None:
        super().__init__()
        self._make = make
        self._limit = limit

    def of(self, *parts: bytes) -> Value:
        # Not for secrecy: to tell apart what one API server sends, for which 160 bits are plenty.
        key = sha1(b"".join(parts), usedforsecurity=False).digest()
        value = self.get(key)
        if value is None:
            if len(self) >= self._limit:
                self.clear()
            value = self[key] = self._make(parts)
        return value
