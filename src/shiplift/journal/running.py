"""What runs, and how what ran has ended: the UpgradeConfig where there is one, else the move of workloads,
else the NodeRollouts. What an upgrade makes is told in its own chapter."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from shiplift.api.nodes import NodeRollout, RolloutPhase
from shiplift.api.upgrade import UpgradeConfig
from shiplift.api.workloads import MigrationState, WorkloadMigration
from shiplift.journal.model import Chapter, Ending, Running

_UPGRADE, _MIGRATION, _ROLLOUT = "UpgradeConfig ", "WorkloadMigration ", "NodeRollout "
_OVER = (RolloutPhase.COMPLETE, RolloutPhase.ABORTED)
UNSEEN = "its end was not seen"


class Objects(msgspec.Struct, frozen=True):
    """What says that something runs."""

    upgrade: UpgradeConfig | None = None
    migration: WorkloadMigration | None = None
    rollouts: Sequence[NodeRollout] = ()


def running(objects: Objects, now: datetime) -> Running | None:
    """What runs; None where nothing does."""
    return _upgrade(objects.upgrade, now) or _migration(objects.migration, now) or _rollout(objects.rollouts)


def _upgrade(one: UpgradeConfig | None, now: datetime) -> Running | None:
    if one is None or one.status.target_version is None:
        return None
    status = one.status
    last = status.history[0] if status.history else None
    came_from = (last.preceding_version if last else None) or ""
    about = f"{_UPGRADE}{one.metadata.name}"
    return Running(about, status.target_version or "", status.start_time or now, came_from)


def _migration(one: WorkloadMigration | None, now: datetime) -> Running | None:
    if one is None or one.status.state is not MigrationState.UPGRADE:
        return None
    about = f"{_MIGRATION}{one.metadata.name}"
    return Running(about, one.status.target or "", one.status.started_at or now)


def _rollout(rollouts: Sequence[NodeRollout]) -> Running | None:
    """The one that was begun first."""
    begun = [
        (one.status.start_time, one)
        for one in rollouts
        if one.status.start_time is not None and one.status.phase not in _OVER
    ]
    if not begun:
        return None
    start, first = min(begun, key=lambda pair: (pair[0], pair[1].metadata.name))
    return Running(f"{_ROLLOUT}{first.metadata.name}", first.spec.version or "software", start)


def ending(chapter: Chapter, objects: Objects) -> Ending:
    """How the chapter ended, as far as its object says."""
    if chapter.about.startswith(_UPGRADE):
        return _upgrade_ending(chapter, objects.upgrade)
    if chapter.about.startswith(_MIGRATION):
        return _migration_ending(chapter, objects.migration)
    name = chapter.about.removeprefix(_ROLLOUT)
    found = next((one for one in objects.rollouts if one.metadata.name == name), None)
    if found is None or found.status.phase is None or found.status.start_time != chapter.start:
        return Ending(UNSEEN)
    return Ending(found.status.phase.value, found.status.complete_time)


def _upgrade_ending(chapter: Chapter, one: UpgradeConfig | None) -> Ending:
    history = one.status.history if one is not None else ()
    found = next((entry for entry in history if entry.start_time == chapter.start), None)
    if found is None:
        return Ending("its UpgradeConfig is gone" if one is None else UNSEEN)
    return Ending(found.phase.value, found.complete_time)


def _migration_ending(chapter: Chapter, one: WorkloadMigration | None) -> Ending:
    last = one.status.last if one is not None else None
    if last is None or last.target != chapter.target or last.start_time != chapter.start:
        return Ending("its WorkloadMigration is gone" if one is None else UNSEEN)
    return Ending(last.outcome.value, last.complete_time)
