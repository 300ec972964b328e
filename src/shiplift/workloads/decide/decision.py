"""The decision: from what is seen to what is done, without I/O, clock or chance.

What is kept true, whatever happens in between:
- the target is written down before anything is changed, and each arrival before dependents follow;
- pods of held workloads stay off target nodes; each pod of a released workload is moved once, within its
  budget, to a node that has room for it;
- the end is the seed's: every workload has arrived, and no node in scope is of another version.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from shiplift.api.placements import PLACEMENT
from shiplift.api.values import duration
from shiplift.api.workloads import Mode, OnBlockedWorkload, OnNoCapacity, WorkloadState
from shiplift.drain.own import handed_over
from shiplift.engine import contested, retries
from shiplift.engine.decision import LookAgain, await_change, requeue
from shiplift.engine.step import Step
from shiplift.facts import kinds
from shiplift.workloads.decide import (
    brake,
    consolidate,
    deadlines,
    finalizing,
    freshness,
    holds,
    others,
    placements,
)
from shiplift.workloads.decide.books import Books
from shiplift.workloads.decide.cleaning import SOON, cleaning, not_sure
from shiplift.workloads.decide.forewarning import forewarnings
from shiplift.workloads.decide.forgone import Forgone, forgone
from shiplift.workloads.decide.moves import Moves
from shiplift.workloads.decide.obstacles import BLOCKING
from shiplift.workloads.decide.rescue import Rescued, out_of_turn, rescued
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.model import Line, Migrating, Reason, Tally, View
from shiplift.workloads.steps import Evict, Force, PodStep, Replace
from shiplift.workloads.target import OR_INJECT, is_begun

_LOOK_AGAIN = timedelta(seconds=30)
_RIGHTS_AGAIN = timedelta(seconds=2)
"""That a right was granted, no event announces."""
MOST_MET = 20_000
"""As the API has it: an object may have about 1.5 MB, and a uid takes 40 bytes of it."""
_MARKS_AGAIN = 1.0
"""Seconds: that a mark stays, no event announces."""


def decide(view: View, now: datetime) -> Migrating:
    """What to do now."""

    def left(step: Step) -> timedelta:
        return max(retries.wait(view.outcomes, step, now), contested.wait(view.changes, step, now))

    return retries.only_due(_decided(view, now), left)


def _decided(view: View, now: datetime) -> Migrating:
    if trouble := unreadable_migration(view):
        return _blind(view, now, trouble)
    if view.stale and not (freshness.is_over(view) or (view.target.version and begun(view))):
        return not_sure(view, now)
    if not view.target.version:
        return cleaning(view, now)
    if not begun(view):
        return _begin(view, now)
    met = arrived(view, now)
    if _finished(view, met):
        return Migrating(view=view, now=now, reason=Reason.CLEANING_UP, message="all workloads have arrived")
    return _moving(view, now, met)


def unreadable_migration(view: View) -> str:
    """Why nobody knows what is wanted; empty where the migration can be read."""
    found = [str(one) for one in view.unreadable if one.kind == kinds.WORKLOAD_MIGRATION]
    return "; ".join(found)


def _blind(view: View, now: datetime, trouble: str) -> Migrating:
    """What the user wants cannot be read: to act without it would be to guess. What was told stays told."""
    if not begun(view):
        return Migrating(view=view, now=now, reason=Reason.UNREADABLE, message=trouble, stalled=True)
    waiting = _waiting(view, now, view.status.met, Reason.UNREADABLE, trouble)
    return msgspec.structs.replace(waiting, stalled=True)


def begun(view: View) -> bool:
    """Whether target and mode were written down."""
    return is_begun(view.migration, view.target)


def _begin(view: View, now: datetime) -> Migrating:
    """Write down what is going to happen, and tell what will be in the way of others; unless something speaks
    against it from the start."""
    if view.missing_rights:
        text, again = _lacks(view), requeue(_RIGHTS_AGAIN)
        return Migrating(
            view=view, now=now, reason=Reason.MISSING_RIGHT, message=text, stalled=True, look_again=again
        )
    if text := _too_large(view):
        return Migrating(view=view, now=now, reason=Reason.TOO_LARGE, message=text, stalled=True)
    return Migrating(
        steps=finalizing.put_on(view),
        view=view,
        now=now,
        reason=Reason.STARTING,
        message=f"moving to {view.target.version}",
        moving=True,
        forewarnings=forewarnings(view),
        notes=tuple(others.kept_off(view)),
    )


def _too_large(view: View) -> str:
    """Why not all arrivals could be written down; empty where they can."""
    if len(view.tallies) <= MOST_MET:
        return ""
    return (
        f"{len(view.tallies)} workloads are in scope, and the status has room for {MOST_MET} arrivals;"
        " leave namespaces out with spec.excludeNamespaces of WorkloadMigration cluster"
    )


def arrived(view: View, now: datetime) -> tuple[str, ...]:
    """Workloads that have arrived, by uid: earlier ones, and those that are complete and have soaked now."""
    known = view.status.met
    if view.stale:
        return known
    soak, before = duration(view.spec.soak).total_seconds(), view.order.met
    unknown = view.unreadable_in()
    fresh = [
        tally.row.uid
        for id_, tally in view.tallies.items()
        if tally.complete and id_ not in before and _has_arrived(view, tally, now, soak)
    ]
    if unknown:
        sure = {tally.row.uid for id_, tally in view.tallies.items() if id_.namespace not in unknown}
        fresh = [uid for uid in fresh if uid in sure]
    if not fresh:
        return known
    alive = {tally.row.uid for tally in view.tallies.values()}
    return (*(uid for uid in known if uid in alive), *sorted(fresh))[:MOST_MET]


def _has_arrived(view: View, tally: Tally, now: datetime, soak: float) -> bool:
    if placements.record_of(view, tally.id).surge is not None:
        return False
    if not tally.row.replicas:
        return tally.id in view.order.ready or not view.fleet.off
    return not soak or now.timestamp() >= tally.last_ready + soak


def _finished(view: View, met: tuple[str, ...]) -> bool:
    """No workload is on the way, and no node is left to move off."""
    if view.fleet.off or not view.fleet.targets or view.stale or view.unreadable:
        return False
    done = set(met)
    return all(tally.skipped or tally.row.uid in done for tally in view.tallies.values())


def _moving(view: View, now: datetime, met: tuple[str, ...]) -> Migrating:
    """Mark, hold, release, move."""
    if view.stale:
        return _waiting(view, now, met, Reason.STALE_VIEW, freshness.may_be_old(view))
    rescue, let_go = _rescue(view, now), deadlines.let_go(view, now)
    books = _books(view, now, rescue, let_go.early)
    moves = Moves(books)
    moves.all()
    moves.due += let_go.due
    stopped = _stops_of_making_room(view, books)
    emptying = "" if view.spec.paused else _emptying(view, moves, stopped)
    plan = _Plan(books.may_move - moves.unplaced, books.held, moves, rescue, emptying, forgone(view))
    steps = _steps(view, plan)
    reason, message, stalled = _headline(view, moves, steps, books.held, met)
    if stalled:
        steps = [step for step in steps if step not in moves.steps]
        moves.stopped(message)
    return Migrating(
        steps=handed_over(steps, view.own, _ends),
        look_again=_look_again(view, now, moves),
        view=view,
        now=now,
        reason=reason,
        message=message,
        stalled=stalled,
        moving=True,
        met=met,
        lines=_told_lines(moves, stopped, rescue),
        exceptions=deadlines.with_those(out_of_turn(view, rescue.exceptions, now), let_go.exceptions),
        emptying=emptying,
        draining=let_go.draining,
        notes=(
            *let_go.notes,
            *others.kept_off(view),
            *_notes(view, books.held),
            *_untold(view, [step for step in steps if step.key not in books.held.denied]),
            *contested.told(view.changes, steps),
        ),
    )


def _ends(step: Step) -> str:
    """The pod, by uid, that a step ends."""
    return step.uid if isinstance(step, Evict | Force | Replace) else ""


def _stops_of_making_room(view: View, books: Books) -> Mapping[WorkloadId, Line]:
    """Workloads of which no pod makes room any more, also where they only wait for others."""
    if view.spec.on_no_capacity is not OnNoCapacity.CONSOLIDATE or not books.brakes:
        return {}
    return brake.stops_of_making_room(view, books.released)


def _told_lines(
    moves: Moves, stopped: Mapping[WorkloadId, Line], rescue: Rescued
) -> Mapping[WorkloadId, Line]:
    """What is refused comes before why a workload does not move, and that before why it makes no room."""
    return {**stopped, **moves.lines, **rescue.refused} if stopped or rescue.refused else moves.lines


def _emptying(view: View, moves: Moves, stopped: Collection[WorkloadId]) -> str:
    """The old node that is emptied to make room."""
    if view.spec.on_no_capacity is not OnNoCapacity.CONSOLIDATE:
        return ""
    waits = {line.reason for line in moves.lines.values()}
    full = not waits.isdisjoint((Reason.NO_SLOT, Reason.CONSOLIDATING))
    stuck = waits - {Reason.EVICTED_TOO_OFTEN} == {Reason.NO_SLOT}
    return consolidate.chosen(view, stuck=stuck, full=full, stopped=stopped)


def _rescue(view: View, now: datetime) -> Rescued:
    return Rescued(exceptions=view.status.exceptions) if view.spec.paused else rescued(view, now)


def _books(view: View, now: datetime, rescue: Rescued, let_go: frozenset[WorkloadId]) -> Books:
    may_move = placements.may_move(view, rescue.early | let_go)
    return Books(view, now, may_move, holds.holding(view, may_move), rescue.early)


def books_for(view: View, now: datetime, id_: WorkloadId) -> Books:
    """The books as a workload finds them: those that come before it have taken what they need."""
    books = _books(view, now, _rescue(view, now), deadlines.let_go(view, now).early)
    Moves(books).all(before=id_)
    return books


def _waiting(view: View, now: datetime, met: tuple[str, ...], reason: Reason, message: str) -> Migrating:
    return Migrating(
        look_again=requeue(SOON),
        view=view,
        now=now,
        reason=reason,
        message=message,
        moving=True,
        met=met,
        exceptions=view.status.exceptions,
        emptying=view.status.emptying,
        draining=view.status.draining,
    )


class _Plan(NamedTuple):
    """What the parts of a decision have found."""

    may_move: frozenset[WorkloadId]
    held: holds.Holding
    moves: Moves
    rescue: Rescued
    emptying: str
    forgone: Forgone


def _steps(view: View, plan: _Plan) -> list[Step]:
    """All that can be done now; each kind of step waits until what it relies on is seen to be there."""
    steps: list[Step] = [*finalizing.put_on(view), *view.fleet.labels.values(), *plan.held.steps]
    steps += [*others.let_on(view), *plan.forgone.steps]
    if view.target.mode is Mode.TEMPLATE:
        if view.fleet.taints and not plan.held.complete:
            return steps
        steps += [step for name, step in view.fleet.taints.items() if name not in view.fleet.labels]
        if view.fleet.taints:
            return steps
    records = {**plan.forgone.records, **plan.moves.records}
    written = placements.placement_steps(view, plan.may_move, records)
    steps += [*written, *plan.rescue.steps, *placements.checks(view, plan.moves.checks)]
    if plan.moves.unprepared:
        return steps
    steps += plan.moves.steps
    if plan.emptying and view.status.emptying == plan.emptying and plan.moves.stop is None:
        known = {step.key for step in steps}
        more = consolidate.emptying_steps(view, plan.emptying, plan.moves.now)
        steps += [step for step in more if step.key not in known]
    return steps


def _headline(
    view: View, moves: Moves, steps: list[Step], held: holds.Holding, met: tuple[str, ...]
) -> tuple[Reason, str, bool]:
    """What the whole is doing, in one line, and whether a person has to act."""
    if stop := _stopped(view, moves):
        return Reason.STOPPED, stop, True
    if view.missing_rights:
        return Reason.MISSING_RIGHT, _lacks(view), True
    if view.spec.paused:
        return Reason.PAUSED, _paused(view, held), False
    if view.order.cycles and not moves.lines and not steps:
        one = view.order.cycles[0]
        return Reason.IN_CYCLE, f"{one.dependent} and {one.dependency} depend on each other", True
    if (stop := moves.stop) is not None and _is_worth_a_headline(stop):
        return stop.reason, stop.message, False
    return _progress(view, moves, met)


def _paused(view: View, held: holds.Holding) -> str:
    """With what keeps others from draining a node meanwhile, and what does not."""
    text = "paused: what is in flight ends, nothing new starts"
    stay = len(view.holds) - held.ends
    if stay:
        text += f"; {stay} PodDisruptionBudget{'s' * (stay != 1)} that we hold stay as they are"
    if held.put_off:
        those = "1 workload is" if held.put_off == 1 else f"{held.put_off} workloads are"
        text += f"; {those} not held against drains of others meanwhile"
    return text


def _progress(view: View, moves: Moves, met: tuple[str, ...]) -> tuple[Reason, str, bool]:
    if untainted := moves.not_tainted:
        return Reason.NODE_NOT_MARKED, untainted, True
    left = len(view.tallies) - len(view.order.met) + len(view.returned)
    if view.unreadable and not left:
        return Reason.UNREADABLE, f"all that can be read have arrived; {view.unreadable[0]}", True
    if waits := moves.first_waits or _waits_for_nodes(view):
        return Reason.WAITING_FOR_NODES, waits, False
    if met is not view.status.met:
        left -= len({*met} - {*view.status.met})
    if left <= 0:
        return Reason.MOVING, f"all workloads have arrived on nodes of {view.target.version}", False
    text = f"{left} of {len(view.order.ours)} workloads left to move to {view.target.version}"
    return Reason.MOVING, text, False


def _lacks(view: View) -> str:
    return (
        f"mode {view.target.mode} needs rights that the operator does not have:"
        f" {', '.join(view.missing_rights)};"
        " what installed shiplift grants them when it is applied again with --template"
        f" (podTemplates of the chart){_other_mode(view)}"
    )


def _other_mode(view: View) -> str:
    """Mode Inject helps who has chosen the other one and has not begun: where nobody has chosen, it is not
    there; and a move ends in the mode in which it began."""
    if view.spec.mode is not Mode.TEMPLATE or begun(view):
        return ""
    return f", or {OR_INJECT}"


def _is_worth_a_headline(stop: Line) -> bool:
    """That nodes are being marked is everyday."""
    return stop.state is WorkloadState.BLOCKED or stop.reason is not Reason.NODE_NOT_MARKED


def _stopped(view: View, moves: Moves) -> str:
    """What blocks, where the policy for it is to stop."""
    if late := moves.not_grown:
        return late
    stops = {
        *(BLOCKING if view.spec.on_blocked is OnBlockedWorkload.STOP else ()),
        *((Reason.NO_SLOT,) if view.spec.on_no_capacity is OnNoCapacity.STOP else ()),
    }
    return next((f"{id_}: {line.message}" for id_, line in moves.lines.items() if line.reason in stops), "")


def _waits_for_nodes(view: View) -> str:
    if not view.fleet.targets:
        seen = ", ".join(f"{count} on {version}" for version, count in view.fleet.versions.items())
        return f"no node runs {view.target.version} yet ({seen})"
    if len(view.tallies) == len(view.order.met) and not view.returned:
        nodes = f"{view.fleet.off} node" + ("s" if view.fleet.off != 1 else "")
        return f"all workloads have arrived; {nodes} of another version left"
    return ""


def _notes(view: View, held: holds.Holding) -> tuple[str, ...]:
    broken = [text for one in view.placements.values() for text in one.broken.values()]
    large = [text] if (text := _too_large(view)) else []
    said = (*large, *map(str, view.unreadable), *map(str, view.order.absent), *view.order.problems)
    going = (
        f"WorkloadPlacement {name}/{PLACEMENT} is being deleted; it goes when what it records is undone, and"
        " is made again while the migration needs it"
        for name in sorted(view.all_placements.going)
    )
    return (*said, *broken, *held.notes, *going)


def _untold(view: View, steps: Iterable[Step]) -> Iterator[str]:
    """What could not be done and is in no workload's own line."""
    return retries.failures(view.outcomes, (step for step in steps if not isinstance(step, PodStep)))


def _look_again(view: View, now: datetime, moves: Moves) -> LookAgain:
    """For what is due, as the end of soaking, which no event announces; and now and then in any case."""
    due = [*moves.due, *([_MARKS_AGAIN] if view.unmarked else [])]
    due += [_RIGHTS_AGAIN.total_seconds()] if view.missing_rights else []
    soak = duration(view.spec.soak)
    if not soak and not due:
        return requeue(_LOOK_AGAIN) if view.tallies else await_change()
    ends = [
        tally.last_ready + soak.total_seconds() - now.timestamp()
        for id_, tally in view.tallies.items()
        if soak and tally.complete and id_ not in view.order.met
    ]
    left = [timedelta(seconds=seconds) for seconds in (*ends, *due) if seconds > 0]
    return requeue(min((*left, _LOOK_AGAIN)))
