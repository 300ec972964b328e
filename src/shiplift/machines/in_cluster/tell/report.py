"""The statuses of pools and machines, from a decision. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from msgspec.structs import replace

from shiplift.api.conditions import stated
from shiplift.api.machines import MachinePhase, MachinePoolStatus, MachineStatus, Provider
from shiplift.api.values import Progress
from shiplift.engine import conditions
from shiplift.engine.conditions import READY, Statement, Status
from shiplift.engine.progress import Weight
from shiplift.machines.in_cluster.decide.case import Case
from shiplift.machines.in_cluster.decide.standing import phase_of
from shiplift.machines.in_cluster.model import Kept, Line, MachineTold, PoolTold, Reason, State
from shiplift.machines.words import short

_MOST_FAILED = 500
_MOST_ADDRESSES = 16


def pool_told(case: Case, line: Line) -> PoolTold:
    about, before = case.pool.metadata, case.pool.status
    return PoolTold(
        case.row,
        replace(
            before,
            observed_generation=about.generation,
            message=short(line.message),
            conditions=stated(before.conditions, _pool_said(line), generation=about.generation, now=case.now),
            **_counts(case),
        ),
    )


def _pool_said(line: Line) -> tuple[Statement, ...]:
    message = short(line.message)
    match line.state:
        case State.READY:
            return conditions.ready(line.reason, message)
        case State.ON_THE_WAY:
            return conditions.reconciling(line.reason, message)
        case State.NEEDS_SOMEBODY:
            return conditions.stalled(line.reason, message)
        case State.NOT_OURS:
            return (Statement(READY, Status.UNKNOWN, line.reason, message),)


def _counts(case: Case) -> dict[str, object]:
    if case.spec.provider is Provider.STATIC:
        return _of_hosts(case)
    joined = sum(one.node is not None for one in case.kept)
    ready = sum(one.ready for one in case.wanted)
    failed = [one.name for one in case.kept if phase_of(case, one)[0] is MachinePhase.FAILED]
    return {
        "replicas": len(case.kept),
        "initialised": joined,
        "joined": joined,
        "ready": Progress.of(ready, case.spec.replicas),
        "failed": tuple(failed[:_MOST_FAILED]),
    }


def _of_hosts(case: Case) -> dict[str, object]:
    """By the nodes that have their names: all that the cluster knows of machines that it does not lead."""
    hosts = case.spec.static.hosts if case.spec.static else ()
    nodes = [node for one in hosts if (node := case.view.nodes.get(one.name)) is not None]
    ready = min(sum(one.ready for one in nodes), case.spec.replicas)  # some may be there to spare
    return {
        "replicas": len(nodes),
        "initialised": len(nodes),
        "joined": len(nodes),
        "ready": Progress.of(ready, case.spec.replicas),
    }


def machines_told(case: Case) -> Iterator[MachineTold]:
    """Machines of which there is something new to tell. Of one that was written down a moment ago there is
    not: its node is about to come, and a large pool would be told of twice."""
    for one in case.kept:
        if _is_settled(one):
            continue
        before, status = one.machine.status, machine_status(case, one)
        fresh = before.phase is None and status.phase is MachinePhase.CREATING
        if status != before and not fresh:
            yield MachineTold(one.row, status)


def _is_settled(one: Kept) -> bool:
    """Whether what was told last is so still: of most machines, most of the time."""
    status = one.machine.status
    told = status.phase is MachinePhase.JOINED and status.reason == Reason.JOINED and status.node == one.name
    seen = status.observed_generation == one.machine.metadata.generation
    return told and seen and one.ready and one.wanted and not one.row.deleting


def machine_status(case: Case, one: Kept) -> MachineStatus:
    before, generation = one.machine.status, one.machine.metadata.generation
    phase, reason, message = phase_of(case, one)
    return replace(
        before,
        observed_generation=generation,
        conditions=stated(
            before.conditions, _machine_said(phase, reason, message), generation=generation, now=case.now
        ),
        phase=phase,
        reason=reason.value,
        message=message,
        **_of_node(one, before),
    )


def _machine_said(phase: MachinePhase, reason: Reason, message: str) -> tuple[Statement, ...]:
    match phase:
        case MachinePhase.JOINED:
            return conditions.ready(reason, message)
        case MachinePhase.FAILED:
            return conditions.stalled(reason, message)
        case _:
            return conditions.reconciling(reason, message)


def _of_node(one: Kept, before: MachineStatus) -> dict[str, object]:
    if one.node is None:
        return {"node": None, "initialised": before.initialised}
    return {
        "node": one.name,
        "initialised": True,
        "addresses": tuple(address for _, address in one.node.addresses[:_MOST_ADDRESSES]),
        "creation_time": datetime.fromtimestamp(one.node.created, UTC),
    }


def _essence(status: MachinePoolStatus) -> tuple[object, ...]:
    """What people who wait depend on."""
    said = tuple((one.type, one.status, one.reason, one.observed_generation) for one in status.conditions)
    return said, status.failed, status.observed_generation


WEIGHT: Weight[MachinePoolStatus] = Weight(
    _essence, ("message", "replicas", "initialised", "joined", "ready", "conditions")
)
"""What of a pool's status is told at once, and what whenever it costs little."""
