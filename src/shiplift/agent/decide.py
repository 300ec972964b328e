"""What an agent does next, from what its Node and its machine say: pure, the law of the agent's side.

    order ──▶ claim ──▶ seen on the Node ──▶ work ──▶ restart, where needed ──▶ answer

What is kept true:
- Nothing is done to the machine before the claim (`ready: false TOKEN`) is seen on the Node. From then on the
  controller cannot withdraw the order, and the agent answers it, whatever becomes of the order's annotation.
- An order is done for this very node alone, and, where it disturbs pods, begun only while it is cordoned; so
  is the restart that it ends with.
- What was answered (`ready: true TOKEN`) is never done again, whatever the machine remembers.
- A claim stands until it is answered: of two orders the claimed one comes first.
- What cannot be written to the machine's disk is not begun, and the answer says why.
- The answer and the versions that are there after it are one write.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from shiplift.agent import protocol, telling
from shiplift.agent.model import Begin, Decision, Keep, Machine, Progress, Record, Restart, Seen, Work
from shiplift.agent.protocol import (
    OUTCOME,
    READY,
    Agent,
    Operation,
    Order,
    Outcome,
    ProtocolError,
    Readiness,
    Reboot,
    Result,
    Token,
)
from shiplift.agent.telling import Annotations


@dataclass(frozen=True)
class _Next:
    """What an order asks for now; of these parts, in this order."""

    keep: Record | None = None
    told: Annotations = field(default_factory=dict[str, str | None])
    act: Begin | Restart | None = None
    says: str = ""
    busy: bool = False


def decide(seen: Seen, machine: Machine, version: str, *, due: bool = False, unkept: str = "") -> Decision:
    """`version` is the agent's own; `due` says that its heartbeat is; `unkept` why the record could not be
    written to the disk that was to be kept a moment ago."""
    if seen.machine_id != machine.id:
        return Decision(says=f"the Node is of machine {seen.machine_id!r}, this one is {machine.id!r}")
    step = _next(seen, machine)
    if step.keep is not None and unkept:
        step = _not_kept(machine, step, step.keep, unkept)
    keep = (Keep(step.keep),) if step.keep else ()
    # an answer says itself
    agent = Agent(version, 0, says="" if OUTCOME in step.told else step.says)
    write = telling.write(seen, machine, agent, step.told, due=due)
    actions = (*keep, *((write,) if write else ()), *((step.act,) if step.act else ()))
    return Decision(actions, step.says, step.busy)


def _next(seen: Seen, machine: Machine) -> _Next:
    readiness = _readiness(seen)
    if readiness is not None and not readiness.ready and _is_of(readiness.token, seen.uid):
        return _claimed(seen, machine, readiness.token)
    try:
        order = protocol.order_of(seen.annotations)
    except ProtocolError as error:
        return _refused(seen, protocol.token_text(seen.annotations), str(error))
    if order is None or readiness == Readiness(True, str(order.token)):
        return _Next(says="" if readiness else _forgotten(seen, machine))
    return _unclaimed(seen, machine, order)


def _forgotten(seen: Seen, machine: Machine) -> str:
    """What is told of an order that was begun, and that somebody took off the Node with all that is said of
    it: nobody waits for its end, and it is not gone on with. Empty where there is no such order."""
    record, ends = machine.record, (Progress.DONE, Progress.FAILED)
    if record is None or not record.begun or not _is_of(record.token, seen.uid):
        return ""
    return "" if machine.work.progress in ends else f"order {record.token} {_FORGOTTEN}"


# --- before the claim ---


def _unclaimed(seen: Seen, machine: Machine, order: Order) -> _Next:
    token, desired = str(order.token), protocol.desired_versions(seen.annotations)
    if why := _impossible(seen, machine, order, desired):
        return _refused(seen, token, why)
    if order.token.operation.wants_cordon and not seen.unschedulable:
        return _Next(says=f"order {token} waits: the node is not cordoned")
    record = machine.record
    if record is not None and record.token != token and machine.work.progress is Progress.RUNNING:
        return _Next(says=f"order {token} waits: the work of order {record.token} is not over", busy=True)
    if record is None or record.token != token or not record.begun:
        record = Record(order, desired)
    return _Next(record, {READY: Readiness(False, token).written()}, busy=True)


def _impossible(seen: Seen, machine: Machine, order: Order, desired: Mapping[str, str]) -> str:
    """Why an order is never begun here; empty where it can be."""
    operation = order.token.operation
    if order.token.node != seen.uid:
        return f"the order is for a node with uid {order.token.node}, and this one has {seen.uid}"
    if operation not in machine.can:
        return f"this machine cannot do {operation.value}"
    if operation is Operation.UPGRADE_APPLY and not order.version:
        return f"{operation.value} needs a version of Kubernetes, and the order names none"
    if operation is Operation.PACKAGES and not desired:
        return f"{operation.value} needs a desired version, and no annotation names one"
    if operation is Operation.PREPARE and not (order.version or desired):
        return f"{operation.value} needs a version of Kubernetes or a desired version, and there is none"
    return ""


# --- after it ---


def _claimed(seen: Seen, machine: Machine, token: str) -> _Next:
    record = _record(seen, machine, token)
    if record is None:
        return _answered(Outcome(token, Result.FAILED, _ORDER_LOST))
    work = machine.work if machine.record == record else Work()
    match work.progress:
        case Progress.ABSENT:
            return _begun(seen, record)
        case Progress.RUNNING:
            return _Next(busy=True)
        case Progress.FAILED:
            return _answered(Outcome(token, Result.FAILED, work.message, work.path))
        case Progress.DONE:
            return _done(seen, machine, record, work)


def _record(seen: Seen, machine: Machine, token: str) -> Record | None:
    """Of a claimed order: the machine's, else made anew from the order that is still on the Node."""
    if machine.record is not None and machine.record.token == token:
        return machine.record
    try:
        order = protocol.order_of(seen.annotations)
    except ProtocolError:
        return None
    if order is None or str(order.token) != token:
        return None
    # whether the work was begun is lost with the record: it may have been
    return Record(order, protocol.desired_versions(seen.annotations), begun=True)


def _begun(seen: Seen, record: Record) -> _Next:
    if record.order.token.operation.wants_cordon and not seen.unschedulable:
        half_way = Outcome(record.token, Result.FAILED, _UNCORDONED_HALF_WAY)
        return _answered(half_way if record.begun else Outcome(record.token, Result.REFUSED, _UNCORDONED))
    begun = replace(record, begun=True)
    return _Next(begun, act=Begin(begun), busy=True)


def _done(seen: Seen, machine: Machine, record: Record, work: Work) -> _Next:
    if not _wants_restart(machine, record):
        return _answered(Outcome(record.token, Result.DONE, work.message, work.path))
    if not seen.unschedulable:
        return _Next(says=f"order {record.token}: {_RESTART_WAITS}", busy=True)
    return _Next(replace(record, restarted_from=machine.boot_id), act=Restart(), busy=True)


def _wants_restart(machine: Machine, record: Record) -> bool:
    """Once for each order: a machine that still wants one after it is not restarted for ever."""
    if record.order.token.operation is not Operation.PACKAGES:
        return False
    if record.restarted_from is not None:
        return record.restarted_from == machine.boot_id
    return record.order.reboot is Reboot.ALWAYS or machine.restart_required


# --- what cannot be written to the disk ---


def _not_kept(machine: Machine, step: _Next, record: Record, why: str) -> _Next:
    """Nothing is done that is not on record: the order is answered, by whether it may have been begun before;
    work that runs comes to its end first. A restart that is on record already was told before, and of a
    machine that goes down the disk may be shut."""
    if isinstance(step.act, Restart) and record == machine.record:
        return replace(step, keep=None)
    known = machine.record if machine.record is not None and machine.record.token == record.token else record
    said = f"the order cannot be written to the machine's disk: {why}"
    if known.begun and machine.work.progress is Progress.RUNNING:
        return _Next(says=f"order {record.token}: {said}", busy=True)
    if known.begun:
        outcome = Outcome(record.token, Result.FAILED, f"{said}; the machine may be half-way")
    else:
        outcome = Outcome(record.token, Result.REFUSED, f"{said}; nothing was begun")
    return replace(_answered(outcome), says=f"order {record.token}: {outcome.message}")


# --- answers ---

_ORDER_LOST = "it was claimed, and neither its annotation nor this machine's record of it is there any more"
_FORGOTTEN = "was begun, and the Node says nothing of it any more: the machine may be half-way"
_UNCORDONED = "the node was uncordoned after the order was claimed, and nothing was begun"
_RESTART_WAITS = "its packages are installed, and the restart waits until the node is cordoned again"
_UNCORDONED_HALF_WAY = "the node was uncordoned while the work was interrupted: it may be half-way"


def _answered(outcome: Outcome) -> _Next:
    return _Next(told={READY: Readiness(True, outcome.token).written(), OUTCOME: outcome.written()})


def _refused(seen: Seen, token: str, why: str) -> _Next:
    """Said once: an answer that stands there already is not written again."""
    answer = replace(_answered(Outcome(token, Result.REFUSED, why)), says=f"order {token} is refused: {why}")
    if all(seen.annotations.get(key) == value for key, value in answer.told.items()):
        return _Next()
    return answer


def _readiness(seen: Seen) -> Readiness | None:
    """What we have said; what cannot be read is not ours."""
    try:
        return protocol.readiness_of(seen.annotations)
    except ProtocolError:
        return None


def _is_of(token: str, uid: str) -> bool:
    """Whether a claim is one of this node: another of the same name may have left its own."""
    try:
        return Token.parsed(token, READY).node == uid
    except ProtocolError:
        return False
