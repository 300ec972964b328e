"""A chapter while it is being written: news in, the chapter out. It knows no clock, no cluster and no
storage.

News are taken in the order in which they were heard. One that is older than what was found when the watch
began changes nothing, so nothing is counted twice."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import cast

import msgspec

from shiplift.api.nodes import NodeRollout
from shiplift.api.upgrade import UpgradeConfig
from shiplift.api.workloads import MigrationState, WorkloadMigration
from shiplift.facts import kinds
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import Kind
from shiplift.facts.meta import Row
from shiplift.facts.nodes import Node
from shiplift.facts.pods import Pod
from shiplift.facts.workloads import Deployment, StatefulSet
from shiplift.journal.course import CourseStory
from shiplift.journal.model import MOST_GAPS, Chapter, Ending, Gap, News, Wait
from shiplift.journal.nodes import NodeStories
from shiplift.journal.workloads import WorkloadStories

READS = (
    kinds.UPGRADE_CONFIG,
    kinds.NODE_ROLLOUT,
    kinds.WORKLOAD_MIGRATION,
    kinds.NODE,
    kinds.POD,
    kinds.DEPLOYMENT,
    kinds.STATEFUL_SET,
)
OBJECTS = READS[:3]
_OWNERS = (kinds.DEPLOYMENT, kinds.STATEFUL_SET)
_BLINK = timedelta(seconds=10)
"""So long nobody may have watched without that being told: what is kept is always a little older."""


class Story:
    """From its chapter as it was kept, or empty; from one thread."""

    def __init__(self, chapter: Chapter) -> None:
        self._begun = chapter
        self._course = CourseStory(chapter)
        self._nodes = NodeStories(chapter.nodes)
        self._workloads = WorkloadStories(chapter.start, chapter.workloads)
        self._gaps = chapter.gaps
        self._seen: dict[str, int] = {}

    def found(self, at: datetime, rows: Iterable[tuple[Kind, Row]]) -> None:
        """All that there is when the watch begins. Nobody watched since it was last written down; where it
        never was, or that is lost, since it started."""
        since = self._begun.seen or self._begun.start
        if at - since > _BLINK:
            gap = Gap(start=since, end=at)
            self._gaps = (*self._gaps, gap)[-MOST_GAPS:]
        everything = list(rows)
        for kind, row in everything:
            if kind == kinds.NODE:
                self._nodes.found(at, cast("Node", row))
        pods = [cast("Pod", row) for kind, row in everything if kind == kinds.POD]
        owners = [cast("Deployment | StatefulSet", row) for kind, row in everything if kind in _OWNERS]
        self._workloads.found(at, pods, owners)
        for kind, row in everything:
            if kind in OBJECTS:
                self._object(News(at, kind, None, row))

    def heard(self, news: News) -> None:
        at, kind, old, new = news
        if kind == kinds.POD:
            self._workloads.heard(at, cast("Pod | None", old), cast("Pod | None", new))
        elif kind == kinds.NODE:
            self._nodes.heard(at, cast("Node | None", old), cast("Node | None", new))
        elif kind in _OWNERS:
            owner = cast("Deployment | StatefulSet | None", new)
            self._workloads.scaled(at, cast("Deployment | StatefulSet | None", old), owner)
        elif kind in OBJECTS:
            self._object(news)

    def _object(self, news: News) -> None:
        at, kind, old, new = news
        if new is None:
            if old is not None:
                self._gone(at, kind, old.name)
            return
        if self._seen.get(new.uid, 0) >= new.resource_version:
            return
        self._seen[new.uid] = new.resource_version
        found = cast("Custom", new).object
        match found:
            case UpgradeConfig():
                self._course.upgrade(at, found)
            case NodeRollout():
                self._course.rollout(at, found)
                self._nodes.recorded(at, found)
            case WorkloadMigration():
                self._course.migration(at, found)
                self._turns(at, found)
            case _:
                pass

    def _turns(self, at: datetime, migration: WorkloadMigration) -> None:
        """At its end it tells of nobody, and who it had told of before has moved."""
        status = migration.status
        if status.state is MigrationState.UPGRADE or status.met:
            self._workloads.turned(at, status)
        else:
            self._workloads.forget_turns(at)

    def _gone(self, at: datetime, kind: Kind, name: str) -> None:
        self._course.gone(at, "the upgrade" if kind == kinds.UPGRADE_CONFIG else f"{kind} {name}")
        if kind == kinds.NODE_ROLLOUT:
            self._nodes.forget(at, name)
        elif kind == kinds.WORKLOAD_MIGRATION:
            self._workloads.forget_turns(at)

    def chapter(self) -> Chapter:
        """All that was told so far."""
        course = self._course
        left = {
            "entries": course.left_out,
            "nodes": self._nodes.left_out,
            "workloads": self._workloads.left_out,
            "exceptions": course.exceptions_left_out,
        }
        before = self._begun.left_out
        return msgspec.structs.replace(
            self._begun,
            entries=course.told.entries,
            waits=course.waits,
            nodes=self._nodes.told(),
            workloads=self._workloads.told(),
            exceptions=course.exceptions,
            gaps=self._gaps,
            left_out={what: many for what in left if (many := left[what] + before.get(what, 0))},
        )


def ended(chapter: Chapter, ending: Ending, now: datetime) -> Chapter:
    """With its end; what waited still has waited until then."""
    end = ending.at or now
    return msgspec.structs.replace(
        chapter,
        end=end,
        outcome=ending.outcome,
        seen=now,
        waits=_over(chapter.waits, end),
        nodes=tuple(msgspec.structs.replace(one, waits=_over(one.waits, end)) for one in chapter.nodes),
        workloads=tuple(
            msgspec.structs.replace(one, waits=_over(one.waits, end)) for one in chapter.workloads
        ),
    )


def _over(waits: Iterable[Wait], end: datetime) -> tuple[Wait, ...]:
    return tuple(
        msgspec.structs.replace(one, end=max(end, one.start)) if one.end is None else one for one in waits
    )
