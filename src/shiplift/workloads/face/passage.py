"""What a workload, and one pod of it, has to pass before that pod moves: the gates of the decision, in order.

Gates are asked as the decision asks them, on books in which all that comes before has taken what it needs.
What only the operator knows is taken for open and marked; where its status says that such a gate is closed,
that is told as its word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from enum import StrEnum
from itertools import takewhile

import msgspec

from shiplift.facts.pods import Pod
from shiplift.view.values import ago, plain
from shiplift.workloads.decide.awaited import still_coming
from shiplift.workloads.decide.books import Books
from shiplift.workloads.decide.candidates import in_order
from shiplift.workloads.decide.decision import books_for
from shiplift.workloads.decide.gate import Closed, Gate
from shiplift.workloads.decide.gates import WORKLOAD_GATES
from shiplift.workloads.decide.pod_gates import POD_GATES
from shiplift.workloads.face.apart import pod_apart, workload_apart
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.model import Reason, Tally, View

OPERATOR_LAST = "all others have moved before the operator itself"


class Passing(StrEnum):
    """How a gate is found."""

    OPEN = "open"
    PASSED = "passed"
    """For good: the release of the workload is written down."""
    CLOSED = "closed"
    NOT_REACHED = "not reached"
    UNKNOWN = "unknown"
    """Only the operator knows."""


class Said(msgspec.Struct, frozen=True):
    """The operator's word of a workload; for how many seconds it has said so, where it says."""

    reason: str
    message: str
    seconds: int | None


class GateView(msgspec.Struct, frozen=True):
    """One gate: what is true where it is open, how it is found, and what closes it."""

    open: str
    passing: Passing
    reason: str = ""
    message: str = ""
    said: Said | None = None
    """What closes it, where that is the operator's word."""


class Passage(msgspec.Struct, frozen=True):
    """The gates of a workload and of a pod of it."""

    workload: tuple[GateView, ...] = ()
    pod: tuple[GateView, ...] = ()
    name: str = ""
    """The pod's."""
    ahead: int = 0
    """So many pods of the workload go before it at this moment."""
    instead: str = ""
    """Why there is no pod that has to pass anything, in words."""
    said: Said | None = None
    """What the operator says, where no gate is closed."""


def passage(view: View, id_: WorkloadId, pod: Pod | None, now: int) -> Passage:
    """What the workload has to pass and then that pod of it, or where none is named its next one to go; `now`
    is in seconds since 1970."""
    if why := workload_apart(view, id_) or (pod_apart(view, pod) if pod else ""):
        return Passage(instead=why)
    view, tally, said = _assumed(view), view.tallies[id_], _said(view, id_, now)
    books = books_for(view, datetime.fromtimestamp(now, UTC), id_)
    workload = tuple(_workload_gates(books, tally, said))
    passed = not any(one.passing is Passing.CLOSED for one in workload)
    told = _of_pod(books, tally, pod or next(iter(in_order(tally)), None), passed=passed)
    told = msgspec.structs.replace(told, workload=workload)
    closed = not passed or any(one.passing is Passing.CLOSED for one in told.pod)
    return told if closed else msgspec.structs.replace(told, said=said)


def _assumed(view: View) -> View:
    """Every placement is in force: to know, API servers would have to be asked by writing."""
    seen = {one.row.uid: one.row.generation for one in view.placements.values()}
    return msgspec.structs.replace(view, in_force=seen)


def _said(view: View, id_: WorkloadId, now: int) -> Said | None:
    for one in view.status.workloads:
        if (
            WorkloadId(one.kind.value, one.namespace, one.name) == id_
            and one.uid == view.tallies[id_].row.uid
        ):
            return Said(one.reason or "", plain(one.message), ago(one.since, now))
    return None


def _workload_gates(books: Books, tally: Tally, said: Said | None) -> Iterator[GateView]:
    """Whether a workload is the operator itself only the operator knows; to others that gate is not shown."""
    reached = said is None or said.reason != Reason.GOES_LAST
    if not reached:
        yield GateView(OPERATOR_LAST, Passing.CLOSED, said=said)
    for gate in WORKLOAD_GATES:
        if gate.is_of(books.view.target.mode):
            found = _of_workload(books, tally, gate, said) if reached else _unreached(gate.open)
            reached = found.passing is not Passing.CLOSED and reached
            yield found


def _of_workload(books: Books, tally: Tally, gate: Gate, said: Said | None) -> GateView:
    if gate.before_release and tally.id in books.released:
        return GateView(gate.open, Passing.PASSED)
    closed = gate.closed(books, tally) if gate.concerns(books) else None
    if closed is not None or not gate.known_to_operator:
        return _found(gate.open, closed)
    if said is not None and said.reason in gate.known_to_operator:
        return GateView(gate.open, Passing.CLOSED, said=said)
    return GateView(gate.open, Passing.UNKNOWN)


def _found(open_: str, closed: Closed | None) -> GateView:
    if closed is None:
        return GateView(open_, Passing.OPEN)
    return GateView(open_, Passing.CLOSED, closed.line.reason.value, plain(closed.line.message))


def _unreached(open_: str) -> GateView:
    return GateView(open_, Passing.NOT_REACHED)


def _of_pod(books: Books, tally: Tally, pod: Pod | None, *, passed: bool) -> Passage:
    """The gates of the pod; a workload without pods to move says what is still on its way instead."""
    if pod is None:
        return Passage(instead=plain(still_coming(tally).message) if passed else "")
    if not passed:
        return Passage(pod=tuple(_unreached(gate.open) for gate in POD_GATES), name=pod.name)
    ahead = sum(_goes(books, tally, one) for one in _before(tally, pod))
    return Passage(pod=tuple(_pod_gates(books, tally, pod)), name=pod.name, ahead=ahead)


def _before(tally: Tally, pod: Pod) -> Iterable[Pod]:
    return takewhile(lambda one: one.uid != pod.uid, in_order(tally))


def _goes(books: Books, tally: Tally, pod: Pod) -> bool:
    """Whether the pod goes now; what it uses up is used up then."""
    goes = all(gate.closed(books, tally, pod) is None for gate in POD_GATES)
    if goes:
        books.goes(tally, pod)
    return goes


def _pod_gates(books: Books, tally: Tally, pod: Pod) -> Iterator[GateView]:
    reached = True
    for gate in POD_GATES:
        found = _found(gate.open, gate.closed(books, tally, pod)) if reached else _unreached(gate.open)
        reached = found.passing is not Passing.CLOSED and reached
        yield found
