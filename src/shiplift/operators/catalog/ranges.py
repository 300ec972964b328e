"""Ranges of versions, as OLM writes them: `>=1.0.0 <1.2.0 || 2.x`.

Kept true: a range holds just the versions that blang/semver's `ParseRange` says, its oddities included, since
catalogs were written against it: a part of one character is overlooked, `1.x.x` ends at 1.1.0, and a
comparison that it does not know means "equal" before a wildcard. Only a range of which an alternative is
empty, which crashes there, is refused here.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from functools import lru_cache

import msgspec

from shiplift.operators.catalog.semver import Rank, SemverError, Version, parse

_COMPARE: dict[str, Callable[[Rank, Rank], bool]] = {
    "": operator.eq,
    "=": operator.eq,
    "==": operator.eq,
    "!": operator.ne,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_SIGNED = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_GLUES = ("<", ">", "=")
"""A space after one of these ends no part: `>= 1.0.0` is one."""


class Bound(msgspec.Struct, frozen=True):
    """One comparison of a range."""

    sign: str
    version: Version

    def holds(self, version: Version) -> bool:
        return _COMPARE[self.sign](version.rank, self.version.rank)


class Range(msgspec.Struct, frozen=True):
    """Alternatives, of which each is a list of comparisons that all have to hold."""

    text: str
    alternatives: tuple[tuple[Bound, ...], ...]

    def holds(self, version: Version) -> bool:
        return any(all(bound.holds(version) for bound in bounds) for bounds in self.alternatives)

    def __str__(self) -> str:
        return self.text


@lru_cache(16384)
def parse_range(text: str) -> Range:
    """The range that the text is; a `SemverError` names a text that is none."""
    try:
        alternatives = tuple(_bounds(parts) for parts in _alternatives(_parts(text)))
    except SemverError as error:
        raise SemverError(f"{text[:120]!r} is no range of versions: {error}") from error
    return Range(text, alternatives)


def _parts(text: str) -> list[str]:
    """The parts between spaces; a space after a comparison belongs to it."""
    parts: list[str] = []
    begin, before = 0, ""
    for place, character in enumerate(text):
        if character != " ":
            before = character
        elif before not in _GLUES:
            parts.append(text[begin:place])
            begin = place + 1
    parts.append(text[begin:])
    return [part.replace(" ", "") for part in parts if len(part.encode(errors="replace")) > 1]


def _alternatives(parts: list[str]) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for part in parts:
        if part == "||":
            found.append([])
        else:
            found[-1].append(part)
    if not all(found):
        raise SemverError("a side of || is empty" if len(found) > 1 else "it is empty")
    return found


def _bounds(parts: list[str]) -> tuple[Bound, ...]:
    plain = [bound for part in parts for bound in (_expanded(part) if "x" in part else [part])]
    return tuple(_bound(part) for part in plain)


def _bound(part: str) -> Bound:
    sign, version = _split(part)
    if sign not in _COMPARE:
        raise SemverError(f"{sign!r} is no comparison")
    return Bound(sign, parse(version))


def _split(part: str) -> tuple[str, str]:
    """What stands before the first digit, and the rest."""
    begin = next((place for place, character in enumerate(part) if character.isdecimal()), None)
    if begin is None:
        raise SemverError(f"{part[:40]!r} has no version")
    return part[:begin].strip(), part[begin:]


def _expanded(part: str) -> list[str]:
    """A part with a wildcard, as comparisons without."""
    sign, version = _split(part)
    lowest = _lowest(version)
    match sign:
        case ">":
            return [f">={_next(version, lowest)}"]
        case "<=":
            return [f"<{_next(version, lowest)}"]
        case "" | "=" | "==":
            return [f">={lowest}", f"<{_next(version, lowest)}"]
        case "!" | "!=":
            return [f"<{lowest}", f">={_next(version, lowest)}"]
        case ">=" | "<":
            return [f"{sign}{lowest}"]
        case _:
            return [lowest]


def _lowest(version: str) -> str:
    """The lowest version that a wildcard stands for."""
    lowest = version.replace(".x.x", ".x", 1).replace(".x", ".0", 1)
    return f"{lowest}.0" if lowest.count(".") == 1 else lowest


def _next(version: str, lowest: str) -> str:
    """The lowest version that is past all that a wildcard stands for; empty where there is no wildcard."""
    wild = version.split(".")
    raised = {2: 0, 3: 1}.get(len(wild)) if wild[-1] == "x" else None
    parts = lowest.split(".")
    if raised is None or not _SIGNED.fullmatch(parts[raised]):
        return ""
    parts[raised] = str(int(parts[raised]) + 1)
    return ".".join(parts)
