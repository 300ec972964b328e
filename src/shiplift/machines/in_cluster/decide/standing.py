"""Where one machine stands: since when it is not ready, and whether that is too long."""

from __future__ import annotations

from datetime import UTC, datetime

from shiplift.api.machines import MachinePhase
from shiplift.api.values import Condition, ConditionStatus, duration
from shiplift.engine.conditions import READY
from shiplift.machines.in_cluster.decide.case import Case
from shiplift.machines.in_cluster.model import Kept, Reason

Phase = tuple[MachinePhase, Reason, str]


def since(one: Kept, now: datetime) -> datetime:
    """Since when it is not ready, as it was told; a new one since it was written down, or since its node was
    made."""
    said = _said(one)
    made = datetime.fromtimestamp(max(one.row.created, one.node.created if one.node else 0), UTC)
    if said is None:
        return made
    return now if said.status is ConditionStatus.TRUE else min(max(said.last_transition_time, made), now)


def is_late(case: Case, one: Kept) -> bool:
    """Of a node that was made: why one was not is told otherwise."""
    late = case.now >= since(one, case.now) + duration(case.spec.join_timeout)
    return one.node is not None and not one.ready and late


def was_ready(one: Kept) -> bool:
    """Whether its node was Ready before: what was told of the machine first was told before it had one."""
    said = _said(one)
    if said is None or one.node is None:
        return False
    return said.status is ConditionStatus.TRUE or said.last_transition_time.timestamp() > one.node.created + 1


def leaves_since(one: Kept) -> datetime:
    """Since when a machine, or its node, is on its way out."""
    times = [row.deleting for row in (one.row, one.node) if row is not None and row.deleting]
    return datetime.fromtimestamp(min(times), UTC)


def held_by(one: Kept) -> str:
    """Who keeps it from going."""
    node = one.node if one.node is not None and one.node.deleting else None
    kind, finalizers = (
        ("machine", one.row.finalizers) if one.row.deleting or node is None else ("node", node.finalizers)
    )
    said = f"finalizer {finalizers[0]}" if finalizers else "something"
    return f"{said} holds {kind} {one.name} for longer than the joinTimeout"


def _said(one: Kept) -> Condition | None:
    return next((said for said in one.machine.status.conditions if said.type == READY), None)


def phase_of(case: Case, one: Kept) -> Phase:
    """One word, why, and the same for people."""
    if one.row.deleting:
        return MachinePhase.REMOVING, Reason.LEAVING, "being deleted"
    return _of_wanted(case, one) if one.wanted else _of_too_many(one)


def _of_wanted(case: Case, one: Kept) -> Phase:
    if one.ready:
        return MachinePhase.JOINED, Reason.JOINED, "its node is Ready"
    if is_late(case, one):
        said = f"its node was not Ready in {case.spec.join_timeout}"
        return MachinePhase.FAILED, Reason.NOT_READY_IN_TIME, said
    if one.node is None and case.spec.paused:
        return MachinePhase.PENDING, Reason.PAUSED, "its pool is paused: its node is not made"
    if one.node is None:
        return MachinePhase.CREATING, Reason.CREATING, "its node is being made"
    told = "its node is not Ready any more" if was_ready(one) else "its node is not Ready yet"
    return MachinePhase.JOINING, Reason.JOINING, told


def _of_too_many(one: Kept) -> Phase:
    """Nothing is done for it, and nothing to it."""
    fewer = "the pool asks for fewer machines"
    if one.node is None:
        return MachinePhase.PENDING, Reason.TOO_MANY, f"{fewer}: no node is made for it"
    phase = MachinePhase.JOINED if one.ready else MachinePhase.JOINING
    return phase, Reason.TOO_MANY, f"{fewer}: its node stays until somebody deletes it"
