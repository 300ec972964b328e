"""Why a workload, or a pod of it, has not moved yet: one ordered tuple of gates, each open or closed by a
line.

The first closed gate is what the workload waits for. It also says what there is to do about it, and nothing
else is done for the workload. `shiplift explain pod/NAME` prints the same tuple.

    WORKLOAD_GATES   whose turn it is, and what has to be in place before any pod of it moves
    POD_GATES        for each pod of a workload that has passed those, in the order in which its pods go

Gates change nothing but the books: a pod that finds a place has that place kept for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from shiplift.api.marks import OFF_TARGET_LABEL, TARGET_LABEL
from shiplift.api.workloads import (
    Mode,
    OnBlockedWorkload,
    OnNoCapacity,
    OnUnknownArchitecture,
    WorkloadState,
)
from shiplift.engine import retries
from shiplift.engine.step import Step
from shiplift.facts.pods import Pod, PodSpec, tolerated
from shiplift.facts.workloads import StatefulSet
from shiplift.pdb.coverage import budgets_of, covering
from shiplift.pdb.holds import is_hold
from shiplift.pdb.verdicts import Obstacle, explained, obstacle
from shiplift.room.booking import NoSlot
from shiplift.workloads.decide import brake, placements, waiting
from shiplift.workloads.decide.architectures import ARCHITECTURE
from shiplift.workloads.decide.books import Books
from shiplift.workloads.decide.candidates import first_of_each
from shiplift.workloads.decide.forgetting import forget_evictions
from shiplift.workloads.decide.surging import can_surge, surge
from shiplift.workloads.marks import has_toleration, keeps_off, off_target_taint, upgrade_taint
from shiplift.workloads.model import Line, Reason, Tally
from shiplift.workloads.names import SKIP
from shiplift.workloads.record import Record
from shiplift.workloads.steps import SetTolerations

TIME_TO_LABEL = 10
"""Seconds that a new pod has to get the labels that decide which budget covers it."""
BLOCKING = (
    Reason.NEVER_EVICTABLE,
    Reason.TWO_BUDGETS,
    Reason.BUDGET_NOT_COUNTED,
    Reason.SURGE_IMPOSSIBLE,
    Reason.SURGE_FAILED,
)
PAUSED = "paused; `shiplift resume` goes on"


class Closed(msgspec.Struct, frozen=True):
    """What a workload waits for, and what is done about it."""

    line: Line
    steps: tuple[Step, ...] = ()
    asked: bool = False
    """Whether the line is to tell how its step was answered, where it was taken before."""
    record: Record | None = None
    """What has to be written down first."""
    check: bool = False
    """Whether the API servers are to be asked if they go by its placement."""
    unplaced: bool = False
    """Whether its turn has come and it stays held, since no target node can take a pod of it."""
    due: tuple[float, ...] = ()
    """In how many seconds to look again, where no event announces it."""


def _always(_books: Books) -> bool:
    return True


class Gate(msgspec.Struct, frozen=True):
    """One gate; `open` says in words what is true where it is open."""

    open: str
    closed: Callable[[Books, Tally], Closed | None]
    before_release: bool = False
    """Whether a workload whose release is written down has passed it for good."""
    concerns: Callable[[Books], bool] = _always
    """Whether any workload can find it closed in this decision: there are many workloads."""
    mode: Mode | None = None
    """The only mode that has it, where not both have."""
    known_to_operator: tuple[Reason, ...] = ()
    """Where only the operator can tell, since it depends on what it has seen and done: the reasons that it
    gives where the gate is closed."""

    def is_of(self, mode: Mode | None) -> bool:
        """Whether workloads meet it in that mode."""
        return self.mode in (None, mode)


class PodGate(NamedTuple):
    """A gate of one pod; `open` says in words what is true where it is open."""

    open: str
    closed: Callable[[Books, Tally, Pod], Closed | None]


def _closed(state: WorkloadState, reason: Reason, message: str) -> Closed:
    return Closed(Line(state, reason, message))


class Way:
    """The gates that workloads meet in one decision, those that nobody can find closed left out."""

    def __init__(self, books: Books) -> None:
        mode = books.view.target.mode
        concerned = [gate for gate in WORKLOAD_GATES if gate.is_of(mode) and gate.concerns(books)]
        self._books = books
        self._all = tuple(gate.closed for gate in concerned)
        self._released = tuple(gate.closed for gate in concerned if not gate.before_release)

    def first_closed(self, tally: Tally) -> Closed | None:
        """What the workload waits for before any pod of it moves."""
        books = self._books
        for closed in self._released if tally.id in books.released else self._all:
            if (found := closed(books, tally)) is not None:
                return found
        return None


# --- what is known ---


def _all_is_readable(books: Books, tally: Tally) -> Closed | None:
    """What nobody can read may be its budget, its order or its pod: to go on would be to guess."""
    found = books.unreadable.get(tally.id.namespace)
    return None if found is None else _closed(WorkloadState.BLOCKED, Reason.UNREADABLE, str(found))


# --- its turn ---


def _dependencies(books: Books, tally: Tally) -> Closed | None:
    line = None if tally.id in books.may_move else waiting.for_others(books.view, tally)
    return None if line is None else Closed(line)


def _its_turn(books: Books, tally: Tally) -> Closed | None:
    return None if tally.id in books.may_move else Closed(waiting.at_its_turn(books.view, tally))


def _nodes_are_tainted(books: Books, _tally: Tally) -> Closed | None:
    """Before target nodes are tainted, held pods could come to them."""
    if books.not_tainted:
        return _closed(WorkloadState.BLOCKED, Reason.NODE_NOT_MARKED, books.not_tainted)
    first = "" if books.held.complete else ", as soon as all that have to be held are"
    return _closed(WorkloadState.MOVING, Reason.PREPARING, f"nodes are being tainted first{first}")


def _fits_into_placement(books: Books, tally: Tally) -> Closed | None:
    """A namespace with more workloads than a placement can name: the others cannot be moved by us."""
    placement = books.view.placements.get(tally.id.namespace)
    most = placements.MOST_NAMED
    if placement is None or len(placement.listed) < most or tally.id in placement.listed:
        return None
    text = f"its namespace has more than {most} workloads; move it yourself, or leave it out"
    return _closed(WorkloadState.BLOCKED, Reason.TOO_MANY, text)


def _template_lets_on(books: Books, tally: Tally) -> Closed | None:
    """What is made from it would be made again and again; a slot is looked for as if our marks were not in
    it. A surge that is under way is seen to its end."""
    view, template = books.view, tally.row.template
    if template.node_terms is None or not keeps_off(template, view.target.version):
        return None
    if placements.record_of(view, tally.id).surge is not None:
        return None
    text = (
        f"its template keeps its pods off the target nodes: take {TARGET_LABEL} and {OFF_TARGET_LABEL} out of"
        " the node affinity of its template, which are for shiplift to set"
    )
    line = Line(WorkloadState.BLOCKED, Reason.TEMPLATE_KEEPS_OFF, text)
    return Closed(line, unplaced=tally.id not in books.released)


def _target_nodes(books: Books, _tally: Tally) -> Closed | None:
    text = f"no node runs {books.view.target.version} yet"
    return Closed(Line(WorkloadState.HELD, Reason.WAITING_FOR_NODES, text), unplaced=True)


def _nodes_have_come(books: Books, tally: Tally) -> Closed | None:
    """Not for a pod that is to be rescued: it runs nowhere meanwhile."""
    if books.settling is None or tally.id in books.early:
        return None
    line = Line(WorkloadState.HELD, Reason.WAITING_FOR_NODES, books.settling.why)
    return Closed(line, unplaced=True, due=(books.settling.left,))


def _images_run_there(books: Books, tally: Tally) -> Closed | None:
    found = books.architectures.unseen(tally.row.template)
    if found is None:
        return None
    text = (
        f"image {found.image} was never seen to run on {found.architecture}, as target nodes are; run one pod"
        f" with it there, select {ARCHITECTURE} in its template, or set spec.onUnknownArchitecture of"
        " WorkloadMigration cluster to Move"
    )
    line = Line(WorkloadState.BLOCKED, Reason.UNKNOWN_ARCHITECTURE, text)
    return Closed(line, unplaced=True)


def _waits_for_architecture(books: Books) -> bool:
    wait = books.view.spec.on_unknown_architecture is OnUnknownArchitecture.WAIT
    return wait and bool(books.view.fleet.strange)


def _not_between_old_nodes(books: Books, tally: Tally) -> Closed | None:
    """While a pod of it makes room on an old node, it cannot be released."""
    if not _is_between(tally):
        return None
    text = f"a pod of it goes from {books.view.status.emptying} to another old node first"
    return Closed(Line(WorkloadState.HELD, Reason.CONSOLIDATING, text), unplaced=True)


def _room_to_begin(books: Books, tally: Tally) -> Closed | None:
    """No workload is released before a target node can take a pod of it: new pods must fit somewhere. Once
    released a workload cannot make room among the old nodes: with Consolidate it has to fit whole. Where a
    pod is to be rescued its place is kept already."""
    if tally.id in books.early:
        return None
    for pod in tally.away if _consolidates(books) else tally.away[:1]:
        if (slot := books.no_slot(pod)) is not None:
            return msgspec.structs.replace(_makes_room_no_more(books, tally) or _no_slot(slot), unplaced=True)
    return None


def _makes_room_no_more(books: Books, tally: Tally) -> Closed | None:
    """Where pods that were to make room came back again and again, nobody waits for room to be made."""
    if not books.brakes or not _consolidates(books):
        return None
    line = brake.stop_of_making_room(books.view, tally, books.counted)
    return None if line is None else Closed(line)


def _release_is_written(books: Books, tally: Tally) -> Closed | None:
    text = "its turn has come: its release is being written down"
    line = Line(WorkloadState.RELEASED, Reason.ITS_TURN, text)
    if why := placements.not_written(books.view, tally.id.namespace):
        line = Line(WorkloadState.BLOCKED, Reason.REFUSED, why)
    return Closed(line, record=_toleration_to_record(books, tally))


def _toleration_to_record(books: Books, tally: Tally) -> Record | None:
    """Mode Template: that the template is going to be changed is written down; the change comes after."""
    view = books.view
    if view.target.mode is not Mode.TEMPLATE or view.spec.paused:
        return None
    record = placements.record_of(view, tally.id)
    if record.toleration == view.target.version:
        return None
    target = view.target.version
    theirs = not record.toleration and has_toleration(tally.row.template, target)
    own = target if theirs else record.own
    return Record(toleration=target, surge=record.surge, own=own, earlier=_earlier(record, tally, target))


def _earlier(record: Record, tally: Tally, target: str) -> str:
    """Which toleration of ours the template keeps until it gets the new one: what it is seen to have, or else
    what it was to get last."""
    given = [one for one in record.given if one != target]
    there = (one for one in given if has_toleration(tally.row.template, one))
    return next(there, given[0] if given else "")


def _consolidates(books: Books) -> bool:
    return books.view.spec.on_no_capacity is OnNoCapacity.CONSOLIDATE


def _is_between(tally: Tally) -> bool:
    """Whether a pod of it is on its way from one node to another."""
    return bool(tally.leaving) or any(not pod.unschedulable for pod in tally.pending)


# --- what has to be in place ---


def _surge_is_over(books: Books, tally: Tally) -> Closed | None:
    record = placements.record_of(books.view, tally.id)
    if record.surge is None:
        return None
    if record.surge.is_taken_back and tally.away and never_evictable(books, tally)[0] is None:
        line = Line(WorkloadState.RELEASED, Reason.SURGING, "its budget lets pods go by now")
        return Closed(line, record=msgspec.structs.replace(record, surge=None))
    return _surging(books, tally)


def _surging(books: Books, tally: Tally) -> Closed:
    found = surge(books.view, tally, books.no_slot_for_one_more, books.now)
    state = WorkloadState.BLOCKED if found.reason in BLOCKING else WorkloadState.MOVING
    line = Line(state, found.reason, found.message)
    if refused := next(retries.failures(books.view.outcomes, found.steps), ""):
        line = Line(WorkloadState.BLOCKED, Reason.REFUSED, f"{found.message}; {refused}")
    return Closed(line, steps=found.steps, record=found.record, due=found.due)


def _not_all_there(books: Books, tally: Tally) -> Closed | None:
    if not tally.complete:
        return None
    text = f"all pods are there; they are watched until they have been Ready for {books.view.spec.soak}"
    return _closed(WorkloadState.MOVING, Reason.SOAKING, text)


def _nothing_stops_all(books: Books, _tally: Tally) -> Closed | None:
    return None if books.stop is None else Closed(books.stop)


def _evicted_seldom(books: Books, tally: Tally) -> Closed | None:
    view, counted = books.view, books.counted
    line = brake.stop_of(view, tally, counted) or brake.stop_of_making_again(view, tally, counted)
    return None if line is None else Closed(line)


def _budget_is_given_back(books: Books, tally: Tally) -> Closed | None:
    budgets = books.view.budgets
    if not any(is_hold(budgets[uid]) for uid in covering(tally) if uid in budgets):
        return None
    return _closed(WorkloadState.RELEASED, Reason.HELD_BUDGET, "its PodDisruptionBudget is being given back")


def _template_tolerates(books: Books, tally: Tally) -> Closed | None:
    view = books.view
    if tolerated(tally.row.template.tolerations, upgrade_taint(view.target.version)):
        return None
    if view.spec.paused:
        return _closed(WorkloadState.RELEASED, Reason.PAUSED, PAUSED)
    if (stop := brake.stop_of_giving_again(view, tally, books.put_back)) is not None:
        return Closed(stop)
    record = placements.record_of(view, tally.id)
    if record.own == view.target.version:
        line = Line(WorkloadState.MOVING, Reason.MOVING, "its owner took a toleration off: it gets ours")
        return Closed(line, record=msgspec.structs.replace(record, own=""))
    step = SetTolerations(tally.id, tally.row.uid, view.target.version, keeps=record.own)
    if step.change in view.changes or tally.row.uid in books.put_back:
        step = msgspec.structs.replace(step, again=True)
    return Closed(Line(WorkloadState.MOVING, Reason.MOVING, step.describe()), steps=(step,), asked=True)


def _placement_in_force(books: Books, tally: Tally) -> Closed | None:
    if books.is_in_force(tally.id.namespace):
        return None
    return Closed(brake.not_proven(books.view, tally.id.namespace), check=True)


def _placements_are_there(books: Books, _tally: Tally) -> Closed | None:
    """Before every namespace has its placement no pod moves: new pods of others could come first."""
    text = f"the placement of {books.without_placement[0]} is being written first"
    return _closed(WorkloadState.MOVING, Reason.PREPARING, text)


def _no_rollout(_books: Books, tally: Tally) -> Closed | None:
    if not tally.rolling:
        return None
    there = len(tally.pods) - len(tally.away)
    text = f"a rollout is running: {there} of {tally.row.replicas} pods are off the old nodes"
    return _closed(WorkloadState.MOVING, Reason.ROLLOUT_RUNNING, text)


WORKLOAD_GATES = (
    Gate(
        "everything in its namespace can be read",
        _all_is_readable,
        concerns=lambda books: bool(books.unreadable),
    ),
    Gate("all that it depends on have moved", _dependencies, before_release=True),
    Gate("nobody keeps it from its turn", _its_turn, before_release=True),
    Gate(
        "nodes carry their taints",
        _nodes_are_tainted,
        concerns=lambda books: bool(books.view.fleet.taints),
        mode=Mode.TEMPLATE,
    ),
    Gate("its namespace's placement can name it", _fits_into_placement, before_release=True),
    Gate("its template lets its pods onto target nodes", _template_lets_on),
    Gate(
        "nodes of the target version are there",
        _target_nodes,
        before_release=True,
        concerns=lambda books: (
            not books.view.fleet.targets and not _consolidates(books) and not books.growth.on
        ),
    ),
    Gate(
        "target nodes have come before the first move",
        _nodes_have_come,
        before_release=True,
        concerns=lambda books: books.settling is not None,
    ),
    Gate(
        "its images run on what target nodes are",
        _images_run_there,
        before_release=True,
        concerns=_waits_for_architecture,
    ),
    Gate(
        "no pod of it makes room on an old node",
        _not_between_old_nodes,
        before_release=True,
        concerns=lambda books: bool(books.view.status.emptying),
    ),
    Gate("a target node has room for a pod of it", _room_to_begin, before_release=True),
    Gate("its release is written down", _release_is_written, before_release=True),
    Gate("no surge of it is under way", _surge_is_over),
    Gate("pods of it are left to move, or to come", _not_all_there),
    Gate(
        "nothing stops all moves",
        _nothing_stops_all,
        concerns=lambda books: books.stop is not None,
        known_to_operator=(Reason.NODE_NOT_MARKED, Reason.POD_NOT_STEERED),
    ),
    Gate(
        "its pods were not evicted again and again",
        _evicted_seldom,
        concerns=lambda books: books.brakes,
        known_to_operator=(Reason.EVICTED_TOO_OFTEN, Reason.MADE_AGAIN_TOO_OFTEN),
    ),
    Gate(
        "its PodDisruptionBudget is given back",
        _budget_is_given_back,
        concerns=lambda books: bool(books.view.holds),
    ),
    Gate("its template tolerates target nodes", _template_tolerates, mode=Mode.TEMPLATE),
    Gate(
        "API servers go by its placement",
        _placement_in_force,
        mode=Mode.INJECT,
        known_to_operator=(Reason.NOT_IN_FORCE,),
    ),
    Gate(
        "every namespace has its placement",
        _placements_are_there,
        concerns=lambda books: bool(books.without_placement),
        mode=Mode.INJECT,
    ),
    Gate("no rollout of it is running", _no_rollout),
)
"""In the order in which a workload passes them."""


# --- pods ---


def never_evictable(books: Books, tally: Tally) -> tuple[Obstacle | None, tuple[float, ...]]:
    """What keeps all pods that are left, none as long as one of them may go; and when to look again."""
    first: Obstacle | None = None
    for pod in first_of_each(tally):
        if books.allowances.of(tally, pod) > 0:
            return None, ()
        found = obstacle(books.view, tally, pod)
        if found is None:
            return None, ()
        first = first or found
    left = tally.last_ready + TIME_TO_LABEL - books.now.timestamp()
    if not tally.apart or (left <= 0 and _is_whole(tally)):
        return first, ()
    # pods are missing, or so new that who labels them at run time may not have done it
    return None, (left,) if left > 0 else ()


def _is_whole(tally: Tally) -> bool:
    return not tally.leaving and tally.row.replicas <= len(tally.pods) == tally.ready


def blocked(books: Books, tally: Tally, found: Obstacle) -> Closed | None:
    """What the policy makes of an obstacle; None where it is to be forced."""
    match books.view.spec.on_blocked:
        case OnBlockedWorkload.SURGE:
            return _surging(books, tally)
        case OnBlockedWorkload.FORCE if not books.view.spec.paused:
            return None
        case _:
            other = "Surge" if can_surge(tally) else "Force, which goes past it"
            hint = f"change the budget, or set spec.onBlocked of WorkloadMigration cluster to {other}"
            return _closed(WorkloadState.BLOCKED, Reason(found.why.value), f"{found.message}; {hint}")


def _ever_evictable(books: Books, tally: Tally, _pod: Pod) -> Closed | None:
    found, _ = never_evictable(books, tally)
    return None if found is None else blocked(books, tally, found)


IS_PAUSED = Closed(Line(WorkloadState.RELEASED, Reason.PAUSED, PAUSED))


def _not_paused(books: Books, _tally: Tally, _pod: Pod) -> Closed | None:
    return IS_PAUSED if books.view.spec.paused else None


_IN_A_MOMENT = Closed(Line(WorkloadState.MOVING, Reason.EVICTING, "its pods go in a moment"))


def in_this_decision(books: Books, tally: Tally, pod: Pod) -> Closed | None:
    return _IN_A_MOMENT if books.full or books.lane_is_full(tally, pod) else None


def _budget_allows(books: Books, tally: Tally, pod: Pod) -> Closed | None:
    """Also open for a pod that is forced, which no budget would ever let go."""
    if books.may_go(tally, pod):
        return None
    if never_evictable(books, tally)[0] is not None:
        return others_are_ready(tally, pod)
    return _waits_for_budget_of(books, tally, pod)


def others_are_ready(tally: Tally, pod: Pod) -> Closed | None:
    """Pods are forced one at a time, and only while all the others are Ready."""
    whole = not tally.leaving and len(tally.pods) >= tally.row.replicas
    if whole and all(one.ready for one in tally.pods if one.uid != pod.uid):
        return None
    return Closed(still_coming(tally))


OLDER_TEMPLATE = Closed(
    Line(
        WorkloadState.BLOCKED,
        Reason.ROLLOUT_RUNNING,
        "its pods are of an older template (a paused or partitioned rollout); finish the rollout",
    )
)


TOLERATES_ALL = Closed(
    Line(
        WorkloadState.BLOCKED,
        Reason.TOLERATES_ALL,
        "its pods tolerate every taint, so nothing would keep new ones off old nodes, and it is not moved;"
        " let them tolerate less, or use mode Inject; else it moves when its nodes are taken away",
    )
)


def does_not_come_back(books: Books, tally: Tally, pod: Pod) -> Closed | None:
    """In mode Template a replacement would only come back that does not tolerate the taint of target nodes,
    or tolerates that of old ones too."""
    view = books.view
    if view.target.mode is not Mode.TEMPLATE:
        return None
    tolerations = _replacement(tally, pod).tolerations
    if not tolerated(tolerations, upgrade_taint(view.target.version)):
        return OLDER_TEMPLATE
    return TOLERATES_ALL if tolerated(tolerations, off_target_taint(view.target.version)) else None


def _replacement(tally: Tally, pod: Pod) -> PodSpec:
    """A StatefulSet with OnDelete makes the next pod from its template as it is; others roll out by
    themselves, so a pod of an older template is one that is kept."""
    row = tally.row
    return row.template if isinstance(row, StatefulSet) and row.strategy == "OnDelete" else pod.spec


def target_has_room(books: Books, _tally: Tally, pod: Pod) -> Closed | None:
    slot = books.no_slot(pod)
    return None if slot is None else _no_slot(slot)


POD_GATES = (
    PodGate("a pod of its workload can be evicted at some time", _ever_evictable),
    PodGate("the migration is not paused", _not_paused),
    PodGate("evictions of this decision have room for it", in_this_decision),
    PodGate("its PodDisruptionBudget lets it go", _budget_allows),
    PodGate("its replacement does not come back to old nodes", does_not_come_back),
    PodGate("a target node has room for it", target_has_room),
)
"""In the order in which a pod passes them."""


def _no_slot(slot: NoSlot) -> Closed:
    hint = "add target nodes, or wait"
    if slot.bound:
        hint = (
            f"its data is in {slot.bound}, which is on one machine and cannot follow: copy the data and make"
            f" the claim again, have that node upgraded in place, or leave it out with {SKIP}: true"
        )
    return _closed(WorkloadState.BLOCKED, Reason.NO_SLOT, f"{slot.reason}; {hint}")


def waits_for_budget(books: Books, tally: Tally) -> Closed:
    """What the budget needs and has of which a pod may go later, where there is one."""
    pods = first_of_each(tally)
    pod = next((one for one in pods if obstacle(books.view, tally, one) is None), pods[0])
    return _waits_for_budget_of(books, tally, pod)


def _waits_for_budget_of(books: Books, tally: Tally, pod: Pod) -> Closed:
    """What the budget of that pod needs and has; what its controller has missed would hold the workload up
    for minutes."""
    why = explained(books.view, tally, pod)
    text = f"{_count(len(tally.away), 'pod')} to move; {why}{_fails_there(tally)}"
    steps, due = forget_evictions(books.view, tally, books.now)
    reason = Reason.BUDGET_EXHAUSTED if budgets_of(tally, pod) else Reason.NOT_READY
    return Closed(Line(WorkloadState.MOVING, reason, text), steps=steps, due=due)


def _fails_there(tally: Tally) -> str:
    """The pod that has moved and is not Ready, for which the others wait; empty where there is none."""
    if tally.ready == len(tally.pods):
        return ""
    away = {pod.uid for pod in tally.away}
    broken = next((pod for pod in tally.pods if not pod.ready and pod.node and pod.uid not in away), None)
    return "" if broken is None else f"; {_is_not_ready(broken)}"


def _is_not_ready(pod: Pod) -> str:
    why = f" ({pod.waiting})" if pod.waiting else ""
    return f"pod {pod.name} on {pod.node} is not Ready{why}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def still_coming(tally: Tally, *, grows: bool = False) -> Line:
    """Nothing is left to move; what is still on its way. `grows`: nodes come for pods that wait."""
    stuck = next((pod for pod in tally.pending if pod.unschedulable), None)
    broken = next((pod for pod in tally.pods if not pod.ready and pod.node), None)
    if stuck is not None and grows:
        text = f"pod {stuck.name} waits for a new node of the growing pool: {stuck.unschedulable}"
        return Line(WorkloadState.MOVING, Reason.PENDING, text)
    if stuck is not None:
        text = f"pod {stuck.name} fits on no target node: {stuck.unschedulable}"
        return Line(WorkloadState.BLOCKED, Reason.PENDING, text)
    if tally.leaving:
        text = f"{_count(tally.leaving, 'pod')} still terminating"
        return Line(WorkloadState.MOVING, Reason.TERMINATING, text)
    if broken is not None:
        return Line(WorkloadState.MOVING, Reason.NOT_READY, _is_not_ready(broken))
    text = f"{len(tally.pods)} of {tally.row.replicas} pods are there"
    return Line(WorkloadState.MOVING, Reason.PENDING, text)
