"""What was made for an UpgradeConfig that is gone without its end (somebody took our finalizer off, and made
another): it goes before anything is begun for the new one."""

from __future__ import annotations

from datetime import timedelta

from shiplift.upgrade.decide import ending, leaving, migrating
from shiplift.upgrade.decide.course import PARTS, Course, is_made, is_ours
from shiplift.upgrade.model import Line, Reason, Stage
from shiplift.upgrade.names import rollout_name

_LOOK_AGAIN = timedelta(seconds=30)
"""No event tells that something has not gone for long."""


def gone(course: Course) -> Line | None:
    """None where nothing is left. Before its start nothing here is of this UpgradeConfig, but what an upgrade
    to the same version has left where somebody took its status away: that one goes on."""
    own = {rollout_name(course.target, part) for part in PARTS}
    rollouts = [
        one
        for one in course.view.rollouts
        if is_made(one) and not (is_ours(one, course.uid) and one.metadata.name in own)
    ]
    migration = course.view.migration
    touched = migration is not None and migrating.is_touched(migration)
    marks = tuple(ending.let_go(course.view))
    if not rollouts and not touched and not marks:
        return None
    given_back = migrating.given_back(course.view, course.target, reached=False)
    text = "what was made for an upgrade that is gone is taken away first"
    steps = (*marks, *given_back, *ending.deleted(rollouts))
    line = Line(Reason.BUSY, text, steps=steps, due=course.now + _LOOK_AGAIN, at=Stage.VALID)
    return leaving.told(line, leaving.kept(course.now, rollouts, migrating.made(course.view)))
