"""Versions of operators: semantic versions, read and ordered as OLM's tools do.

Kept true: a text is a version here exactly when blang/semver takes it for one, and two versions stand in the
same order as there. Build metadata does not count; numbers are below words in a pre-release.
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

_MOST = 2**64 - 1
_NUMBER = r"0|[1-9][0-9]*"
_SHAPE = re.compile(
    rf"(?P<major>{_NUMBER})\.(?P<minor>{_NUMBER})\.(?P<patch>{_NUMBER})"
    r"(?:-(?P<pre>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
    r"(?:\+(?P<build>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?",
    re.ASCII,
)
_LEADING_ZERO = re.compile(r"0[0-9]+", re.ASCII)
Rank = tuple[int, int, int, bool, tuple[tuple[bool, int, str], ...]]


class SemverError(ValueError):
    """A text that is no semantic version, or no range of them."""


class Version(msgspec.Struct, frozen=True):
    """One version; `rank` orders it."""

    text: str
    rank: Rank

    def __lt__(self, other: Version) -> bool:
        return self.rank < other.rank

    def __le__(self, other: Version) -> bool:
        return self.rank <= other.rank

    def __gt__(self, other: Version) -> bool:
        return self.rank > other.rank

    def __ge__(self, other: Version) -> bool:
        return self.rank >= other.rank

    @property
    def minor_line(self) -> tuple[int, int]:
        """Major and minor."""
        return self.rank[:2]

    def __str__(self) -> str:
        return self.text


@lru_cache(65536)
def parse(text: str) -> Version:
    """The version that the text is; a `SemverError` names a text that is none."""
    found = _SHAPE.fullmatch(text)
    if found is None:
        raise SemverError(f"{text[:80]!r} is not a semantic version")
    major, minor, patch = (_number(found[name], text) for name in ("major", "minor", "patch"))
    pre = tuple(_part(part, text) for part in (found["pre"] or "").split(".") if part)
    return Version(text, (major, minor, patch, not pre, pre))


def _part(part: str, text: str) -> tuple[bool, int, str]:
    """A part of a pre-release: (is a word, number, word)."""
    if not (part.isascii() and part.isdigit()):
        return (True, 0, part)
    if _LEADING_ZERO.fullmatch(part):
        raise SemverError(f"{text[:80]!r} is not a semantic version: {part!r} begins with a zero")
    return (False, _number(part, text), "")


def _number(digits: str, text: str) -> int:
    if len(digits) > 20 or (number := int(digits)) > _MOST:
        raise SemverError(f"{text[:80]!r} is not a semantic version: a number in it is too large")
    return number
