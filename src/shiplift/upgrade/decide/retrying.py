"""Trying again what has failed: NodeRollouts that stopped are held until they have let go of what failed, and
those that somebody aborted are deleted, so that new ones are made."""

from __future__ import annotations

from collections.abc import Iterator

from shiplift.engine.step import Step
from shiplift.upgrade.decide import rolling
from shiplift.upgrade.decide.course import Course
from shiplift.upgrade.model import Line, Reason
from shiplift.upgrade.steps import DeleteRollout


def let_go(course: Course) -> Line | None:
    """What has failed is let go; None where nothing is left that has, or nobody asked."""
    if not course.retries:
        return None
    steps = tuple(_deleted(course))
    failed = [one.metadata.name for one in course.rollouts if one.spec.abort or rolling.has_failed(one)]
    if not steps and not failed:
        return None
    return Line(Reason.RETRYING, f"what has failed is let go: NodeRollout {failed[0]}", steps=steps)


def _deleted(course: Course) -> Iterator[Step]:
    for rollout in course.rollouts:
        about = rollout.metadata
        if rollout.spec.abort and about.deletion_timestamp is None:
            yield DeleteRollout(about.name, about.uid, about.resource_version)
