"""Plain values that every layer tells of itself with; they look the same whoever tells them.

Texts that others wrote go through `plain`: one line of printable characters, so that whoever shows it need
not fear for the terminal. Times are seconds from now.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from shiplift.api.values import Estimate, Progress

PATIENCE = 15
"""Seconds for which a Lease of an operator is good: one that has not renewed it for longer is not there."""


class Heard(msgspec.Struct, frozen=True):
    """What the operator's Lease says of it: when it was last renewed, since 1970, and why it does not act."""

    at: int
    not_acting: str = ""
    gone: bool = False
    """Whether the operator has let go of its Lease: it has ended in order."""
    patience: int = PATIENCE

    def silent(self, now: int) -> int | None:
        """For how long nobody has led, where nobody does."""
        quiet = max(0, now - self.at)
        return quiet if self.gone or quiet > self.patience else None


class Share(msgspec.Struct, frozen=True):
    """How many of how many."""

    done: int = 0
    total: int = 0

    @classmethod
    def of(cls, progress: Progress) -> Share:
        return cls(progress.done, progress.total)

    def __str__(self) -> str:
        return f"{self.done}/{self.total}"


class Eta(msgspec.Struct, frozen=True):
    """In how many seconds it is expected to end; the bounds are equal where there are none."""

    likely: int
    earliest: int
    latest: int

    @classmethod
    def of(cls, estimate: Estimate, now: int) -> Eta:
        likely = _until(estimate.likely, now)
        earliest = _until(estimate.earliest, now) if estimate.earliest else likely
        return cls(likely, earliest, _until(estimate.latest, now) if estimate.latest else likely)


class Problem(msgspec.Struct, frozen=True):
    """What a person has to look at; `kind` is the layer's word for its sort."""

    kind: str
    text: str


def plain(text: str) -> str:
    """One line that does nothing to a terminal, whoever wrote it."""
    return "".join(letter if letter.isprintable() else " " for letter in text).strip()


def ago(moment: datetime | None, now: int) -> int | None:
    """For how many seconds it has been so."""
    return max(0, now - int(moment.timestamp())) if moment else None


def _until(moment: datetime, now: int) -> int:
    return max(0, int(moment.timestamp()) - now)
