"""The journal as it is kept, and what the layer sees; pure values.

A chapter is one upgrade, or one move of workloads or rollout that nobody conducts. Everything in it is
bounded; what there was no room for is counted, and when nobody watched is said."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

import msgspec

from shiplift.engine.decision import Decision
from shiplift.engine.step import Outcomes, Step
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row

MOST_CHAPTERS = 8
MOST_NODES = 1000
MOST_WORKLOADS = 1500
MOST_ENTRIES = 200
"""Of a chapter as a whole."""
MOST_EACH = 16
"""Entries, and waits, of one node or workload."""
MOST_EXCEPTIONS = 256
MOST_GAPS = 32
LONGEST = 300
"""Characters of one text."""
MOST_BYTES = 700_000
"""Of the whole journal: a ConfigMap holds a mebibyte."""


class Stored(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Something of the journal."""


class Entry(Stored, frozen=True, kw_only=True):
    """Something that happened."""

    at: datetime
    text: str


class Wait(Stored, frozen=True, kw_only=True):
    """Something was waited for."""

    start: datetime
    end: datetime | None = None
    """None where it is waited for still, or nobody saw the end."""
    reason: str
    cause: str = ""
    about: str = ""
    """What waited; empty where the wait is told with what waited."""


class NodeStory(Stored, frozen=True, kw_only=True):
    """What happened to one node."""

    name: str
    was: str = ""
    """The version that it ran when it was first seen."""
    runs: str = ""
    """The version that it ran when it was last seen."""
    entries: tuple[Entry, ...] = ()
    waits: tuple[Wait, ...] = ()
    more: int = 0
    """Entries and waits that there was no room for."""


class Least(Stored, frozen=True, kw_only=True):
    """The moment at which the smallest share of a workload's pods was Ready."""

    ready: int
    of: int
    """So many it needed: its replicas, and while these are being raised those that it had reached."""
    at: datetime


class WorkloadStory(Stored, frozen=True, kw_only=True):
    """What happened to one workload."""

    name: str
    """`<Kind> <namespace>/<name>`."""
    least: Least | None = None
    """None where it never needed a pod."""
    moves: int = 0
    """How many pods of it were given a node."""
    last_move: datetime | None = None
    entries: tuple[Entry, ...] = ()
    waits: tuple[Wait, ...] = ()
    more: int = 0
    """Entries and waits that there was no room for."""


class Exempt(Stored, frozen=True, kw_only=True):
    """A pod that had to move before its turn."""

    pod: str
    workload: str
    reason: str
    at: datetime


class Gap(Stored, frozen=True, kw_only=True):
    """Nobody watched: no operator led, or what it saw was not kept."""

    start: datetime
    end: datetime


class Chapter(Stored, frozen=True, kw_only=True):
    """One upgrade, or one move or rollout that nobody conducts."""

    about: str
    """The object that asked for it."""
    target: str
    start: datetime
    preceding: str = ""
    end: datetime | None = None
    """None while it runs."""
    outcome: str = ""
    seen: datetime | None = None
    """Up to when it was written down."""
    entries: tuple[Entry, ...] = ()
    waits: tuple[Wait, ...] = ()
    nodes: tuple[NodeStory, ...] = ()
    workloads: tuple[WorkloadStory, ...] = ()
    exceptions: tuple[Exempt, ...] = ()
    gaps: tuple[Gap, ...] = ()
    left_out: Mapping[str, int] = {}
    """By what it is: how much there was no room for."""


class Journal(Stored, frozen=True, kw_only=True):
    """The chapters, the newest first."""

    chapters: tuple[Chapter, ...] = ()
    forgotten: int = 0
    """Chapters that there was no room for."""
    damaged: bool = False
    """Whether what was kept before could not be read."""


class Running(NamedTuple):
    """What a chapter is about."""

    about: str
    target: str
    start: datetime
    preceding: str = ""

    def is_told_in(self, chapter: Chapter) -> bool:
        return (self.about, self.target, self.start) == (chapter.about, chapter.target, chapter.start)


class Ending(NamedTuple):
    """How a chapter ended, and when."""

    outcome: str
    at: datetime | None = None
    """None where nobody wrote it down."""


class News(NamedTuple):
    """A change, and when it was heard of."""

    at: datetime
    kind: Kind
    old: Row | None
    new: Row | None


class View(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known."""

    journal: Journal
    kept: Journal
    """As it is stored."""
    kept_at: datetime | None = None
    """When it was stored by this process; None where it was not yet."""
    recording: bool = False
    outcomes: Outcomes = Outcomes()


class KeepJournal(Step, frozen=True):
    """The journal is written down."""

    journal: Journal

    @property
    def key(self) -> str:
        return "keep journal"

    def describe(self) -> str:
        return f"keep the journal: {len(self.journal.chapters)} chapters"


class Keeping(Decision, frozen=True):
    """What follows: the journal is kept, or is as it was kept."""
