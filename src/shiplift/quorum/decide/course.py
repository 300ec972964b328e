"""The course of a swap, from what is wanted to every pod made anew.

What is kept true: nothing is written while a gate before it is shut; nothing is switched before every server
has the binary; no pod is made anew for good while a server runs the old version; of pods one at a time goes,
and only while the service says that it may; a swap that switched nobody can be put back, one that switched
somebody only goes forward.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec

from shiplift.api.quorum import QuorumStep
from shiplift.engine import contested
from shiplift.engine.decision import LookAgain, await_change, requeue
from shiplift.engine.retries import failures, only_due, wait
from shiplift.engine.step import Answer, Operation, Started, Step
from shiplift.quorum.decide import gates
from shiplift.quorum.decide.scene import Scene, names
from shiplift.quorum.model import Line, Member, Pool, QuorumDecision, Reason, Swap, Validity, View
from shiplift.quorum.steps import (
    Begin,
    DeletePod,
    Finish,
    LiftHold,
    PutBack,
    Rehearse,
    SetFinalizer,
    Stage,
    Switch,
    Validate,
)

VALIDATE_LIMIT = timedelta(minutes=15)
REHEARSE_LIMIT = timedelta(minutes=3)
STAGE_LIMIT = timedelta(minutes=10)
SWITCH_LIMIT = timedelta(minutes=10)
MOST_ATTEMPTS = 20
"""At staging: real servers garble one good file in seven, and on a busy computer eight in a row."""
_SOON = timedelta(seconds=2)
"""Servers announce nothing: what they say is asked for again."""
_NOW_AND_THEN = timedelta(seconds=30)


def decide(view: View, now: datetime) -> QuorumDecision:
    """Pure."""
    scene = Scene(view)
    decision = _not_begun(scene, now) if scene.swap is None else _begun(scene, scene.swap, now)
    decision = _with_failures(scene, decision)
    return only_due(
        decision,
        lambda step: max(wait(view.outcomes, step, now), contested.wait(view.changes, step, now)),
    )


def _with_failures(scene: Scene, decision: QuorumDecision) -> QuorumDecision:
    """What is refused again and again is said instead of what was going to be done."""
    if decision.line.stalled:
        return decision
    said = next(failures(scene.view.outcomes, decision.steps), "")
    undone = next(contested.told(scene.view.changes, decision.steps), "")
    if undone:
        line = Line(Reason.MANAGED_ELSEWHERE, undone, stalled=True)
        # once somebody is switched the others have to follow, whoever writes there
        steps = decision.steps if scene.new else ()
        return msgspec.structs.replace(decision, line=line, steps=steps, look_again=requeue(_NOW_AND_THEN))
    if not said or isinstance(decision.steps[0], Operation):
        return decision
    return msgspec.structs.replace(decision, line=Line(Reason.STEP_FAILED, said, stalled=True))


def _not_begun(scene: Scene, now: datetime) -> QuorumDecision:
    view = scene.view
    if view.deleting:
        line = Line(Reason.AT_TARGET, "nothing is under way")
        steps = (SetFinalizer(view.uid, present=False),) if view.kept else ()
        return _act(QuorumStep.IDLE, line, steps)
    if line := gates.first(gates.BEFORE, scene):
        return _rest(QuorumStep.VALIDATE, line)
    if view.candidate.validity is Validity.GOOD and _at_target(scene):
        return _rest(QuorumStep.IDLE, Line(Reason.AT_TARGET, f"all servers run {scene.target}"))
    if view.wanted.paused:
        return _rest(QuorumStep.VALIDATE, Line(Reason.PAUSED, "paused: nothing is begun"), await_change())
    if view.candidate.validity is Validity.UNKNOWN:
        return _validating(scene, view.wanted.image, now)
    return _beginning(scene, now)


def _validating(scene: Scene, image: str, now: datetime) -> QuorumDecision:
    failed = scene.view.outcomes.last.get(f"validate {image}")
    trouble = f"; the last attempt: {failed.message}" if failed is not None and not failed.ok else ""
    line = Line(Reason.VALIDATING, f"{image} is pulled and checked{trouble}")
    if failed is not None and failed.answer is Answer.FAILED:
        line = Line(Reason.STEP_FAILED, f"{image} cannot be checked: {failed.message}", stalled=True)
    make = _validate(image)
    return _operate(scene, now, "validate", VALIDATE_LIMIT, QuorumStep.VALIDATE, line, make)


def _beginning(scene: Scene, now: datetime) -> QuorumDecision:
    in_place = not gates.recreates(scene)
    line = gates.first(gates.BEGINNING, scene)
    if line is None and in_place:
        line = gates.first(gates.IN_PLACE, scene)
    if line is not None:
        return _rest(QuorumStep.VALIDATE, line)
    if in_place and scene.old and not _rehearsed(scene):
        return _rehearsing(scene, now)
    if not scene.view.kept:
        line = Line(Reason.UPDATING_STATEFUL_SETS, "all is well: the swap begins")
        return _act(QuorumStep.VALIDATE, line, (SetFinalizer(scene.view.uid, present=True),))
    return _update_sets(scene)


def _rehearsed(scene: Scene) -> bool:
    return all(member.uid in scene.view.rehearsed for member in scene.view.members)


def _rehearsing(scene: Scene, now: datetime) -> QuorumDecision:
    """Servers answer for each other: the first passes it on."""
    through = scene.old[0]
    line = Line(Reason.REHEARSING, f"servers show that they could fetch and write {scene.target}")
    failed = scene.view.outcomes.last.get(f"rehearse {scene.target}")
    if failed is not None and not failed.ok:
        line = Line(Reason.REHEARSAL_FAILED, failed.message, stalled=failed.answer is Answer.FAILED)
    make = _rehearse(scene, through)
    return _operate(scene, now, "rehearse", REHEARSE_LIMIT, QuorumStep.VALIDATE, line, make)


def _at_target(scene: Scene) -> bool:
    """Whoever runs the version, under a name that means the image, is not made anew for the name's sake."""
    image = scene.image
    as_wanted = all(_names_same(pool.image, image) and not pool.on_delete for pool in scene.view.pools)
    made_of_it = all(_names_same(member.image, image) for member in scene.view.members)
    return as_wanted and made_of_it and len(scene.new) == len(scene.view.members)


def _update_sets(scene: Scene) -> QuorumDecision:
    pools = scene.unmarked or scene.altered or scene.not_held
    steps = tuple(_begin(scene, pool) for pool in pools)
    line = Line(Reason.UPDATING_STATEFUL_SETS, f"pods made anew will run {scene.image}")
    return _act(QuorumStep.UPDATE_STATEFUL_SETS, line, steps)


def _begin(scene: Scene, pool: Pool) -> Begin:
    before = pool.swap.before if pool.swap else pool.image
    running = next((member.told.version for member in scene.old if member.told), "")
    recreate = scene.swap.recreate if scene.swap else gates.recreates(scene)
    return Begin(pool.name, pool.uid, scene.target, scene.image, before, running, recreate)


def _begun(scene: Scene, swap: Swap, now: datetime) -> QuorumDecision:
    if scene.silent:
        return _rest(_where(scene), _silence(scene), requeue(_SOON))
    if _goes_back(scene, swap, now):
        return _put_back(scene)
    if scene.unmarked or scene.altered or (scene.old and scene.not_held):
        # a server that is old again, after all were new: whoever drains must not come in between
        return _update_sets(scene)
    if blocked := _blocked(scene):
        return _replace(blocked)
    if scene.old and (swap.recreate or gates.recreates(scene)):
        return _recreate_all(scene)
    return _in_place(scene, now) if scene.old else _all_new(scene)


def _goes_back(scene: Scene, swap: Swap, now: datetime) -> bool:
    """Only while nobody runs the new version, nobody is about to, and no pod would come back with it."""
    view = scene.view
    committed = scene.new or any(member.image == swap.image for member in view.members)
    switching = _is_at(view.operation, "switch", scene) and not _over(view.operation, now)
    refused = view.candidate.validity is Validity.REFUSED
    unwanted = (
        view.deleting or bool(view.given_up) or not _names_same(view.wanted.image, swap.image) or refused
    )
    return unwanted and not committed and not switching


def _over(record: Started | None, now: datetime) -> bool:
    """Whether what a record is of has ended for certain: its time is up."""
    return record is None or record.overdue(now)


def _names_same(wanted: str, image: str) -> bool:
    return image == wanted or image.startswith(f"{wanted}@")


def _put_back(scene: Scene) -> QuorumDecision:
    marked = (pool for pool in scene.view.pools if pool.swap is not None)
    steps = tuple(PutBack(pool.name, pool.uid) for pool in marked)
    line = Line(Reason.PUTTING_BACK, f"nothing runs {scene.target} yet: all is put back to what it was")
    return _act(QuorumStep.UPDATE_STATEFUL_SETS, line, steps)


def _blocked(scene: Scene) -> tuple[Member, ...]:
    """They restarted with the old binary after others had switched: no API can help them."""
    stuck = (member for member in scene.old if member.told and not member.told.serving)
    return tuple(member for member in stuck if scene.new and member.image != scene.image)


def _replace(blocked: tuple[Member, ...]) -> QuorumDecision:
    why = "whose container restarted with the old binary"
    line = Line(Reason.REPLACING_RESTARTED, f"{names(blocked)} came back with the old binary")
    return _act(
        QuorumStep.SWITCH, line, tuple(_delete(member, why) for member in blocked if not member.leaving)
    )


def _recreate_all(scene: Scene) -> QuorumDecision:
    staying = tuple(member for member in scene.not_made_anew if not member.leaving)
    line = Line(Reason.RECREATING, f"all pods are made anew at once, with {scene.target}")
    return _act(QuorumStep.SWITCH, line, tuple(_delete(member, "with all others") for member in staying))


def _in_place(scene: Scene, now: datetime) -> QuorumDecision:
    view, through = scene.view, _through(scene)
    if through is None:
        return _rest(QuorumStep.STAGE, _silence(scene), requeue(_SOON))
    if view.wanted.paused and not scene.new:
        return _rest(QuorumStep.STAGE, Line(Reason.PAUSED, "paused: nothing is switched"), await_change())
    if view.candidate.validity is Validity.UNKNOWN:
        # whoever leads since has what was kept, at best: it is checked again before anybody gets it
        return _validating(scene, scene.image, now)
    if view.candidate.validity is Validity.REFUSED:
        return _rest(QuorumStep.STAGE, Line(Reason.IMAGE_REFUSED, view.candidate.message, stalled=True))
    if {member.uid for member in scene.old} <= view.staged:
        line = Line(
            Reason.SWITCHING, f"{len(scene.old)} of {len(view.members)} servers are switched together"
        )
        return _operate(scene, now, "switch", SWITCH_LIMIT, QuorumStep.SWITCH, line, _switch(scene, through))
    return _staging(scene, through, now)


def _through(scene: Scene) -> Member | None:
    """The server that passes a call on: one that runs the old version; none while an old one starts."""
    if any(member.told and not member.told.serving for member in scene.old):
        return None
    # another one at each attempt: a busy one garbles what it passes on
    attempt = scene.view.operation.attempt if scene.view.operation else 1
    return scene.old[(attempt - 1) % len(scene.old)]


def _staging(scene: Scene, through: Member, now: datetime) -> QuorumDecision:
    make = _stage(scene, through)
    line = Line(Reason.STAGING, f"all servers fetch {scene.target}, through {through.name}")
    decision = _operate(scene, now, "stage", STAGE_LIMIT, QuorumStep.STAGE, line, make)
    failed = scene.view.outcomes.last.get(f"stage {scene.target}")
    if failed is None or scene.new:
        # those that are switched already cannot go back: the others are tried until they follow
        return decision
    if failed.answer is Answer.FAILED or (not failed.ok and failed.attempt >= MOST_ATTEMPTS):
        line = Line(Reason.STAGING_FAILED, failed.message, stalled=True)
        return QuorumDecision(
            step=QuorumStep.STAGE, line=line, give_up=failed.message, look_again=requeue(_SOON)
        )
    return decision


def _all_new(scene: Scene) -> QuorumDecision:
    if scene.starting:
        return _rest(_where(scene), _silence(scene), requeue(_SOON))
    if line := gates.canary(scene):
        return _rest(_where(scene), line, requeue(_SOON))
    if scene.held:
        line = Line(Reason.RECREATING, f"all servers run {scene.target}: their pods may move again")
        return _act(
            QuorumStep.RECREATE_PODS, line, tuple(LiftHold(pool.name, pool.uid) for pool in scene.held)
        )
    return _one_by_one(scene) if scene.not_made_anew else _finish(scene)


def _one_by_one(scene: Scene) -> QuorumDecision:
    view = scene.view
    unready = tuple(member for member in view.members if member.leaving or not member.ready)
    if unready:
        return _rest(QuorumStep.RECREATE_PODS, Line(Reason.NOT_READY, f"{names(unready)} are not ready"))
    if view.wanted.paused:
        return _rest(
            QuorumStep.RECREATE_PODS, Line(Reason.PAUSED, "paused: no pod is made anew"), await_change()
        )
    last = scene.not_made_anew[-1]
    if not last.may_stop.certain:
        why = f": {last.trouble}" if last.trouble else ""
        line = Line(Reason.MAY_NOT_STOP, f"the service would not be well without {last.name}{why}")
        return _rest(QuorumStep.RECREATE_PODS, line, requeue(_SOON))
    line = Line(Reason.RECREATING, f"{len(scene.not_made_anew)} pods are made anew, one by one")
    return _act(QuorumStep.RECREATE_PODS, line, (_delete(last, "to be made anew from the new image"),))


def _finish(scene: Scene) -> QuorumDecision:
    marked = (pool for pool in scene.view.pools if pool.swap is not None)
    line = Line(Reason.FINISHING, f"every pod was made from {scene.image}")
    return _act(QuorumStep.RECREATE_PODS, line, tuple(Finish(pool.name, pool.uid) for pool in marked))


def _operate(
    scene: Scene,
    now: datetime,
    verb: str,
    limit: timedelta,
    where: QuorumStep,
    line: Line,
    make: Callable[[Started], Operation],
) -> QuorumDecision:
    """The operation, once the record of its start is in the status."""
    record = scene.view.operation
    if record is None or not _is_at(record, verb, scene):
        return QuorumDecision(step=where, line=line, record=Started.begin(_named(verb, scene), now, limit))
    step = make(record)
    last = scene.view.outcomes.of(step)
    ended = last is not None and last.at is not None and last.at >= record.started
    if (ended or record.overdue(now)) and step.key not in scene.view.outcomes.running:
        if left := wait(scene.view.outcomes, step, now):
            return QuorumDecision(step=where, line=line, look_again=requeue(left))
        return QuorumDecision(step=where, line=line, record=record.again(_named(verb, scene), now, limit))
    return QuorumDecision(step=where, line=line, steps=(step,), look_again=requeue(record.remaining(now)))


def _named(verb: str, scene: Scene) -> str:
    return f"{verb}-{scene.target or 'image'}".replace(":", "-")


def _is_at(record: Started | None, verb: str, scene: Scene) -> bool:
    return record is not None and record.id == f"{_named(verb, scene)}-{record.attempt}"


def _validate(image: str) -> Callable[[Started], Operation]:
    return lambda record: Validate(record, image)


def _rehearse(scene: Scene, through: Member) -> Callable[[Started], Operation]:
    members = tuple(member.uid for member in scene.view.members)
    return lambda record: Rehearse(record, scene.target, through.name, members)


def _stage(scene: Scene, through: Member) -> Callable[[Started], Operation]:
    members = tuple(member.uid for member in scene.view.members)
    switched = tuple(member.uid for member in scene.new)
    return lambda record: Stage(record, scene.target, through.name, members, switched)


def _switch(scene: Scene, through: Member) -> Callable[[Started], Operation]:
    return lambda record: Switch(record, scene.target, through.name)


def _delete(member: Member, why: str) -> DeletePod:
    return DeletePod(member.name, member.uid, why)


def _silence(scene: Scene) -> Line:
    waiting = scene.silent or scene.starting
    why = waiting[0].why_silent or "it is starting" if waiting else ""
    return Line(Reason.WAITS_FOR_SERVERS, f"{names(waiting)}: {why}")


def _where(scene: Scene) -> QuorumStep:
    """The step that a swap waits in, as far as the servers that answer tell."""
    if scene.unmarked:
        return QuorumStep.UPDATE_STATEFUL_SETS
    if scene.old:
        return QuorumStep.SWITCH if scene.new else QuorumStep.STAGE
    return QuorumStep.SWITCH if scene.held else QuorumStep.RECREATE_PODS


def _rest(where: QuorumStep, line: Line, look: LookAgain | None = None) -> QuorumDecision:
    return QuorumDecision(step=where, line=line, look_again=look or requeue(_NOW_AND_THEN))


def _act(where: QuorumStep, line: Line, steps: tuple[Step, ...]) -> QuorumDecision:
    return msgspec.structs.replace(_rest(where, line, requeue(_SOON)), steps=steps)
