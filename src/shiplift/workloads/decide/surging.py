"""Surging: a pod that no budget lets go is replaced before it goes.

The workload is raised by one replica; when all its pods are Ready, an old pod is put first to go and the
replica is taken back. Nothing is unavailable at any time, and no budget is touched. How many replicas there
were is recorded before they are changed; somebody else's number is never overwritten. Where it stands is told
from the record, the replicas and the pods alone:

    no record ─▶ recorded ─▶ raised ─▶ all Ready, old pod marked ─▶ lowered ─▶ old pod gone ─▶ recorded …
                               └─▶ given up ─▶ lowered ─▶ told, until somebody has acted

It is given up where the replica more is not Ready within the deadline or is on no target node, and where
somebody else takes it back again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec

from shiplift.api.values import duration
from shiplift.api.workloads import OnBlockedWorkload
from shiplift.engine.step import Step
from shiplift.facts.pods import Pod
from shiplift.facts.workloads import Deployment, HorizontalPodAutoscaler
from shiplift.room.booking import NoSlot
from shiplift.workloads.decide import placements
from shiplift.workloads.decide.candidates import in_order
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.model import Reason, Tally, View
from shiplift.workloads.names import SURGE_LEDGER
from shiplift.workloads.record import Record, Surge
from shiplift.workloads.steps import MarkPod, Scale, raised

NoSlotFor = Callable[[Pod], NoSlot | None]
KEDA = "scaledobject.keda.sh/name"
MOST_RAISES = 4
"""So often replicas that somebody else sets back are raised."""
_MOST_TOLD = 200
"""Of what somebody else says."""
_TRY_AGAIN = "once that is mended, `shiplift pause` and then `shiplift resume` try again"


class Surging(msgspec.Struct, frozen=True):
    """What to do about one workload, what to write down first, and what to tell."""

    reason: Reason
    message: str
    steps: tuple[Step, ...] = ()
    record: Record | None = None
    due: tuple[float, ...] = ()
    """In how many seconds to look again, where no event announces it."""


def can_surge(tally: Tally) -> bool:
    """Whether one more of its replicas can take the place of any other."""
    return isinstance(tally.row, Deployment)


def surge(view: View, tally: Tally, no_slot: NoSlotFor, now: datetime) -> Surging:
    """The next thing to do to move one pod by surge; `no_slot` says why there is no place for one more."""
    record = placements.record_of(view, tally.id)
    if impossible := _impossible(tally, record):
        return Surging(Reason.SURGE_IMPOSSIBLE, impossible)
    plan = record.surge
    if plan is None:
        return _begin(view, tally, record, no_slot, now)
    if plan.gave_up:
        return _take_back(view, tally, record, plan)
    if tally.row.replicas not in (plan.before, plan.after):
        return _overtaken(tally, record, plan)
    if tally.row.replicas == plan.before:
        return _raise_or_rest(view, tally, record, plan, now)
    return _swap(view, tally, record, plan, now)


def _impossible(tally: Tally, record: Record) -> str:
    if not can_surge(tally):
        return (
            "a StatefulSet cannot surge; give its budget room,"
            " or set spec.onBlocked of WorkloadMigration cluster to Force"
        )
    scaler = tally.autoscaler
    if scaler is None or record.surge is not None:
        return ""
    if KEDA in scaler.labels:
        owner = scaler.labels[KEDA]
        return f"KEDA sets its replicas; raise minReplicaCount of ScaledObject {owner} by one for a while"
    if tally.row.replicas >= scaler.max_replicas:
        return f"HorizontalPodAutoscaler {scaler.name} is at its most, {scaler.max_replicas}"
    return ""


def _begin(view: View, tally: Tally, record: Record, no_slot: NoSlotFor, now: datetime) -> Surging:
    """Write down what the replicas are; only when that is seen are they changed."""
    pod = in_order(tally)[0]
    if (slot := no_slot(pod)) is not None:
        return Surging(Reason.NO_SLOT, slot.reason)
    if view.spec.paused:
        return Surging(Reason.PAUSED, "paused")
    count, scaler = tally.row.replicas, tally.autoscaler
    plan = Surge(
        count,
        count + 1,
        scaler.name if scaler else "",
        scaler.min_replicas if scaler else 0,
        int(now.timestamp()),
        _there(tally),
    )
    text = f"one replica more, so that pod {pod.name} can go"
    return Surging(Reason.SURGING, text, record=_with(record, plan))


def _with(record: Record, plan: Surge | None) -> Record:
    return msgspec.structs.replace(record, surge=plan)


def _there(tally: Tally) -> int:
    """How many of its pods are on nodes that they need not leave."""
    return len(tally.pods) - len(tally.away) - len(tally.pending)


def _raise_or_rest(view: View, tally: Tally, record: Record, plan: Surge, now: datetime) -> Surging:
    """Lowered, or not raised yet: again as long as pods are left to move that are to be surged, and only from
    a full house."""
    marked = _marked(tally)
    if tally.leaving or len(tally.pods) != plan.before or tally.ready < plan.before:
        return Surging(Reason.SURGING, "waits for the pod that goes")
    if not tally.away or view.spec.paused or view.spec.on_blocked is not OnBlockedWorkload.SURGE:
        if marked:
            return Surging(Reason.SURGING, "unmarks its pods", tuple(_unmark(tally, pod) for pod in marked))
        return Surging(Reason.SURGING, "its surge is over", record=_with(record, None))
    return _raise(view, tally, record, plan, now)


def _raise(view: View, tally: Tally, record: Record, plan: Surge, now: datetime) -> Surging:
    """One more; for each pod it is written down anew, so that each has its time."""
    if _there(tally) > plan.there:
        again = msgspec.structs.replace(plan, at=int(now.timestamp()), there=_there(tally))
        return Surging(Reason.SURGING, "one replica more for the next pod", record=_with(record, again))
    if _is_set_back(view, tally, plan):
        return _give_up(record, plan, "somebody else sets its replicas back whenever a surge raises them")
    if floor := _floor(tally, plan, max(plan.after, plan.floor_before)):
        return Surging(Reason.SURGING, "raises the floor of its autoscaler", (floor,))
    step = _scaled(tally, plan.after, "one more, for the time of a move")
    return Surging(Reason.SURGING, "adds a replica", (step,))


def _is_set_back(view: View, tally: Tally, plan: Surge) -> bool:
    """Whether somebody else has taken back, again and again, what was raised since it was written down."""
    scaler = tally.autoscaler
    asked = (tally.row.uid, scaler.uid if scaler is not None else "")
    found = [made for uid in asked if (made := view.changes.get(raised(uid))) is not None]
    return any(made.times >= MOST_RAISES and made.at.timestamp() >= plan.at for made in found)


def _swap(view: View, tally: Tally, record: Record, plan: Surge, now: datetime) -> Surging:
    """Raised: when all are Ready, the old pod is marked, and then the replica is taken back."""
    if tally.ready < plan.after or tally.leaving:
        left = _seconds_left(view, tally, plan, now)
        if left <= 0:
            late = f"was not Ready within {view.spec.progress_deadline}"
            return _give_up(record, plan, f"its replica more {late}{_unready(tally)}")
        text = f"{tally.ready} of {plan.after} pods are Ready"
        return Surging(Reason.SURGING, text, due=(left,))
    marked = _marked(tally)
    if not marked and tally.away and _there(tally) <= plan.there:
        pod = _newest(tally.away)
        return _give_up(record, plan, f"pod {pod.name}, its replica more, went to old node {pod.node}")
    if not marked and tally.away:
        pod = in_order(tally)[0]
        return Surging(
            Reason.SURGING, f"pod {pod.name} goes next", (MarkPod(tally.id, pod.name, pod.uid, True),)
        )
    if floor := _floor(tally, plan, plan.floor_before):
        return Surging(Reason.SURGING, "gives its autoscaler its floor back", (floor,))
    return Surging(Reason.SURGING, "takes the replica back", (_scaled(tally, plan.before, "as it was"),))


def _seconds_left(view: View, tally: Tally, plan: Surge, now: datetime) -> float:
    """How long the replica more still has; a record without a time, or of a clock that was ahead, is judged
    by its pod."""
    began = plan.at
    if not began or began > now.timestamp():
        began = max((pod.created for pod in tally.pods), default=0)
    return began + duration(view.spec.progress_deadline).total_seconds() - now.timestamp()


def _newest(pods: Sequence[Pod]) -> Pod:
    return max(pods, key=lambda pod: (pod.created, pod.name))


def _unready(tally: Tally) -> str:
    """The pod that is waited for, and what is known of it."""
    waiting = [pod for pod in tally.pods if not pod.ready]
    if not waiting:
        return ""
    pod = _newest(waiting)
    why = pod.waiting or pod.unschedulable
    return f" (pod {pod.name}" + (f": {why[:_MOST_TOLD]})" if why else ")")


def _give_up(record: Record, plan: Surge, why: str) -> Surging:
    """Written down before it is taken back: whoever comes after a crash goes on with it."""
    text = f"{why}; it is being taken back"
    return Surging(
        Reason.SURGE_FAILED, text, record=_with(record, msgspec.structs.replace(plan, gave_up=why))
    )


def _take_back(view: View, tally: Tally, record: Record, plan: Surge) -> Surging:
    """Lower the replicas, and say why until somebody has acted."""
    if not plan.is_taken_back and (steps := _lowering(tally, plan)):
        return Surging(Reason.SURGE_FAILED, f"{plan.gave_up}; it is being taken back", steps)
    if view.spec.paused or not tally.away or view.spec.on_blocked is not OnBlockedWorkload.SURGE:
        return Surging(Reason.SURGING, "its surge is forgotten", record=_with(record, None))
    text = f"{plan.gave_up}; it was taken back: {_TRY_AGAIN}"
    done = None if plan.is_taken_back else msgspec.structs.replace(plan, after=plan.before)
    return Surging(Reason.SURGE_FAILED, text, record=_with(record, done) if done else None)


def _lowering(tally: Tally, plan: Surge) -> tuple[Step, ...]:
    """No pod on a target goes: those that are not Ready go first, and where all are an old one is marked."""
    if tally.row.replicas == plan.after and tally.away and tally.ready >= plan.after and not _marked(tally):
        pod = _newest(tally.away)
        return (MarkPod(tally.id, pod.name, pod.uid, True),)
    if tally.row.replicas == plan.after:
        floor = _floor(tally, plan, plan.floor_before)
        return (floor or _scaled(tally, plan.before, "as it was"),)
    return undo(tally, plan)


def _overtaken(tally: Tally, record: Record, plan: Surge) -> Surging:
    """Somebody else set the replicas: theirs stay, ours are forgotten."""
    marked = tuple(_unmark(tally, pod) for pod in _marked(tally))
    floor = _floor(tally, plan, plan.floor_before)
    text = f"replicas were set to {tally.row.replicas} by somebody else"
    if marked or floor:
        return Surging(Reason.SURGING, text, (*marked, *((floor,) if floor else ())))
    return Surging(Reason.SURGING, text, record=_with(record, None))


def undo(tally: Tally, plan: Surge) -> tuple[Step, ...]:
    """Take back what a surge has changed; nothing when all of it is as it was."""
    if plan.is_taken_back:
        return ()
    steps: list[Step] = [_unmark(tally, pod) for pod in _marked(tally)]
    steps += undo_floor(tally.id, tally.autoscaler, plan)
    if tally.row.replicas == plan.after:
        steps.append(_scaled(tally, plan.before, "as it was"))
    return tuple(steps)


def undo_floor(id_: WorkloadId, scaler: HorizontalPodAutoscaler | None, plan: Surge) -> tuple[Step, ...]:
    """Take back what a surge has changed on the autoscaler of a workload, which may be gone itself."""
    floor = None if plan.is_taken_back else _floor_of(id_, scaler, plan, plan.floor_before)
    return () if floor is None else (floor,)


def _marked(tally: Tally) -> list[Pod]:
    return [pod for pod in tally.pods if SURGE_LEDGER in pod.annotations]


def _unmark(tally: Tally, pod: Pod) -> MarkPod:
    return MarkPod(tally.id, pod.name, pod.uid, False)


def _scaled(tally: Tally, replicas: int, why: str) -> Scale:
    raises = replicas > tally.row.replicas
    return Scale(tally.id, "", tally.row.uid, tally.row.resource_version, replicas, why, raises)


def _floor(tally: Tally, plan: Surge, wanted: int) -> Scale | None:
    return _floor_of(tally.id, tally.autoscaler, plan, wanted)


def _floor_of(
    id_: WorkloadId, scaler: HorizontalPodAutoscaler | None, plan: Surge, wanted: int
) -> Scale | None:
    """The autoscaler's floor, where there is one and it is still what we know; somebody else's stays."""
    if scaler is None or scaler.name != plan.autoscaler or scaler.min_replicas == wanted:
        return None
    if scaler.min_replicas not in (plan.floor_before, plan.after):
        return None
    return Scale(
        id_,
        scaler.name,
        scaler.uid,
        scaler.resource_version,
        wanted,
        "the floor follows",
        raises=wanted > scaler.min_replicas,
    )
