"""The status of a service, from a view and what was decided; and what of it the next decision reads. Pure.

On record are an operation, before it starts, and why this very spec was given up. A new spec begins without
either.
"""

from __future__ import annotations

from datetime import datetime

from shiplift.api.conditions import stated
from shiplift.api.quorum import Artifact, MemberState, QuorumService, QuorumServiceStatus, QuorumStep
from shiplift.api.quorum import Member as ToldMember
from shiplift.api.values import Operation, Progress
from shiplift.engine import conditions
from shiplift.engine.conditions import Statement
from shiplift.engine.progress import Weight
from shiplift.engine.step import Started
from shiplift.quorum import records
from shiplift.quorum.decide.scene import Scene
from shiplift.quorum.model import Candidate, Line, Member, QuorumDecision, Reason, Validity, View

IMAGE_VERIFIED = "ImageVerified"
"""The condition that says what is known of the image, and what of it is not checked."""
_LONGEST_LINE, _LONGEST_MESSAGE = 256, 4096


def status(
    service: QuorumService, view: View, decision: QuorumDecision, now: datetime
) -> QuorumServiceStatus:
    """What to store."""
    scene, before = Scene(view), service.status
    return QuorumServiceStatus(
        observed_generation=service.metadata.generation,
        conditions=stated(
            before.conditions,
            (*_statements(decision.line), *_verified(view.candidate)),
            generation=service.metadata.generation,
            now=now,
            more=(IMAGE_VERIFIED,) if _says_of_image(service, view) else (),
        ),
        step=decision.step,
        reason=decision.line.reason.value,
        message=decision.line.message[:_LONGEST_MESSAGE],
        current_version=_current(scene)[:_LONGEST_LINE],
        target_version=scene.target[:_LONGEST_LINE],
        artifact=_artifact(view.candidate) or before.artifact,
        progress=Progress.of(len(scene.new), len(view.members)),
        members=tuple(_member(scene, member) for member in view.members),
        operation=_operation(view, decision, before),
        switch_time=now if _is_switch(decision) else _not_later(before.switch_time, now),
        switches=_switches(scene, decision),
        swapping=() if decision.ends else tuple(records.told(view.pools, view.service)),
        refused=_given_up_now(service, decision),
    )


def given_up(service: QuorumService) -> str:
    """Why the spec as it is was given up; empty where it was not."""
    return next(iter(_refused(service)), "")


def recalled(service: QuorumService) -> Candidate | None:
    """What a leader of before has checked, of a service that it left at rest with this very spec."""
    status = service.status
    of_this_spec = status.observed_generation == service.metadata.generation
    if status.artifact is None or status.reason != Reason.AT_TARGET.value or not of_this_spec:
        return None
    image = f"{service.spec.image.partition('@')[0]}@{status.artifact.image_digest}"
    return Candidate(Validity.GOOD, status.artifact.version, image, recalled=True)


def on_record(service: QuorumService) -> Started | None:
    """The operation that was written down."""
    found = service.status.operation
    if found is None:
        return None
    return Started(found.id, found.start_time, found.deadline, found.attempt)


def _refused(service: QuorumService) -> tuple[str, ...]:
    of_this_spec = service.status.observed_generation == service.metadata.generation
    return service.status.refused if of_this_spec else ()


def _given_up_now(service: QuorumService, decision: QuorumDecision) -> tuple[str, ...]:
    """Who is at the target has nothing against it any more."""
    if decision.give_up:
        return (decision.give_up[:_LONGEST_LINE],)
    return () if decision.line.reason is Reason.AT_TARGET else _refused(service)


def _not_later(moment: datetime | None, now: datetime) -> datetime | None:
    """A clock that was ahead would have us wait until ours is there."""
    return min(moment, now) if moment is not None else None


def _statements(line: Line) -> tuple[Statement, ...]:
    message = line.message[:_LONGEST_MESSAGE]
    if line.reason is Reason.AT_TARGET:
        return conditions.ready(line.reason, message)
    return (conditions.stalled if line.stalled else conditions.reconciling)(line.reason, message)


def _says_of_image(service: QuorumService, view: View) -> bool:
    """What was said of the image of this very spec stays until it is looked at again."""
    of_this_spec = service.status.observed_generation == service.metadata.generation
    looked_at = view.candidate.validity is not Validity.UNKNOWN and not view.candidate.recalled
    return looked_at or not of_this_spec


def _verified(candidate: Candidate) -> tuple[Statement, ...]:
    """Of an image that was not looked at yet nothing is said."""
    if candidate.recalled:
        return ()
    if candidate.validity is Validity.REFUSED:
        reason, state, message = Reason.IMAGE_REFUSED, conditions.Status.FALSE, candidate.message
    elif candidate.validity is Validity.GOOD and candidate.notes:
        reason, state, message = (
            Reason.PARTLY_VERIFIED,
            conditions.Status.TRUE,
            "signature and checksum of the binary hold; " + "; ".join(candidate.notes),
        )
    elif candidate.validity is Validity.GOOD:
        reason, state, message = (
            Reason.VERIFIED,
            conditions.Status.TRUE,
            "the image's signature, and signature, checksum and version of the binary hold",
        )
    else:
        return ()
    return (Statement(IMAGE_VERIFIED, state, reason, message[:_LONGEST_MESSAGE]),)


def _artifact(candidate: Candidate) -> Artifact | None:
    if candidate.validity is not Validity.GOOD or not candidate.digest or not candidate.sha256:
        return None
    return Artifact(
        image_digest=candidate.digest,
        sha256=candidate.sha256,
        version=candidate.version,
        verify_time=candidate.verified.replace(microsecond=0) if candidate.verified else None,
    )


def _essence(status: QuorumServiceStatus) -> object:
    """What decisions, or people who wait, depend on."""
    said = tuple((one.type, one.status, one.reason) for one in status.conditions)
    return (
        status.observed_generation,
        status.step,
        status.reason,
        status.operation,
        status.switches,
        status.swapping,
        status.refused,
        status.target_version,
        said,
    )


WEIGHT = Weight[QuorumServiceStatus](_essence, ("members", "progress", "message"))


def _current(scene: Scene) -> str:
    """What all run, or the oldest that one of them runs."""
    ranks = scene.view.order.ranks
    said = [member.told.version for member in scene.view.members if member.told]
    return min(said, key=lambda version: ranks.get(version, -1), default="")


def _member(scene: Scene, member: Member) -> ToldMember:
    return ToldMember(
        pod=member.name,
        state=_state(scene, member),
        uid=member.uid or None,
        version=(member.told.version if member.told else "")[:_LONGEST_LINE],
        message=(member.why_silent or member.trouble)[:_LONGEST_MESSAGE],
    )


def _state(scene: Scene, member: Member) -> MemberState:
    if member.told is None:
        return MemberState.UNKNOWN
    if scene.runs_target(member):
        return MemberState.RECREATED if member.image == scene.image else MemberState.NEW
    return MemberState.STAGED if member.uid in scene.view.staged else MemberState.OLD


def _operation(view: View, decision: QuorumDecision, before: QuorumServiceStatus) -> Operation | None:
    """As recorded, until another is, or the service rests, or all is put back of what was given up: who tries
    again begins with the first attempt."""
    record = decision.record
    if record is None:
        over = decision.step is QuorumStep.IDLE or (view.given_up and Scene(view).swap is None)
        return None if over else before.operation
    return Operation(
        id=record.id,
        name=decision.line.message[:_LONGEST_LINE],
        start_time=record.started,
        deadline=record.deadline,
        attempt=record.attempt,
    )


def _is_switch(decision: QuorumDecision) -> bool:
    """Whether a switch is written down, before it happens."""
    return decision.record is not None and decision.record.id.startswith("switch-")


def _switches(scene: Scene, decision: QuorumDecision) -> int | None:
    """Counted from when nothing is under way; in a swap that began before anybody counted, from the next."""
    if scene.swap is None:
        return 0
    return (scene.view.switches or 0) + 1 if _is_switch(decision) else scene.view.switches
