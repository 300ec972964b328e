"""How an upgrade ends: what was made for it is taken away, what was changed is put back, in order.

An abort stops at the next safe point: a control plane that is being upgraded, and goes on, is finished first;
nodes that agents have begun are finished by their layer. Workloads stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shiplift.api.marks import UPGRADE_HOLD, UPGRADE_UID
from shiplift.api.nodes import NodeRollout, RolloutPhase
from shiplift.engine.step import Step
from shiplift.facts.kinds import NODE_ROLLOUT, WORKLOAD_MIGRATION
from shiplift.upgrade.decide import later, leaving, migrating, rolling, telling
from shiplift.upgrade.decide.course import PARTS, Course, is_made
from shiplift.upgrade.model import Line, Reason, View
from shiplift.upgrade.names import CONTROL_PLANE, FINALIZER, rollout_name
from shiplift.upgrade.steps import DeleteRollout, HoldMigration, HoldRollout, MarkOurs, SetFinalizer

_OVER = (RolloutPhase.COMPLETE, RolloutPhase.ABORTED)


def ended(course: Course) -> Line:
    """An upgrade that was aborted, or whose UpgradeConfig is being deleted: the end of that one is on record
    before our finalizer goes, and the object with it."""
    deleted = course.upgrade.metadata.deletion_timestamp is not None
    going, gone = (Reason.DELETED, Reason.DELETED) if deleted else (Reason.ABORTING, Reason.ABORTED)
    if (finishes := _finishes(course)) is not None:
        return _finished_first(course, finishes, going)
    steps = tuple(_undone(course, reached=False))
    if steps or _left(course):
        text = "what was made for the upgrade is taken away; workloads stay where they are"
        return leaving.told(Line(going, text, steps=steps), _kept(course))
    kept = FINALIZER in course.upgrade.metadata.finalizers
    if kept and (unknown := _unknown(course)) is not None:
        return unknown
    if deleted and course.begun:
        return Line(gone, "the upgrade ends here: its UpgradeConfig is being deleted", over=True)
    if kept:
        steps = (SetFinalizer(course.uid, False),)
    text = "the upgrade was aborted" if course.begun or course.last else "aborted before anything was begun"
    return Line(gone, text, steps=steps, over=True)


def _finished_first(course: Course, rollout: NodeRollout, reason: Reason) -> Line:
    """What keeps the control plane keeps the end of the upgrade: whoever would rather leave it half way says
    so to the NodeRollout."""
    name = rollout.metadata.name
    text = f"the control plane is finished first (NodeRollout {name}): {rollout.status.message}"
    late = rolling.late(course, rollout)
    if not rolling.is_stalled(rollout) and not late:
        return Line(reason, text)
    text += late
    return Line(reason, f"{text}; `shiplift abort rollout/{name}` ends the wait", stalled=True)


def _finishes(course: Course) -> NodeRollout | None:
    """The NodeRollout of a control plane that is half way and goes on."""
    rollout = course.rollout(CONTROL_PLANE)
    if rollout is None or rollout not in course.rollouts or rollout.status.start_time is None:
        return None
    stuck = rolling.has_failed(rollout) or rollout.spec.abort or rollout.spec.paused
    over = rollout.status.phase in _OVER or rollout.metadata.deletion_timestamp is not None
    return None if stuck or over or UPGRADE_HOLD in rollout.metadata.annotations else rollout


def cleaned_up(course: Course) -> Line | None:
    """After all is done: nothing of the upgrade is left; None where nothing is."""
    steps = tuple(_undone(course, reached=True))
    if not steps and not _left(course):
        return _unknown(course)
    line = Line(Reason.CLEANING_UP, "what was made for the upgrade is taken away", steps=steps)
    return leaving.told(line, _kept(course))


def _kept(course: Course) -> leaving.Kept | None:
    """What keeps what was made for the upgrade, and is deleted, from going."""
    return leaving.kept(course.now, course.rollouts, migrating.made(course.view))


def _unknown(course: Course) -> Line | None:
    """Of what cannot be read nobody knows whether it is of this upgrade, but by its name."""
    ours = {rollout_name(course.target, part) for part in PARTS}
    for one in course.view.unreadable:
        if one.kind == WORKLOAD_MIGRATION or (one.kind == NODE_ROLLOUT and one.name in ours):
            text = f"what was made for the upgrade may be left: {one}; mend it, or delete it"
            return Line(Reason.UNREADABLE, text, stalled=True)
    return None


def _undone(course: Course, *, reached: bool) -> Iterator[Step]:
    """The migration first: while a NodeRollout ends it evicts nobody whose turn has not come."""
    yield from let_go(course.view)
    yield from telling.forgotten(course)
    yield from migrating.given_back(course.view, course.target, reached=reached)
    yield from deleted(course.rollouts)


def deleted(rollouts: Iterable[NodeRollout]) -> Iterator[Step]:
    """One that is deleted gives its nodes back before it goes, as one that is aborted does."""
    for rollout in rollouts:
        about = rollout.metadata
        if about.deletion_timestamp is None:
            yield DeleteRollout(about.name, about.uid, about.resource_version)


def let_go(view: View) -> Iterator[Step]:
    """Our marks come off what is not ours."""
    migration = view.migration
    if migration is not None and UPGRADE_HOLD in migration.metadata.annotations:
        yield HoldMigration(migration.metadata.uid, "")
    yield from (later.hold(one, "") for one in (*view.services, *view.apps) if one.held)


def _left(course: Course) -> bool:
    view = course.view
    migration = view.migration
    touched = migration is not None and (
        migrating.is_touched(migration) or UPGRADE_HOLD in migration.metadata.annotations
    )
    return bool(course.rollouts) or touched or any(one.held for one in (*view.services, *view.apps))


def orphans(view: View) -> Iterator[Step]:
    """What was made for an UpgradeConfig that is gone, finalizer and all."""
    yield from let_go(view)
    yield from migrating.given_back(view, "", reached=False)
    yield from deleted(filter(is_made, view.rollouts))


def kept_open(course: Course) -> Iterator[SetFinalizer]:
    """Whoever deletes the UpgradeConfig while it runs waits until all is given back, in order."""
    if FINALIZER not in course.upgrade.metadata.finalizers:
        yield SetFinalizer(course.uid, True)


def marks(course: Course) -> Iterator[MarkOurs]:
    """What was made for the upgrade says so twice: whoever takes one mark off leaves the other."""
    made = [(NODE_ROLLOUT, one) for one in course.rollouts]
    migration = migrating.made(course.view)
    for kind, one in (*made, *([(WORKLOAD_MIGRATION, migration)] if migration is not None else [])):
        about = one.metadata
        both = UPGRADE_UID in about.labels and UPGRADE_UID in about.annotations
        if not both and about.deletion_timestamp is None:
            yield MarkOurs(kind, about.name, about.uid, course.uid)


def holds(course: Course) -> Iterator[Step]:
    """Our marks are on what must not begin anything now, and on nothing else."""
    planes = rollout_name(course.target, CONTROL_PLANE)
    for rollout in course.rollouts:
        why = _why_held(course, planes=rollout.metadata.name == planes)
        have = rollout.metadata.annotations.get(UPGRADE_HOLD, "")
        if have != why and rollout.metadata.deletion_timestamp is None:
            yield HoldRollout(rollout.metadata.name, rollout.metadata.uid, why)
    migration = course.view.migration
    if migration is None:
        return
    why = course.rests if migrating.takes_part(course, migration) else ""
    if migration.metadata.annotations.get(UPGRADE_HOLD, "") != why:
        yield HoldMigration(migration.metadata.uid, why)


def _why_held(course: Course, *, planes: bool) -> str:
    """A control plane is never left half-upgraded because its policy is gone."""
    if course.spec.paused or (course.rests and not planes):
        return course.rests
    return "retry" if course.retries else ""
