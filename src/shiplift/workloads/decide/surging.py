"""Surging: a pod that no budget lets go is replaced before it goes.

The workload is raised by one replica; when all its pods are Ready, an old pod is put first to go and the
replica is taken back. Nothing is unavailable at any time, and no budget is touched. How many replicas there
were is recorded before they are changed; somebody else's number is never overwritten. Where it stands is told
from the record, the replicas and the pods alone:

    no record ─▶ recorded ─▶ raised ─▶ all Ready, old pod marked ─▶ lowered ─▶ old pod gone ─▶ recorded …
"""

from __future__ import annotations

import msgspec

from shiplift.engine.step import Step
from shiplift.facts.pods import Pod
from shiplift.facts.workloads import Deployment
from shiplift.room.booking import Booking, NoSlot
from shiplift.workloads.decide import placements
from shiplift.workloads.decide.candidates import in_order
from shiplift.workloads.model import Reason, Tally, View
from shiplift.workloads.names import SURGE_LEDGER
from shiplift.workloads.record import Record, Surge
from shiplift.workloads.steps import MarkPod, Scale

KEDA = "scaledobject.keda.sh/name"


class Surging(msgspec.Struct, frozen=True):
    """What to do about one workload, what to write down first, and what to tell."""

    reason: Reason
    message: str
    steps: tuple[Step, ...] = ()
    record: Record | None = None


def surge(view: View, tally: Tally, booking: Booking) -> Surging:
    """The next thing to do to move one pod by surge."""
    record = placements.record_of(view, tally.id)
    if impossible := _impossible(tally, record):
        return Surging(Reason.SURGE_IMPOSSIBLE, impossible)
    plan = record.surge
    if plan is None:
        return _begin(view, tally, record, booking)
    if tally.row.replicas not in (plan.before, plan.after):
        return _overtaken(tally, record, plan)
    if tally.row.replicas == plan.before:
        return _raise_or_rest(view, tally, record, plan)
    return _swap(tally, plan)


def _impossible(tally: Tally, record: Record) -> str:
    if not isinstance(tally.row, Deployment):
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


def _begin(view: View, tally: Tally, record: Record, booking: Booking) -> Surging:
    """Write down what the replicas are; only when that is seen are they changed."""
    pod = in_order(tally)[0]
    if isinstance(slot := booking.book(pod, leaving=False), NoSlot):
        return Surging(Reason.NO_SLOT, slot.reason)
    if view.spec.paused:
        return Surging(Reason.PAUSED, "paused")
    count, scaler = tally.row.replicas, tally.autoscaler
    plan = Surge(count, count + 1, scaler.name if scaler else "", scaler.min_replicas if scaler else 0)
    return Surging(
        Reason.SURGING,
        f"one replica more, so that pod {pod.name} can go",
        record=Record(record.toleration, record.inert, plan),
    )


def _raise_or_rest(view: View, tally: Tally, record: Record, plan: Surge) -> Surging:
    """Lowered, or not raised yet: again as long as pods are left to move, and only from a full house."""
    marked = _marked(tally)
    if tally.leaving or len(tally.pods) != plan.before or tally.ready < plan.before:
        return Surging(Reason.SURGING, "waits for the pod that goes")
    if not tally.away or view.spec.paused:
        if marked:
            return Surging(Reason.SURGING, "unmarks its pods", tuple(_unmark(tally, pod) for pod in marked))
        return Surging(
            Reason.SURGING, "all pods are moved", record=Record(record.toleration, record.inert, None)
        )
    if floor := _floor(tally, plan, plan.after):
        return Surging(Reason.SURGING, "raises the floor of its autoscaler", (floor,))
    return Surging(
        Reason.SURGING, "adds a replica", (_scaled(tally, plan.after, "one more, for the time of a move"),)
    )


def _swap(tally: Tally, plan: Surge) -> Surging:
    """Raised: when all are Ready, the old pod is marked, and then the replica is taken back."""
    if tally.ready < plan.after or tally.leaving:
        return Surging(Reason.SURGING, f"{tally.ready} of {plan.after} pods are Ready")
    marked = _marked(tally)
    if not marked and tally.away:
        pod = in_order(tally)[0]
        return Surging(
            Reason.SURGING, f"pod {pod.name} goes next", (MarkPod(tally.id, pod.name, pod.uid, True),)
        )
    if floor := _floor(tally, plan, plan.floor_before):
        return Surging(Reason.SURGING, "gives its autoscaler its floor back", (floor,))
    return Surging(Reason.SURGING, "takes the replica back", (_scaled(tally, plan.before, "as it was"),))


def _overtaken(tally: Tally, record: Record, plan: Surge) -> Surging:
    """Somebody else set the replicas: theirs stay, ours are forgotten."""
    marked = tuple(_unmark(tally, pod) for pod in _marked(tally))
    floor = _floor(tally, plan, plan.floor_before)
    text = f"replicas were set to {tally.row.replicas} by somebody else"
    if marked or floor:
        return Surging(Reason.SURGING, text, (*marked, *((floor,) if floor else ())))
    return Surging(Reason.SURGING, text, record=Record(record.toleration, record.inert, None))


def undo(tally: Tally, plan: Surge) -> tuple[Step, ...]:
    """Take back what a surge has changed; nothing when all of it is as it was."""
    steps: list[Step] = [_unmark(tally, pod) for pod in _marked(tally)]
    if floor := _floor(tally, plan, plan.floor_before):
        steps.append(floor)
    if tally.row.replicas == plan.after:
        steps.append(_scaled(tally, plan.before, "as it was"))
    return tuple(steps)


def _marked(tally: Tally) -> list[Pod]:
    return [pod for pod in tally.pods if SURGE_LEDGER in pod.annotations]


def _unmark(tally: Tally, pod: Pod) -> MarkPod:
    return MarkPod(tally.id, pod.name, pod.uid, False)


def _scaled(tally: Tally, replicas: int, why: str) -> Scale:
    return Scale(tally.id, "", tally.row.uid, tally.row.resource_version, replicas, why)


def _floor(tally: Tally, plan: Surge, wanted: int) -> Scale | None:
    """The autoscaler's floor, where there is one and it is still what we know; somebody else's stays."""
    scaler = tally.autoscaler
    if scaler is None or scaler.name != plan.autoscaler or scaler.min_replicas == wanted:
        return None
    if scaler.min_replicas not in (plan.floor_before, plan.after):
        return None
    return Scale(tally.id, scaler.name, scaler.uid, scaler.resource_version, wanted, "the floor follows")
