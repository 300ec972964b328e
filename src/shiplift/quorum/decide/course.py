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
from shiplift.engine.decision import LookAgain, await_change, earliest, requeue
from shiplift.engine.retries import failures, has_failed, only_due, wait
from shiplift.engine.step import Answer, Operation, Outcome, Started, Step
from shiplift.quorum.decide import gates
from shiplift.quorum.decide.scene import Scene, names, names_same
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
_IN_DOUBT = timedelta(minutes=2)
"""After which servers that were told to switch by somebody who is gone have done so, or will not."""
MOST_SWITCHES = 3
"""Without anybody new: each takes the whole service away for some seconds."""
_IN_DOUBT_SAID = "servers were told to switch, and may still do so"
_SOON = timedelta(seconds=2)
"""Servers announce nothing: what they say is asked for again."""
_NOW_AND_THEN = timedelta(seconds=30)


def decide(view: View, now: datetime) -> QuorumDecision:
    """Pure."""
    scene = Scene(view)
    decision = _not_begun(scene, now) if scene.swap is None else _begun(scene, scene.swap, now)
    decision = _kept(scene, _with_failures(scene, decision))
    return only_due(decision, lambda step: _pause(view, step, now))


def _pause(view: View, step: Step, now: datetime) -> timedelta:
    """For how long it is left alone: it was refused, or is undone again and again."""
    return max(wait(view.outcomes, step, now), contested.wait(view.changes, step, now))


def _with_failures(scene: Scene, decision: QuorumDecision) -> QuorumDecision:
    """What is refused again and again is said instead of what was going to be done."""
    if decision.line.stalled:
        return decision
    said = next(failures(scene.view.outcomes, decision.steps), "")
    undone = next(contested.told(scene.fought, decision.steps), "")
    if undone:
        return _contested(scene, decision, undone)
    if not said or isinstance(decision.steps[0], Operation):
        return decision
    return msgspec.structs.replace(decision, line=Line(Reason.STEP_FAILED, said, stalled=True))


def _contested(scene: Scene, decision: QuorumDecision, undone: str) -> QuorumDecision:
    """Once somebody is switched the others have to follow, whoever writes there; what is not begun yet, or
    can be put back, is given up. What only takes marks off is done again, ever more slowly."""
    line = Line(Reason.MANAGED_ELSEWHERE, undone, stalled=True)
    begins = any(isinstance(step, Begin) for step in decision.steps)
    if not begins or (scene.swap is not None and scene.new):
        look = earliest(decision.look_again, requeue(_NOW_AND_THEN))
        return msgspec.structs.replace(decision, line=line, look_again=look)
    given_up = f"{Reason.MANAGED_ELSEWHERE.value}: {undone}"
    return QuorumDecision(step=decision.step, line=line, give_up=given_up, look_again=requeue(_SOON))


def _kept(scene: Scene, decision: QuorumDecision) -> QuorumDecision:
    """While a swap is under way the service has our finalizer, whoever takes it off; nobody can put one on
    what is being deleted."""
    view = scene.view
    if scene.swap is None or view.kept or view.deleting:
        return decision
    step = SetFinalizer(view.uid, present=True)
    line = decision.line
    if undone := next(contested.told(scene.fought, (step,)), ""):
        line = msgspec.structs.replace(line, message=f"{line.message}; {undone}")
    return msgspec.structs.replace(decision, line=line, steps=(step, *decision.steps))


def _not_begun(scene: Scene, now: datetime) -> QuorumDecision:
    """A hold that somebody has put back keeps drains off for ever: it goes, whatever else is to be done."""
    decision = _at_rest(scene, now)
    if not scene.stray_holds or any(isinstance(step, Begin) for step in decision.steps):
        return decision
    return msgspec.structs.replace(decision, steps=(*_lifts(scene.stray_holds), *decision.steps))


def _lifts(pools: tuple[Pool, ...]) -> tuple[LiftHold, ...]:
    return tuple(LiftHold(pool.name, pool.uid) for pool in pools)


def _at_rest(scene: Scene, now: datetime) -> QuorumDecision:
    view = scene.view
    if view.deleting:
        line = Line(Reason.AT_TARGET, "nothing is under way")
        steps = (SetFinalizer(view.uid, present=False),) if view.kept else ()
        return _act(QuorumStep.IDLE, line, steps)
    if line := gates.first(gates.BEFORE, scene):
        return _rest(QuorumStep.VALIDATE, line)
    if view.candidate.validity is Validity.GOOD and scene.is_at_target:
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
        line = gates.first(gates.IN_PLACE, scene) or gates.may_stop(scene)
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


def _update_sets(scene: Scene) -> QuorumDecision:
    pools = scene.unmarked or scene.altered or scene.not_held
    steps = tuple(_begin(scene, pool) for pool in pools)
    line = Line(Reason.UPDATING_STATEFUL_SETS, f"pods made anew will run {scene.image}")
    return _act(QuorumStep.UPDATE_STATEFUL_SETS, line, steps)


def _begin(scene: Scene, pool: Pool) -> Begin:
    before = pool.swap.before if pool.swap else pool.image
    running = next((member.told.version for member in scene.old if member.told), "")
    recreate = scene.swap.recreate if scene.swap else gates.recreates(scene)
    only_holds = pool not in (*scene.unmarked, *scene.altered)
    return Begin(pool.name, pool.uid, scene.target, scene.image, before, running, recreate, only_holds)


def _begun(scene: Scene, swap: Swap, now: datetime) -> QuorumDecision:
    if _goes_back(scene, swap, now) and (_all_tell(scene) or _nobody_was_told(scene, swap)):
        return _back(scene, swap, now)
    if line := gates.first(gates.BEGUN, scene):
        return _rest(_where(scene), line)
    if scene.silent:
        return _rest(_where(scene), scene.view.obstacle or _waits_for(scene, swap), requeue(_SOON))
    if scene.unmarked or scene.altered or (scene.old and scene.not_held):
        # a server that is old again, after all were new: whoever drains must not come in between
        return _all_new(scene, now) if _is_ending(scene, swap) else _written_over(scene, swap, now)
    return _as_written(scene, swap, now)


def _as_written(scene: Scene, swap: Swap, now: datetime) -> QuorumDecision:
    if blocked := _blocked(scene):
        return _replace(scene, blocked)
    if swap.recreate and scene.not_made_anew:
        # whatever version they say: another build of the same one keeps new ones from starting
        return _recreate_all(scene)
    return _onward(scene, swap, now) if scene.old else _all_new(scene, now)


def _waits_for(scene: Scene, swap: Swap) -> Line:
    unwanted = _is_unwanted(scene.view, swap) and not _runs_it(scene, swap)
    return _keeps_from_going_back(scene) if unwanted else _silence(scene)


def _written_over(scene: Scene, swap: Swap, now: datetime) -> QuorumDecision:
    """Somebody else wrote there. Where that goes on and on, servers that are old among new ones follow all
    the same: for that nothing has to stand on a StatefulSet, and two versions side by side are worse."""
    update = _update_sets(scene)
    in_vain = all(_is_in_vain(scene, step) for step in update.steps)
    at_once = swap.recreate or gates.recreates(scene) or gates.downgrade(scene) is not None
    if not in_vain or at_once or not scene.new or not scene.old:
        return update
    decision = _in_place(scene, now)
    return msgspec.structs.replace(decision, steps=(*update.steps, *decision.steps))


def _is_in_vain(scene: Scene, step: Step) -> bool:
    """Whether it is undone again and again, or cannot be done."""
    return step.change in scene.fought or has_failed(scene.view.outcomes.of(step))


def _onward(scene: Scene, swap: Swap, now: datetime) -> QuorumDecision:
    """While some run something else; what is later than the target somebody put there by another way."""
    if not swap.recreate and (refused := gates.downgrade(scene)) is not None:
        return _rest(_where(scene), refused) if _is_committed(scene, swap, now) else _back(scene, swap, now)
    again = swap.recreate or gates.recreates(scene)
    return _recreate_all(scene) if again else _in_place(scene, now)


def _goes_back(scene: Scene, swap: Swap, now: datetime) -> bool:
    """Only while nobody runs the new version, nobody is about to, and no pod would come back with it."""
    return _is_unwanted(scene.view, swap) and not _is_committed(scene, swap, now)


def _all_tell(scene: Scene) -> bool:
    """Where there are no pods nobody tells what ran last."""
    return bool(scene.view.members) and not scene.silent


def _keeps_from_going_back(scene: Scene) -> Line:
    message = (
        f"all is to be put back, and whether {names(scene.silent)} went over to {scene.target} is not known:"
        " it has to answer first, or its pod has to be deleted, which comes back with the new image"
    )
    return Line(Reason.WAITS_FOR_SERVERS, f"{message} ({_silence(scene).message})")


def _nobody_was_told(scene: Scene, swap: Swap) -> bool:
    """Whether servers that say nothing run the old version all the same: no switch was ever written down."""
    return scene.view.switches == 0 and not swap.recreate


def _back(scene: Scene, swap: Swap, now: datetime) -> QuorumDecision:
    in_doubt = Line(Reason.WAITS_FOR_SERVERS, _IN_DOUBT_SAID)
    may = _may_still_switch(scene.view, swap, now)
    return _rest(_where(scene), in_doubt, requeue(_SOON)) if may else _put_back(scene, now)


def _is_ending(scene: Scene, swap: Swap) -> bool:
    """Whether some StatefulSets are finished already, and the others have nothing to wait for but that."""
    as_made = all(pool.image == swap.image for pool in scene.view.pools)
    return bool(scene.unmarked) and as_made and not scene.old and not scene.not_made_anew


def _is_committed(scene: Scene, swap: Swap, now: datetime) -> bool:
    runs = _runs_it(scene, swap)
    recorded = _is_at(scene.view.operation, "switch", scene) and not _over(scene.view.operation, now)
    return bool(runs) or recorded or scene.is_switching


def _runs_it(scene: Scene, swap: Swap) -> bool:
    """Whether some server runs the new version, as far as is known, or a pod would come back with it."""
    members = scene.view.members
    of_it = any(member.image == swap.image for member in members)
    # where all pods are made anew nobody switches: who runs that version may have done so before
    return of_it or (any(map(scene.is_of_template, members)) if swap.recreate else bool(scene.new))


def _is_unwanted(view: View, swap: Swap) -> bool:
    refused = view.candidate.validity is Validity.REFUSED
    other = not names_same(view.wanted.image, swap.image)
    return view.deleting or bool(view.given_up) or other or refused


def _may_still_switch(view: View, swap: Swap, now: datetime) -> bool:
    """Whether servers were told to switch, now or by a leader of before: only who refused it does not."""
    at = view.switch_time
    if at is None:
        return False
    known = view.outcomes.last.get(f"switch {swap.target}")
    if known is None or known.at is None or known.at < at:
        return now - at <= _IN_DOUBT
    # an answer comes before they restart, and one that was lost may have been long in coming
    return known.answer not in (Answer.REFUSED, Answer.FAILED) and now - known.at <= _IN_DOUBT


def _over(record: Started | None, now: datetime) -> bool:
    """Whether what a record is of has ended for certain: its time is up."""
    return record is None or record.overdue(now)


def _put_back(scene: Scene, now: datetime) -> QuorumDecision:
    marked = (pool for pool in scene.view.pools if pool.swap is not None)
    steps = tuple(PutBack(pool.name, pool.uid) for pool in marked)
    line = Line(Reason.PUTTING_BACK, f"nothing runs {scene.target} yet: all is put back to what it was")
    return _ending(scene, now, QuorumStep.UPDATE_STATEFUL_SETS, line, steps)


def _ending(
    scene: Scene, now: datetime, where: QuorumStep, line: Line, steps: tuple[Step, ...]
) -> QuorumDecision:
    """The status lets go first: whatever it still has was taken off by somebody else. Where the marks cannot
    go yet it has them again meanwhile."""
    if any(_pause(scene.view, step, now) for step in steps):
        return _act(where, line, steps)
    decision = _act(where, line, () if scene.recorded else steps)
    return msgspec.structs.replace(decision, ends=True)


def _blocked(scene: Scene) -> tuple[Member, ...]:
    """They restarted with the old binary after others had switched: no API can help them."""
    stuck = (member for member in scene.old if member.told and not member.told.serving)
    return tuple(member for member in stuck if scene.new and member.image != scene.image)


def _replace(scene: Scene, blocked: tuple[Member, ...]) -> QuorumDecision:
    """One at a time, the next when a server answers in its place: they do not serve, but their drives do."""
    line = Line(Reason.REPLACING_RESTARTED, f"{names(blocked)} came back with the old binary")
    going = any(member.leaving for member in scene.view.members)
    why = "whose container restarted with the old binary"
    steps = () if going else (_delete(blocked[0], why, regardless=True),)
    return _act(QuorumStep.SWITCH, line, steps)


def _recreate_all(scene: Scene) -> QuorumDecision:
    if scene.view.wanted.paused and len(scene.not_made_anew) == len(scene.view.members):
        return _rest(QuorumStep.SWITCH, Line(Reason.PAUSED, "paused: no pod is made anew"), await_change())
    staying = tuple(member for member in scene.not_made_anew if not member.leaving)
    line = Line(Reason.RECREATING, f"all pods are made anew at once, with {scene.target}")
    return _act(
        QuorumStep.SWITCH,
        line,
        tuple(_delete(member, "with all others", regardless=True) for member in staying),
    )


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
    if scene.is_switching or {member.uid for member in scene.old} <= view.staged:
        # what was staged is forgotten when a switch begins; a second call beside it would garble its file
        line = Line(
            Reason.SWITCHING, f"{len(scene.old)} of {len(view.members)} servers are switched together"
        )
        return _operate(scene, now, "switch", SWITCH_LIMIT, QuorumStep.SWITCH, line, _switch(scene, through))
    return _staging(scene, through, now)


def _in_vain(scene: Scene) -> bool:
    """Whether servers have switched so often that they come back old for another reason than chance."""
    last = scene.view.outcomes.last.get(f"switch {scene.target}")
    # files are garbled at a switch too: who says that some did not take it did not lose them all
    lucky = last is not None and last.answer is not Answer.UNKNOWN and (not last.ok or bool(last.message))
    return not scene.new and (scene.view.switches or 0) >= (MOST_ATTEMPTS if lucky else MOST_SWITCHES)


def _switched_in_vain(scene: Scene, now: datetime) -> QuorumDecision:
    """Once it is certain that none will still come back new."""
    if scene.swap is not None and _may_still_switch(scene.view, scene.swap, now):
        return _rest(QuorumStep.SWITCH, Line(Reason.WAITS_FOR_SERVERS, _IN_DOUBT_SAID), requeue(_SOON))
    times = scene.view.switches or 0
    said = f"servers were told {times} times to switch to {scene.target}, and none runs it: does it serve?"
    line = Line(Reason.SWITCH_FAILED, said, stalled=True)
    return _give_up(line, f"{line.reason.value}: {said}")


def _through(scene: Scene) -> Member | None:
    """The server that passes a call on: one that runs the old version; none while an old one starts."""
    if any(member.told and not member.told.serving for member in scene.old):
        return None
    # another one at each attempt: a busy one garbles what it passes on
    attempt = scene.view.operation.attempt if scene.view.operation else 1
    return scene.old[(attempt - 1) % len(scene.old)]


def _staging(scene: Scene, through: Member, now: datetime) -> QuorumDecision:
    if _in_vain(scene):
        return _switched_in_vain(scene, now)
    make = _stage(scene, through)
    line = Line(Reason.STAGING, f"all servers fetch {scene.target}, through {through.name}")
    decision = _operate(scene, now, "stage", STAGE_LIMIT, QuorumStep.STAGE, line, make)
    failed = _failed(scene)
    if failed is None or scene.new:
        # those that are switched already cannot go back: the others are tried until they follow
        return decision
    return _give_up(Line(Reason.STAGING_FAILED, failed.message, stalled=True), failed.message)


def _failed(scene: Scene) -> Outcome | None:
    """What came of the attempt at staging that is on record, where no other is worth it. What came of one of
    an earlier swap to the same version says nothing: somebody may have put it right since."""
    record, last = scene.view.operation, scene.view.outcomes.last.get(f"stage {scene.target}")
    if record is None or last is None or not _is_at(record, "stage", scene) or not _is_of(last, record):
        return None
    too_often = not last.ok and record.attempt >= MOST_ATTEMPTS
    return last if last.answer is Answer.FAILED or too_often else None


def _is_of(outcome: Outcome, record: Started) -> bool:
    """Whether it is younger than the record."""
    return outcome.at is not None and outcome.at >= record.started


def _give_up(line: Line, why: str) -> QuorumDecision:
    return QuorumDecision(step=QuorumStep.STAGE, line=line, give_up=why, look_again=requeue(_SOON))


def _all_new(scene: Scene, now: datetime) -> QuorumDecision:
    if scene.starting:
        return _rest(_where(scene), _silence(scene), requeue(_SOON))
    if line := gates.canary(scene):
        return _rest(_where(scene), line, requeue(_SOON))
    lifts = _lifts(scene.held)
    if not all(_is_in_vain(scene, step) for step in lifts):
        line = Line(Reason.RECREATING, f"all servers run {scene.target}: their pods may move again")
        return _act(QuorumStep.RECREATE_PODS, line, lifts)
    # who puts the hold back keeps others off, and us from nothing
    decision = _made_anew(scene, now)
    return msgspec.structs.replace(decision, steps=(*lifts, *decision.steps))


def _made_anew(scene: Scene, now: datetime) -> QuorumDecision:
    return _one_by_one(scene) if scene.not_made_anew else _finish(scene, now)


def _one_by_one(scene: Scene) -> QuorumDecision:
    view = scene.view
    unready = tuple(member for member in view.members if member.leaving or not member.ready)
    if unready:
        return _rest(QuorumStep.RECREATE_PODS, gates.not_ready(unready))
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


def _finish(scene: Scene, now: datetime) -> QuorumDecision:
    marked = (pool for pool in scene.view.pools if pool.swap is not None)
    line = Line(Reason.FINISHING, f"every pod was made from {scene.image}")
    steps = tuple(Finish(pool.name, pool.uid) for pool in marked)
    return _ending(scene, now, QuorumStep.RECREATE_PODS, line, steps)


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
    ended = last is not None and _is_of(last, record)
    # written down by a clock that was ahead of ours: its time would be up too late
    ended = ended or record.started > now
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


def _delete(member: Member, why: str, *, regardless: bool = False) -> DeletePod:
    return DeletePod(member.name, member.uid, why, regardless)


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
