"""Watches while something runs, and makes the journal of what it hears.

The reader's thread only puts news into a queue, and only while something runs: then what there is is looked
at once, and news are taken in from there. Nothing is written down before the journal of the last leader was
read."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Protocol, cast

import msgspec

from shiplift.api.nodes import NodeRollout
from shiplift.api.upgrade import UpgradeConfig
from shiplift.api.workloads import WorkloadMigration
from shiplift.engine.layer import Retry
from shiplift.engine.step import Outcomes
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.journal.book import Book
from shiplift.journal.model import Chapter, Journal, News, Running, View
from shiplift.journal.running import Objects, ending, running
from shiplift.journal.story import OBJECTS, READS, Story, ended
from shiplift.journal.writing import fitting
from shiplift.kube.errors import KubeError
from shiplift.kube.store import Snapshot


class Snapshots(Protocol):
    """What is asked of the store."""

    def snapshot(self, *of: Kind) -> Snapshot: ...


class Observer:
    """Looks, from one thread; hears, from others."""

    def __init__(self, store: Snapshots, book: Book, now: Callable[[], datetime]) -> None:
        self._store, self._book, self._time = store, book, now
        self._news: deque[News] = deque()
        self._recording = False
        self._journal: Journal | None = None
        self._story: Story | None = None

    def heard(self, kind: Kind, old: Row | None, new: Row | None) -> None:
        """On the reader's thread."""
        if self._recording:
            self._news.append(News(self._now(), kind, old, new))

    def observe(self, outcomes: Outcomes) -> View:
        kept = self._kept()
        now, objects = self._now(), _objects(self._store.snapshot(*OBJECTS))
        runs = running(objects, now)
        journal = self._told(self._journal if self._journal is not None else kept, runs, objects, now)
        self._journal = fitting(journal)
        return View(
            journal=self._journal,
            kept=kept,
            kept_at=self._book.kept_at,
            recording=self._story is not None,
            outcomes=outcomes,
        )

    def _now(self) -> datetime:
        """Nobody reads what happened within a second."""
        return self._time().replace(microsecond=0)

    def _kept(self) -> Journal:
        try:
            return self._book.kept()
        except KubeError as error:
            raise Retry(f"the journal cannot be read: {error}") from error

    def _told(self, journal: Journal, runs: Running | None, objects: Objects, now: datetime) -> Journal:
        """With all that was heard by now, and the chapter of what runs open."""
        newest = journal.chapters[0] if journal.chapters else None
        if newest is not None and newest.end is None and (runs is None or not runs.is_told_in(newest)):
            newest = ended(self._taken_in(newest), ending(newest, objects), now)
            journal = msgspec.structs.replace(journal, chapters=(newest, *journal.chapters[1:]))
            self._rest()
        if runs is None:
            return journal
        if newest is None or newest.end is not None:
            newest = Chapter(about=runs.about, target=runs.target, start=runs.start, preceding=runs.preceding)
            journal = msgspec.structs.replace(journal, chapters=(newest, *journal.chapters))
        if self._story is None:
            self._begin(newest)
        return msgspec.structs.replace(journal, chapters=(self._taken_in(newest), *journal.chapters[1:]))

    def _begin(self, chapter: Chapter) -> None:
        """News are heard before what there is is looked at: what is in both is told once."""
        self._recording = True
        self._story = Story(chapter)
        self._story.found(self._now(), _rows(self._store.snapshot(*READS)))

    def _rest(self) -> None:
        self._recording = False
        self._story = None
        self._news.clear()

    def _taken_in(self, chapter: Chapter) -> Chapter:
        if self._story is None:
            return chapter
        while self._news:
            self._story.heard(self._news.popleft())
        return self._story.chapter()


def _rows(snapshot: Snapshot) -> Iterator[tuple[Kind, Row]]:
    for kind in READS:
        for row in snapshot.rows(kind):
            yield kind, row


def _objects(snapshot: Snapshot) -> Objects:
    def all_of(kind: Kind) -> list[object]:
        return [row.object for row in snapshot.customs(kind)]

    upgrades = cast("list[UpgradeConfig]", all_of(kinds.UPGRADE_CONFIG))
    migrations = cast("list[WorkloadMigration]", all_of(kinds.WORKLOAD_MIGRATION))
    return Objects(
        upgrade=next(iter(upgrades), None),
        migration=next(iter(migrations), None),
        rollouts=cast("list[NodeRollout]", all_of(kinds.NODE_ROLLOUT)),
    )
