"""Gates of each pod of a workload that has passed its own, in the order in which its pods go."""

from __future__ import annotations

from shiplift.api.workloads import Mode, WorkloadState
from shiplift.facts.pods import Pod, PodSpec, tolerated
from shiplift.facts.workloads import StatefulSet
from shiplift.workloads.decide.awaited import no_slot_for, still_coming, waits_for_budget_of
from shiplift.workloads.decide.books import Books
from shiplift.workloads.decide.gate import PAUSED, Closed, PodGate
from shiplift.workloads.decide.obstacles import blocked, never_evictable
from shiplift.workloads.marks import off_target_taint, upgrade_taint
from shiplift.workloads.model import Line, Reason, Tally

IS_PAUSED = Closed(Line(WorkloadState.RELEASED, Reason.PAUSED, PAUSED))


_IN_A_MOMENT = Closed(Line(WorkloadState.MOVING, Reason.EVICTING, "its pods go in a moment"))


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


def _ever_evictable(books: Books, tally: Tally, _pod: Pod) -> Closed | None:
    found, _ = never_evictable(books, tally)
    return None if found is None else blocked(books, tally, found)


def _not_paused(books: Books, _tally: Tally, _pod: Pod) -> Closed | None:
    return IS_PAUSED if books.view.spec.paused else None


def in_this_decision(books: Books, tally: Tally, pod: Pod) -> Closed | None:
    return _IN_A_MOMENT if books.full or books.lane_is_full(tally, pod) else None


def _budget_allows(books: Books, tally: Tally, pod: Pod) -> Closed | None:
    """Also open for a pod that is forced, which no budget would ever let go."""
    if books.may_go(tally, pod):
        return None
    if never_evictable(books, tally)[0] is not None:
        return others_are_ready(tally, pod)
    return waits_for_budget_of(books, tally, pod)


def others_are_ready(tally: Tally, pod: Pod) -> Closed | None:
    """Pods are forced one at a time, and only while all the others are Ready."""
    whole = not tally.leaving and len(tally.pods) >= tally.row.replicas
    if whole and all(one.ready for one in tally.pods if one.uid != pod.uid):
        return None
    return Closed(still_coming(tally))


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
    return None if slot is None else no_slot_for(slot)


def goes_now(books: Books, tally: Tally, pod: Pod) -> Closed | None:
    """What keeps a pod that its budget lets go: no room, or, of the operator itself, others that could not
    lead yet."""
    ours = pod.uid == books.view.own.pod
    return (_another_leads(tally, pod) if ours else None) or target_has_room(books, tally, pod)


def _another_leads(tally: Tally, pod: Pod) -> Closed | None:
    """The one that leads goes while another is Ready, or where it is to be the only one. What ends for ever,
    as on a node that is lost, is not waited for."""
    others = [one for one in tally.pods if one.uid != pod.uid]
    alone = not others and tally.row.replicas <= 1
    return None if alone or any(one.ready for one in others) else Closed(still_coming(tally))


POD_GATES = (
    PodGate("a pod of its workload can be evicted at some time", _ever_evictable),
    PodGate("the migration is not paused", _not_paused),
    PodGate("evictions of this decision have room for it", in_this_decision),
    PodGate("its PodDisruptionBudget lets it go", _budget_allows),
    PodGate("its replacement does not come back to old nodes", does_not_come_back),
    PodGate("a target node has room for it", target_has_room),
)
"""In the order in which a pod passes them."""
